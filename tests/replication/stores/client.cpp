// SPDX-License-Identifier: Apache-2.0
#include "replication/stores/client.hpp"

#include "codeq/limits.hpp"

#include "support/task_builder.hpp"

#include <utility>

namespace codeq::replication::stores {

core::enqueue client::enqueue(std::uint32_t tasks) {
  core::enqueue c;
  c.peer = producer;
  c.request.producer = make_producer_id(timestamp{duration{1'700'000'000'000}}, 1, 2);
  c.request.number = ++requests_;
  c.request.answered_below = requests_;
  auto& run = c.runs.emplace_back();
  run.queue = {"default", "q"};
  run.settings.lease = std::chrono::seconds(60);
  run.settings.retention = std::chrono::hours(1);
  run.tasks = test::encode_bodies(tasks, 200);
  return c;
}

core::report client::report() const {
  core::report c{worker, {}};
  for (const auto& [seq, token] : held_) {
    auto& end = c.reports.emplace_back();
    end.seq = seq;
    end.token = token;
    end.text = bytes("result of " + std::to_string(seq));
  }
  return c;
}

void client::told(const core::enqueue_answered& answer) {
  if (!answer.allowed)
    return;
  for (const auto& run : answer.tasks)
    for (std::uint32_t i = 0; i < run.count; ++i)
      if (!enqueued_.insert(run.first + i).second)
        violation_ = "the id " + std::to_string(run.first + i) + " was given twice";
}

void client::told(const core::reports_answered& answer) {
  for (const auto& each : answer.answers) {
    const auto held = held_.find(each.seq);
    if (held == held_.end() || held->second != each.token)
      continue;
    const auto is_accepted = each.code == errc::none || each.code == errc::already;
    if (is_accepted && !completed_.emplace(each.seq, each.token).second)
      violation_ = "task " + std::to_string(each.seq) + " was completed twice";
    held_.erase(held);
  }
}

void client::given(const coordinator::task_delivery& tasks) {
  for (const auto& run : tasks.granted.runs)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const fencing_token token{value(run.first_token) + i};
      if (!tasks.granted.redelivered && token <= last_token_)
        violation_ = "token " + std::to_string(value(token)) + " is not new";
      last_token_ = std::max(last_token_, token);
      held_[run.first + i] = token;
    }
}

} // namespace codeq::replication::stores
