// SPDX-License-Identifier: Apache-2.0
#include "core/deliberate_fault.hpp"
#include "sim/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <deque>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace codeq::sim {
namespace {

using core::deliberate_fault;

/// A fault is caught within so many seeds, the first ones; without a fault all of them pass.
constexpr std::uint64_t seeds_max = 300;
/// A run that takes longer has gone astray; instrumented, all take longer.
constexpr unsigned seconds_max = 60 * CODEQ_TEST_PATIENCE;
constexpr std::size_t words_max = 100;

struct named_fault {
  deliberate_fault fault;
  const char* name;
};

/// In the order of the enumeration, all of it.
constexpr std::array faults = {
  named_fault{deliberate_fault::none, "no fault"},
  named_fault{deliberate_fault::reply_before_commit, "reply before commit"},
  named_fault{deliberate_fault::fate_before_outcome, "fate before outcome"},
  named_fault{deliberate_fault::turn_written_in_parts, "turn written in parts"},
  named_fault{deliberate_fault::wall_clock_expiry, "wall clock expiry"},
  named_fault{deliberate_fault::stale_token_accepted, "stale token accepted"},
  named_fault{deliberate_fault::token_reused_after_restart, "token reused after restart"},
  named_fault{deliberate_fault::beat_extends_nothing, "beat extends nothing"},
  named_fault{deliberate_fault::expiry_ignores_extension, "expiry ignores extension"},
  named_fault{deliberate_fault::beat_outlives_run_timeout, "beat outlives run timeout"},
  named_fault{deliberate_fault::lease_never_expires, "lease never expires"},
  named_fault{deliberate_fault::recovered_lease_expires_at_once, "recovered lease expires at once"},
  named_fault{deliberate_fault::resume_skips_redelivery, "resume skips redelivery"},
  named_fault{deliberate_fault::replaced_worker_keeps_leases, "replaced worker keeps leases"},
  named_fault{deliberate_fault::goodbye_keeps_leases, "goodbye keeps leases"},
  named_fault{deliberate_fault::leased_after_goodbye, "leased after goodbye"},
  named_fault{deliberate_fault::stale_report_confirmed, "stale report confirmed"},
  named_fault{deliberate_fault::attempt_uncharged, "attempt uncharged"},
  named_fault{deliberate_fault::abandon_charged, "abandon charged"},
  named_fault{deliberate_fault::goodbye_charges, "goodbye charges"},
  named_fault{deliberate_fault::last_attempt_skipped, "last attempt skipped"},
  named_fault{deliberate_fault::one_attempt_too_many, "one attempt too many"},
  named_fault{deliberate_fault::permanent_failure_retried, "permanent failure retried"},
  named_fault{deliberate_fault::retry_before_due, "retry before due"},
  named_fault{deliberate_fault::task_released_early, "task released early"},
  named_fault{deliberate_fault::deferral_forgotten, "deferral forgotten"},
  named_fault{deliberate_fault::first_loss_delayed, "first loss delayed"},
  named_fault{deliberate_fault::second_loss_at_once, "second loss at once"},
  named_fault{deliberate_fault::group_gate_not_opened, "group gate not opened"},
  named_fault{deliberate_fault::group_member_skipped, "group member skipped"},
  named_fault{deliberate_fault::dead_head_does_not_block, "dead head does not block"},
  named_fault{deliberate_fault::group_leased_twice, "group leased twice"},
  named_fault{deliberate_fault::cancel_lost_at_expiry, "cancel lost at expiry"},
  named_fault{deliberate_fault::cancelled_although_completed, "cancelled although completed"},
  named_fault{deliberate_fault::cancel_notice_not_repeated, "cancel notice not repeated"},
  named_fault{deliberate_fault::leased_task_promoted, "leased task promoted"},
  named_fault{deliberate_fault::guard_ignored_by_promotion, "guard ignored by promotion"},
  named_fault{deliberate_fault::dead_task_dropped, "dead task dropped"},
  named_fault{deliberate_fault::redrive_keeps_attempts, "redrive keeps attempts"},
  named_fault{deliberate_fault::request_executed_twice, "request executed twice"},
  named_fault{deliberate_fault::ends_counted_twice, "ends counted twice"},
  named_fault{deliberate_fault::outcome_of_another_task, "outcome of another task"},
  named_fault{deliberate_fault::request_forgotten_by_checkpoint, "request forgotten by checkpoint"},
  named_fault{deliberate_fault::shard_time_goes_back, "shard time goes back"},
  named_fault{deliberate_fault::waiting_worker_not_woken, "waiting worker not woken"},
  named_fault{deliberate_fault::ending_not_told, "ending not told"},
  named_fault{deliberate_fault::lower_priority_first, "lower priority first"},
  named_fault{deliberate_fault::follow_ups_forgotten, "follow-ups forgotten"},
  named_fault{deliberate_fault::follow_ups_of_a_repeat, "follow-ups of a repeat"},
  named_fault{deliberate_fault::follow_ups_lost_by_restart, "follow-ups lost by restart"},
  named_fault{deliberate_fault::outbox_delivered_twice, "outbox delivered twice"},
  named_fault{deliberate_fault::stale_checkpoint_kept, "stale checkpoint kept"},
  named_fault{deliberate_fault::overtaken_checkpoint_kept, "overtaken checkpoint kept"},
  named_fault{deliberate_fault::checkpoint_acknowledged_only, "checkpoint acknowledged only"},
  named_fault{deliberate_fault::checkpoint_not_handed_on, "checkpoint not handed on"},
  named_fault{deliberate_fault::checkpoint_kept_for_ever, "checkpoint kept for ever"},
  named_fault{deliberate_fault::checkpoint_lost_by_restart, "checkpoint lost by restart"},
  named_fault{deliberate_fault::key_written_later, "key written in a later batch"},
  named_fault{deliberate_fault::retained_key_not_written, "retained key not written"},
  named_fault{deliberate_fault::key_kept_too_long, "key kept too long"},
  named_fault{deliberate_fault::key_freed_too_early, "key freed too early"},
  named_fault{deliberate_fault::purged_key_kept, "purged key kept"},
  named_fault{deliberate_fault::duplicate_creates_record, "duplicate creates a second record"},
  named_fault{deliberate_fault::earlier_time_taken_by_defer, "earlier time taken by defer"},
  named_fault{deliberate_fault::guard_ignored_by_duplicate, "guard ignored by duplicate"},
  named_fault{deliberate_fault::leased_record_changed, "leased record changed by duplicate"},
  named_fault{deliberate_fault::retry_cleared_by_duplicate, "retry cleared by duplicate"},
  named_fault{deliberate_fault::leased_body_replaced, "leased body replaced"},
  named_fault{deliberate_fault::body_not_replaced, "body not replaced"},
  named_fault{deliberate_fault::old_body_delivered, "old body delivered"},
  named_fault{deliberate_fault::replaced_body_lost_by_restart, "replaced body lost by restart"},
  named_fault{deliberate_fault::key_taken_ignored_by_redrive, "key taken ignored by redrive"},
  named_fault{deliberate_fault::repeated_answer_differs, "repeated answer differs"},
  named_fault{deliberate_fault::keyed_answer_forgotten, "keyed answer forgotten"},
  named_fault{deliberate_fault::refused_request_executed, "refused request executed"},
  named_fault{deliberate_fault::paused_queue_granted, "paused queue granted"},
  named_fault{deliberate_fault::pause_lost_by_restart, "pause lost by restart"},
  named_fault{deliberate_fault::max_leased_ignored, "max_leased ignored"},
  named_fault{deliberate_fault::max_depth_ignored, "max_depth ignored"},
  named_fault{deliberate_fault::queue_defaults_ignored, "queue defaults ignored"},
  named_fault{deliberate_fault::purge_leaves_tasks, "purge leaves tasks"},
  named_fault{deliberate_fault::purge_takes_other_queues, "purge takes other queues"},
  named_fault{deliberate_fault::purged_lease_kept, "purged lease kept"},
  named_fault{deliberate_fault::purge_lost_by_restart, "purge lost by restart"},
  named_fault{deliberate_fault::force_keeps_lease, "force keeps lease"},
  named_fault{deliberate_fault::force_forgotten, "force forgotten"},
  named_fault{deliberate_fault::retry_kept_by_promotion, "retry kept by promotion"},
  named_fault{deliberate_fault::filter_past_synced_position, "filter past the synced position"},
  named_fault{deliberate_fault::counter_outside_batch, "counter outside the batch"},
};
static_assert(faults.size() == static_cast<std::size_t>(deliberate_fault::end));

const char* name_of(deliberate_fault fault) {
  return faults.at(static_cast<std::size_t>(fault)).name;
}

struct verdict {
  bool caught = false;
  std::string words = "nothing";
  std::uint64_t seeds = 0;
  double seconds = 0;
};

/// Runs seeds until one fails; says which and why.
std::string hunt(deliberate_fault fault) {
  core::active_fault = fault;
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    auto report = cluster(seed, scenario_of(seed)).run();
    if (!report.breach.empty())
      return "caught " + std::to_string(seed) + " " + report.breach;
  }
  return "missed " + std::to_string(seeds_max) + " nothing";
}

/// A fault under way in a process of its own, because a fault may also run into an assertion.
struct hunter {
  deliberate_fault fault;
  int output = -1;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

void write_all(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    auto n = ::write(to, text.data() + done, text.size() - done);
    if (n <= 0)
      return;
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int from) {
  std::string text;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(from, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  ::close(from);
  return text;
}

pid_t start(hunter& h) {
  int ends[2];
  if (::pipe(ends) != 0)
    return -1;
  auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::alarm(seconds_max);
    write_all(ends[1], hunt(h.fault));
    ::_exit(0);
  }
  ::close(ends[1]);
  h.output = ends[0];
  return child;
}

verdict read_verdict(const hunter& h, int status) {
  verdict v;
  auto text = read_all(h.output);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - h.since;
  v.seconds = took.count();
  if (WIFSIGNALED(status)) {
    v.caught = WTERMSIG(status) == SIGABRT;
    v.words = v.caught                      ? "assertion: " + text.substr(0, text.find('\n'))
              : WTERMSIG(status) == SIGALRM ? "ran too long"
                                            : "died of signal " + std::to_string(WTERMSIG(status));
    return v;
  }
  std::istringstream in(text);
  std::string what;
  in >> what >> v.seeds >> std::ws;
  std::getline(in, v.words);
  v.caught = what == "caught";
  return v;
}

/// All faults, as many at a time as there are processors.
std::map<deliberate_fault, verdict> hunt_all() {
  std::map<deliberate_fault, verdict> verdicts;
  std::map<pid_t, hunter> running;
  std::deque<named_fault> waiting(faults.begin(), faults.end());
  auto at_once = std::max(1u, std::thread::hardware_concurrency());
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && running.size() < at_once) {
      hunter next{waiting.front().fault};
      waiting.pop_front();
      auto pid = start(next);
      running.emplace(pid, next);
    }
    int status = 0;
    auto ended = running.extract(::waitpid(-1, &status, 0));
    if (ended)
      verdicts[ended.mapped().fault] = read_verdict(ended.mapped(), status);
  }
  return verdicts;
}

void print(const std::map<deliberate_fault, verdict>& verdicts) {
  std::cout << std::left << std::setw(34) << "fault" << std::setw(6) << "seeds" << std::setw(9)
            << "seconds"
            << "caught by\n";
  for (const auto& [fault, v] : verdicts)
    std::cout << std::setw(34) << name_of(fault) << std::setw(6) << v.seeds << std::setw(9)
              << std::fixed << std::setprecision(2) << v.seconds << v.words.substr(0, words_max)
              << '\n';
}

TEST(MutationList, ListsTheFaultsInTheirOrder) {
  for (std::size_t i = 0; i < faults.size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(faults[i].fault), i) << faults[i].name;
}

TEST(MutationList, EveryDeliberateFaultIsCaughtAndNothingElse) {
  auto verdicts = hunt_all();
  print(verdicts);

  for (const auto& [fault, v] : verdicts)
    EXPECT_EQ(v.caught, fault != deliberate_fault::none) << name_of(fault) << ": " << v.words;
}

} // namespace
} // namespace codeq::sim
