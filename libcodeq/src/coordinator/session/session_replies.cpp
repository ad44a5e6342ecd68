// SPDX-License-Identifier: Apache-2.0
// Replies to the peer, and the bytes of them that it has not read.
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "coordinator/session/session.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/peer_messages.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace codeq::coordinator {

void session::write(shard_id shard, const protocol::peer_reply& reply) {
  bool may_refuse = protocol::answers_question(reply);
  protocol::write_reply(shard, reply, [&](const auto& frame) {
    if (!may_refuse)
      return write_in_any_case(frame);
    auto room = take_answer(frame.body.size());
    port_.send(room ? frame : protocol::refusal_of(reply, room.error()));
  });
}

void session::write_in_any_case(const protocol::wire_frame& frame) {
  if (is_over_)
    return;
  auto unread = port_.outgoing().waiting();
  auto room = take_unread(frame.body.size());
  is_over_ = !room && unread > tuning::unread_bytes_over_share_max;
  if (is_over_)
    end(room.error());
  else
    port_.send(frame);
}

void session::tell(shard_id shard, const protocol::tasks_told& told) {
  auto now = results_.admit(shard, told, room_for_results(told));
  if (!now.tasks.empty())
    write(shard, now);
  if (!results_.empty())
    wake_later(session_wake::waiting_results, tuning::delivery_look_interval);
}

std::uint64_t session::room_for_results(const protocol::tasks_told& told) {
  auto waiting = port_.outgoing().waiting();
  auto room = options_.result_bytes_max - std::min(waiting, options_.result_bytes_max);
  std::uint64_t bytes = 0;
  for (const auto& task : told.tasks)
    bytes += task.text.size();
  if (take_unread(std::min(bytes, room)))
    return room;
  return tuning::unread_bytes_free - std::min<std::uint64_t>(waiting, tuning::unread_bytes_free);
}

void session::ask_for_results() {
  auto waiting = port_.outgoing().waiting();
  bool has_room = waiting <= tuning::unread_bytes_free
                  || (waiting < options_.result_bytes_max / 2 && take_unread(0));
  if (has_room) {
    if (auto asked = results_.take())
      port_.command_shard(asked->first, core::await_tasks{options_.peer, asked->second});
  }
  if (!results_.empty())
    wake_later(session_wake::waiting_results, tuning::delivery_look_interval);
}

result<void> session::take_unread(std::uint64_t more) {
  auto unread = port_.outgoing().waiting() + more;
  if (unread <= tuning::unread_bytes_free)
    return {};
  wake_later(session_wake::unread_bytes, tuning::delivery_look_interval);
  return port_.keep_unread(unread);
}

result<void> session::take_answer(std::uint64_t bytes) {
  constexpr auto most = tuning::unread_bytes_per_connection_max;
  auto unread = port_.outgoing().waiting();
  if (unread > most)
    return error{
      errc::overloaded,
      "the connection has " + std::to_string(unread) + " unread bytes; the limit is "
        + std::to_string(most)};
  return take_unread(bytes);
}

void session::give_back_unread() {
  auto unread = port_.outgoing().waiting();
  bool is_read = unread <= tuning::unread_bytes_free;
  // Bytes that are not counted until now are counted with the next frame.
  std::ignore = port_.keep_unread(is_read ? 0 : unread);
  if (!is_read)
    return wake_later(session_wake::unread_bytes, tuning::delivery_look_interval);
  if (std::exchange(over_share_, false))
    pause_claims();
}

} // namespace codeq::coordinator
