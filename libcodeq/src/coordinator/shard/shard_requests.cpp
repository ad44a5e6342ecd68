// SPDX-License-Identifier: Apache-2.0

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "coordinator/shard/access.hpp"
#include "coordinator/shard/shard.hpp"
#include "protocol/operator_convert.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// How a shard parses peers' requests.
namespace codeq::coordinator {

namespace {

/// The awaited tasks are counted anew at most once in that time; the libraries ask again later.
constexpr duration awaited_count_pause{100};

template <class Command>
core::command as_command(Command one) {
  return core::command{std::move(one)};
}

template <class... Commands>
core::command as_command(std::variant<Commands...>&& any) {
  return std::visit([](auto& one) { return core::command{std::move(one)}; }, any);
}

/// Removes the tasks that have not ended and returns them.
std::vector<sequence> take_live(core::shard_state& state, std::vector<sequence>& tasks) {
  const auto live = std::stable_partition(tasks.begin(), tasks.end(), [&](sequence seq) {
    const auto* s = core::find_known(state.segments, seq);
    return !s || is_terminal(s->view(seq).state);
  });
  std::vector<sequence> taken(live, tasks.end());
  tasks.erase(live, tasks.end());
  return taken;
}

/// The leases that a malformed message of the gateway is about; empty when they cannot be read.
std::vector<core::lease_report> leases_of(const protocol::result_request& m) {
  auto read = m.read([](auto reader) -> result<std::vector<core::lease_report>> {
    std::vector<core::lease_report> found;
    for (auto one : reader.getReports()) {
      found.emplace_back();
      found.back().seq = one.getSeq();
      found.back().token = static_cast<fencing_token>(one.getToken());
    }
    return found;
  });
  return read ? std::move(*read) : std::vector<core::lease_report>{};
}

/// Checks whether the bearer may give the command. Errors: `unauthorized`, `unknown_task`.
template <class Command>
result<void>
check_access(const security::principal& who, core::shard_state& state, const Command& command) {
  if (auto ok = access::check(who, command); !ok)
    return ok;
  bool may_see = true;
  if constexpr (requires { command.key; })
    may_see = command.key || access::may_see(who, state, command.seq);
  else if constexpr (requires { command.seq; })
    may_see = access::may_see(who, state, command.seq);
  return may_see ? result<void>{} : access::unknown_task();
}

template <class... Commands>
result<void> check_access(
  const security::principal& who,
  core::shard_state& state,
  const std::variant<Commands...>& command) {
  return std::visit([&](const auto& one) { return check_access(who, state, one); }, command);
}

/// Whether the command changes something. Not so `force`, by which the gateway closes its own
/// records.
template <class Command>
bool is_write(const Command& command) {
  if constexpr (requires { command.is_dry_run; })
    return !command.is_dry_run;
  else if constexpr (std::is_same_v<Command, core::change_many>)
    return !core::is_count(command.what);
  else
    return !std::is_same_v<Command, core::force> && requires { command.origin; };
}

template <class... Commands>
bool is_write(const std::variant<Commands...>& command) {
  return std::visit([](const auto& one) { return is_write(one); }, command);
}

/// Fills in what the message does not say: where a change comes from, and whose part of the audit
/// log the bearer may see.
template <class Command>
void complete(const peer_request& by, Command& command) {
  if constexpr (requires { command.origin; })
    command.origin = by.origin;
  if constexpr (std::is_same_v<Command, core::tell_audit>) {
    bool is_of_one = by.sender && !by.sender->is_of_all_tenants();
    if (is_of_one && command.filter.tenant.empty())
      command.filter.tenant = by.sender->tenant;
  }
}

template <class... Commands>
void complete(const peer_request& by, std::variant<Commands...>& command) {
  std::visit([&](auto& one) { complete(by, one); }, command);
}

} // namespace

std::optional<core::command> shard::read(const peer_request& m, const instant& now) {
  return std::visit([&](const auto& request) { return read(m, request, now); }, m.request);
}

template <class Command>
std::optional<Command> shard::accept(core::peer_id peer, result<Command> command) {
  if (command)
    return std::move(*command);
  port_.end_peer(peer, command.error());
  return std::nullopt;
}

result<void> shard::check_room(const instant& now) {
  if (const auto& ok = port_.check_disk(now.steady); !ok)
    return ok;
  return check_replicas();
}

result<void> shard::check_replicas() const {
  if (!port_.accepts_writes())
    return error{
      errc::unavailable,
      "too few replicas of shard " + std::to_string(value(state_->id))
        + " are in sync for new writes"};
  return {};
}

bool shard::may_read(core::peer_id peer) const {
  return peer >= gateway_peers_first || port_.may_answer();
}

result<void> shard::keep(const peer_request& by, std::size_t bytes, const instant& now) {
  const auto since = by.kept_since.value_or(now.steady);
  const auto size = bytes + tuning::kept_read_overhead_bytes;
  const auto is_late = now.steady - since >= tuning::kept_reads_wait_max;
  const std::string tenant(owner_of(by.peer));
  if (is_late || !kept_bytes_.take(tenant, size))
    return error{
      errc::unavailable,
      "the other replicas of shard " + std::to_string(value(state_->id))
        + " do not answer, so that another coordinator may serve it"};
  kept_.push_back({by, size, tenant});
  kept_.back().request.kept_since = since;
  if (!kept_look_)
    kept_look_ = now.steady + tuning::kept_reads_look_interval;
  arm(now);
  return {};
}

void shard::take_kept(const instant& now) {
  if (!kept_look_ || now.steady < *kept_look_)
    return;
  const auto may_answer = port_.may_answer();
  // `take` may keep a read again: it goes to the end, and is not looked at in this loop.
  for (auto left = kept_.size(); left > 0; --left) {
    const auto since = *kept_.front().request.kept_since;
    if (!may_answer && now.steady - since < tuning::kept_reads_wait_max)
      break;
    const auto next = std::move(kept_.front());
    kept_.pop_front();
    kept_bytes_.give_back(next.tenant, next.bytes);
    take(next.request, now);
  }
  kept_look_.reset();
  if (!kept_.empty())
    kept_look_ = now.steady + tuning::kept_reads_look_interval;
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::enqueue_request& m, const instant& now) {
  auto refuse = [&](std::uint64_t number, const error& reason) {
    reply_to(by.peer, core::enqueue_answered{by.peer, number, {}, {}, reason});
    return std::nullopt;
  };
  auto command = protocol::to_command(m, by.peer, now.shard, place());
  if (command) {
    command->allowed = check_room(now);
    if (auto ok = by.sender ? access::check(*by.sender, *command) : result<void>{}; !ok)
      return refuse(command->request.number, ok.error());
    // The gateway shows its callers the tasks that they have added.
    command->shows_tasks = is_shared(by.peer);
    return std::move(*command);
  }
  auto number = protocol::number_of(m);
  if (!ends_peer(by.peer, number.has_value(), command.error()))
    return refuse(*number, command.error());
  port_.end_peer(by.peer, command.error());
  return std::nullopt;
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::heartbeat_request& m, const instant&) {
  auto command = accept(by.peer, protocol::to_command(m, by.peer));
  if (!port_.may_answer())
    return std::nullopt;
  if (command && by.sender)
    reply_not_there(by.peer, access::take_foreign(*by.sender, *state_, *command));
  if (command)
    reply_extended(by.peer, protocol::number_of(m), command->beats);
  return command;
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::result_request& m, const instant& now) {
  auto read = protocol::to_command(m, by.peer, now.shard, place());
  if (!read && is_shared(by.peer) && refuse_reports(by.peer, leases_of(m), read.error()))
    return std::nullopt;
  auto command = accept(by.peer, std::move(read));
  if (command && by.sender) {
    reply_not_there(by.peer, access::take_foreign(*by.sender, *state_, *command));
    access::refuse_foreign_follow_ups(*by.sender, *command);
  }
  if (command)
    put_off_large(*command, now);
  return command;
}

bool shard::refuse_reports(
  core::peer_id peer, const std::vector<core::lease_report>& reports, const error& reason) {
  core::reports_answered answered{peer, {}};
  for (const auto& report : reports)
    answered.answers.push_back({report.seq, report.token, reason.code, reason.context});
  if (answered.answers.empty())
    return false;
  reply_to(peer, std::move(answered));
  return true;
}

void shard::put_off_large(core::report& command, const instant& now) {
  const auto accepts_writes = port_.accepts_writes();
  for (auto& report : command.reports) {
    if (!accepts_writes) {
      ++results_put_off_;
      report.allowed = error{
        errc::overloaded, "too few replicas of the shard are in sync; the result has to wait"};
      continue;
    }
    if (const auto full = full_neighbour(report)) {
      ++results_put_off_;
      port_.note_limit(
        "hand_over_bytes_max", hand_overs_->limits().waiting_bytes, owner_of(command.peer));
      report.allowed = full_way(*full);
      continue;
    }
    auto bytes = report.text.size();
    for (const auto& task : report.follow_ups)
      bytes += task.run.tasks.body.size();
    bool waits = bytes > tuning::small_result_bytes_max && port_.is_disk_tight(now.steady, bytes);
    if (!waits)
      continue;
    ++results_put_off_;
    report.allowed =
      error{errc::overloaded, "the coordinator's disk is full; the result has to wait"};
  }
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::resume_request& m, const instant&) {
  auto at = peers_.find(by.peer);
  if (at == peers_.end() || !at->second.worker)
    return std::nullopt;
  return accept(by.peer, protocol::to_command(m, by.peer, at->second.worker));
}

bool shard::take_awaited(core::peer_id peer, std::size_t more, const instant& now) {
  if (is_shared(peer))
    return true;
  const std::string tenant(owner_of(peer));
  if (!awaited_.has_room(tenant, more) && now.steady >= awaited_counted_ + awaited_count_pause) {
    awaited_counted_ = now.steady;
    awaited_ = base::fair_share(limits::awaited_tasks_of_all_max);
    for (const auto& [other, tasks] : state_->awaiting)
      if (!is_shared(other))
        awaited_.force(std::string(owner_of(other)), tasks.size());
  }
  if (awaited_.take(tenant, more))
    return true;
  port_.note_limit("awaited_tasks_of_all_max", limits::awaited_tasks_of_all_max, tenant);
  return false;
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::await_request& m, const instant& now) {
  auto command = accept(by.peer, protocol::to_command(m, by.peer));
  auto* wanted = command ? std::get_if<core::await_tasks>(&*command) : nullptr;
  if (!wanted)
    return command ? std::optional{as_command(std::move(*command))} : std::nullopt;
  auto at = state_->awaiting.find(by.peer);
  if (at != state_->awaiting.end() && at->second.size() >= limits::awaited_tasks_max) {
    error reason{
      errc::overloaded,
      std::to_string(at->second.size()) + " tasks of one shard are awaited already; the limit is "
        + std::to_string(limits::awaited_tasks_max)};
    port_.note_limit("awaited_tasks_max", limits::awaited_tasks_max, owner_of(by.peer));
    if (is_shared(by.peer))
      put_off(by.peer, wanted->tasks);
    else
      port_.end_peer(by.peer, reason);
    return std::nullopt;
  }
  // A task that has ended is answered at once.
  if (!may_read(by.peer)) {
    put_off(by.peer, wanted->tasks);
    return std::nullopt;
  }
  if (by.sender)
    reply_not_there(by.peer, access::take_foreign(*by.sender, *state_, *wanted));
  if (!take_awaited(by.peer, wanted->tasks.size(), now))
    put_off(by.peer, take_live(*state_, wanted->tasks));
  return as_command(std::move(*command));
}

template <class S>
std::optional<core::command>
shard::read(const peer_request& by, const protocol::frame<S>& m, const instant& now) {
  auto command = protocol::to_command(m, protocol::asked_at{by.peer, place()});
  auto address = protocol::address_of(m);
  if (!command && ends_peer(by.peer, address.has_value(), command.error())) {
    port_.end_peer(by.peer, command.error());
    return std::nullopt;
  }
  auto ok = command ? result<void>{} : result<void>{command.error()};
  if (ok)
    complete(by, *command);
  if (ok && by.sender)
    ok = check_access(*by.sender, *state_, *command);
  if (ok && is_write(*command)) {
    ok = check_replicas();
  } else if (ok && !may_read(by.peer)) {
    ok = keep(by, m.body().size(), now);
    if (ok)
      return std::nullopt;
  }
  if (ok)
    return as_command(std::move(*command));
  reply_to(by.peer, protocol::request_refused<S>{address->number, ok.error()});
  return std::nullopt;
}

void shard::reply_not_there(core::peer_id peer, const std::vector<core::lease_beat>& beats) {
  core::leases_lost lost{peer, {}};
  for (const auto& beat : beats)
    lost.leases.push_back({beat.seq, beat.token});
  if (!lost.leases.empty())
    reply_to(peer, std::move(lost));
}

void shard::reply_extended(
  core::peer_id peer, std::uint64_t number, const std::vector<core::lease_beat>& beats) {
  if (number == 0)
    return;
  protocol::leases_extended told{number, {}};
  for (const auto& beat : beats)
    if (const auto* lease = state_->leases.find(beat.token); lease && lease->seq == beat.seq)
      told.leases.push_back({beat.seq, beat.token});
  if (!told.leases.empty())
    reply_to(peer, std::move(told));
}

void shard::reply_not_there(core::peer_id peer, const std::vector<core::lease_report>& reports) {
  core::reports_answered answered{peer, {}};
  for (const auto& report : reports)
    answered.answers.push_back({report.seq, report.token, errc::unknown_task});
  if (!answered.answers.empty())
    reply_to(peer, std::move(answered));
}

void shard::put_off(core::peer_id peer, const std::vector<sequence>& awaited) {
  protocol::tasks_told told;
  for (auto seq : awaited)
    told.tasks.push_back({seq, errc::overloaded, {}, 0, {}});
  reply_to(peer, std::move(told));
}

void shard::reply_not_there(core::peer_id peer, const std::vector<sequence>& awaited) {
  protocol::tasks_told told;
  for (auto seq : awaited)
    told.tasks.push_back({seq, errc::unknown_task, {}, 0, {}});
  if (!told.tasks.empty())
    reply_to(peer, std::move(told));
}

} // namespace codeq::coordinator
