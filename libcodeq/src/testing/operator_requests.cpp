// SPDX-License-Identifier: Apache-2.0
#include "testing/operator_requests.hpp"

#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "client/shard_walk.hpp"
#include "protocol/messages.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace codeq::testing {

namespace {

template <class T, class S>
result<T> ask(
  test_shard& shard,
  const client::question& what,
  result<client::answered<T>> (*read)(const protocol::frame<S>&)) {
  // Numbers tell the answers of a connection apart; here each request has its answer at once.
  auto frame = shard.answer_to(what(1));
  if (!frame)
    return frame.error();
  result<T> answer = protocol::unexpected_frame(*frame);
  auto seen = protocol::visit_frame(*frame, [&]<class Body>(const protocol::frame<Body>& reply) {
    if constexpr (std::is_same_v<Body, S>) {
      auto told = read(reply);
      answer = told ? std::move(told->answer) : result<T>(told.error());
    }
  });
  return seen ? answer : result<T>(seen.error());
}

} // namespace

result<queue_info>
configure_queue(test_shard& shard, const queue_address& queue, const queue_config& config) {
  constexpr std::uint16_t only_shard = 0;
  auto part = ask(shard, client::set_queue(only_shard, queue, config), client::read_queue);
  if (!part)
    return part.error();
  return client::merge_parts(queue, {std::move(*part)});
}

result<change_outcome> change_task(test_shard& shard, task_id task, task_change what) {
  return ask(shard, client::ask_change({task}, what), client::read_change);
}

result<task_explanation> explain_task(test_shard& shard, task_id task) {
  auto why = ask(shard, client::ask_explain(task), client::read_explain);
  bool has_failed =
    why && (why->reason == task_reason::dead || why->reason == task_reason::retry_waiting);
  if (!has_failed)
    return why;
  // The task's last error text is in the store, which the shard does not read.
  if (auto known = shard.status(task.seq))
    why->error_text = std::move(known->error_text);
  return why;
}

} // namespace codeq::testing
