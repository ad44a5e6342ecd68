// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/command.hpp"
#include "model/dice.hpp"
#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::model {

enum class step_kind : std::uint8_t {
  enqueue,
  repeat_request,
  claim,
  revoke,
  beat,
  report,
  abandon,
  confirm,
  take,
  expire,
  cancel,
  promote,
  redrive,
  purge,
  force,
  change_many,
  attach,
  detach,
  resume,
  goodbye,
  replace,
  await,
  describe,
  explain,
  list,
  configure,
  pause,
  show,
  snapshot,
  tick,
  advance,
  end_turn,
  restart,
  enqueue_keyed,
  by_key,
  leap,
};

[[nodiscard]] std::string_view to_string(step_kind kind) noexcept;

/// One step of a sequence: its kind, and the randomness for its details. The details are chosen
/// from the state that the step meets, so that a step stays meaningful when others are removed.
struct step {
  step_kind kind = step_kind::tick;
  std::uint32_t randomness = 0;
};

/// The steps of a sequence, determined by the seed and the length. Some sequences concentrate on
/// one subject, to reach states that a fair mixture never reaches.
[[nodiscard]] std::vector<step> random_steps(std::uint64_t seed, std::size_t count, bool restarts);

/// Chooses the details of steps; remembers what clients remember, such as requests sent and the
/// names of workers.
class step_maker {
public:
  /// The commands of a step; empty for steps that are not commands.
  [[nodiscard]] std::vector<core::command>
  commands_of(const step& s, const reference_shard& reference, const instant& now);

  /// Duration of an `advance` or a `leap`.
  [[nodiscard]] static duration advance_of(const step& s);

private:
  struct named_worker {
    std::string name;
    std::uint64_t incarnation = 1;
    core::peer_id peer = 0;
  };

  core::command operator_command_of(step_kind kind, dice& d, const reference_shard& reference);

  /// The session of a producer; sometimes a new one.
  producer_id session_of(std::uint64_t producer, dice& d, const instant& now);
  core::command new_request(dice& d, const instant& now);
  core::command keyed_request(dice& d, const instant& now);
  core::enqueue next_request(dice& d, const instant& now);
  core::enqueue_run keyed_run(dice& d, const instant& now);
  static core::command random_by_key(dice& d);
  core::command repeated_request(dice& d, const instant& now);
  /// Ends a producer session in half of the cases.
  [[nodiscard]] core::command tick_or_finish(dice& d);
  core::enqueue_run random_run(dice& d, const instant& now);
  core::lease_checkpoint random_checkpoint(dice& d, const core::task_lease& lease);
  core::heartbeat random_beats(dice& d, const reference_shard& reference);
  static std::vector<queue_address> random_queues(dice& d);
  static std::vector<queue_address> random_prefixes(dice& d);
  core::report random_reports(dice& d, const reference_shard& reference, const instant& now);
  std::vector<core::follow_up> random_follow_ups(dice& d, const instant& now);
  static core::confirm_follow_ups random_confirmation(dice& d, const reference_shard& reference);
  core::take_follow_ups
  follow_ups_of_others(dice& d, const reference_shard& reference, const instant& now);
  core::report abandon_all(dice& d, const reference_shard& reference);
  static core::command random_await(dice& d, const reference_shard& reference);
  static core::cancel random_cancel(dice& d, const reference_shard& reference);
  static core::force random_force(dice& d, const reference_shard& reference);
  static core::change_many random_change_many(dice& d, const reference_shard& reference);
  core::task_lease random_lease(dice& d, const reference_shard& reference);
  std::vector<core::command> change_queues(const named_worker& w, dice& d);
  std::vector<core::command> connect(named_worker& w, dice& d);
  std::vector<core::command> resume(named_worker& w, dice& d, const reference_shard& reference);
  std::vector<core::command> replace(named_worker& w, dice& d);
  named_worker& random_worker(dice& d);
  static sequence random_task(dice& d, const reference_shard& reference);
  static sequence random_dead_task(dice& d, const reference_shard& reference);
  static queue_address random_queue(dice& d);
  static core::configure_queue random_settings(dice& d);
  static core::weigh_keys random_weighing(dice& d);
  static void add_listed(dice& d, const reference_shard& reference, core::change_many& c);
  core::list_tasks random_list(dice& d, const reference_shard& reference);
  static void leave_to_queue(dice& d, core::enqueue_run& r);
  static core::fairness_mark random_fairness(dice& d, const std::string& queue);

  std::vector<named_worker> workers_{{"w0"}, {"w1"}, {"w2"}};
  core::peer_id next_peer_ = 10;
  std::map<std::uint64_t, producer_id> sessions_;
  std::map<std::uint64_t, std::uint64_t> next_request_;
  std::map<std::uint64_t, std::uint64_t> answered_below_;
  std::vector<core::enqueue> sent_;
  /// Each list request has a unique number.
  std::uint64_t next_list_ = first_list_number;
  /// Follow-ups that other shards have sent, by shard and number.
  std::map<shard_id, std::map<std::uint64_t, core::take_follow_ups>> handed_out_;
};

} // namespace codeq::model
