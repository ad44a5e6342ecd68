// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/queue_rules.hpp"
#include "core/turn.hpp"

#include <utility>

namespace codeq::core {

void turn::run(const configure_queue& c) {
  const auto* known = state_.find_queue(c.queue);
  bool paused = known && known->settings.paused;
  queue_answered answer{c.peer, c.number, c.queue, {c.config, paused}, {}};
  if (c.config.keep_payload)
    answer.refusal = {
      errc::unsupported,
      "keep_payload is true; it must be false: this version keeps no payload longer than its "
      "segment"};
  change_queue(std::move(answer));
}

void turn::run(const pause_queue& c) {
  const auto* known = state_.find_queue(c.queue);
  queue_answered answer{c.peer, c.number, c.queue, known ? known->settings : queue_settings{}, {}};
  answer.settings.paused = c.paused;
  change_queue(std::move(answer));
}

void turn::run(const show_queue& c) {
  const auto* known = state_.find_queue(c.queue);
  auto settings = known ? known->settings : queue_settings{};
  effects_.emplace_back(queue_answered{c.peer, c.number, c.queue, settings, {}});
}

void turn::change_queue(queue_answered answer) {
  if (answer.refusal.code == errc::none && !state_.has_room_for(answer.queue))
    answer.refusal = too_many_queues(answer.queue);
  const auto* known = state_.find_queue(answer.queue);
  if (answer.refusal.code != errc::none) {
    answer.settings = known ? known->settings : queue_settings{};
  } else if (!known || known->settings != answer.settings) {
    set_queue(state_, answer.queue, answer.settings);
    configured_.push_back({state_.positions.take(1), now_.shard, answer.queue, answer.settings});
  }
  effects_.emplace_back(std::move(answer));
}

} // namespace codeq::core
