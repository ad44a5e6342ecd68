// SPDX-License-Identifier: Apache-2.0
#include "http/operations/operation_desk.hpp"

#include "base/random.hpp"
#include "base/text_encoding.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace codeq::http {

namespace {

std::string random_id() {
  std::array<std::uint64_t, 1> bits{base::random_bits()};
  return base::to_hex({reinterpret_cast<const char*>(bits.data()), sizeof(bits)});
}

void log_end(const bulk_operation& o) {
  CODEQ_LOG_INFO(
    "gateway ended an operation id={} kind={} tenant={} status={} done={} unchanged={}",
    o.id,
    operation_kinds[static_cast<std::size_t>(o.request.kind)],
    o.request.tenant,
    operation_statuses[static_cast<std::size_t>(o.status)],
    o.done,
    o.unchanged);
}

/// Outcomes of single changes, gathered.
struct single_changes {
  std::size_t missing = 0;
  std::uint64_t changed = 0;
  std::optional<error> failure{};
};

/// States of the tasks of a look, gathered.
struct seen_tasks {
  std::size_t missing = 0;
  std::vector<std::optional<task_status>> found{};
  std::optional<error> failure{};
};

} // namespace

void operation_desk::start(
  shard_desk& desk, find_callers callers_of, redriven_function redriven) {
  desk_ = &desk;
  callers_of_ = std::move(callers_of);
  redriven_ = std::move(redriven);
  auto grant_one = [this](const std::string& text, shard_desk::then<std::string> done) {
    grant(text, std::move(done));
  };
  wishes_.start(desk, wishes_tenant, "operation", std::move(grant_one));
  far_.start(desk, wishes_);
  walk_.start(
    desk,
    operations_tenant,
    "operations",
    {[this](const task_summary& found) { read_record(found.id); },
     [this](shard_id shard) { leave(value(shard)); }});
}

void operation_desk::read_record(task_id record) {
  auto take = [this, record](const result<task_detail>& found) {
    auto stored = found ? read_operation(found->payload.value_or("")) : found.error();
    if (stored)
      take_up(std::move(*stored), record);
    else if (stored.error().code != errc::unknown_task)
      CODEQ_LOG_ERROR(
        "gateway cannot read an operation record={} reason=\"{}\"",
        to_string(record),
        to_string(stored.error()));
    if (!walk_.is_reading())
      drop_old();
  };
  walk_.read(record, std::move(take));
}

void operation_desk::take_up(bulk_operation stored, task_id record) {
  auto id = stored.id;
  if (all_.contains(id))
    return;
  if (!is_over(stored.status))
    CODEQ_LOG_INFO(
      "gateway continues an operation id={} tenant={} done={}",
      id,
      stored.request.tenant,
      stored.done);
  entry fresh{operation_run::recover(std::move(stored), desk_->shard_count())};
  fresh.record = record;
  add(std::move(fresh));
  step(id);
}

void operation_desk::add(entry fresh) {
  const auto& o = fresh.run.operation();
  if (!is_over(o.status))
    places_.force(o.request.tenant);
  auto id = o.id;
  fresh.round = ++last_round_;
  all_.emplace(std::move(id), std::move(fresh));
}

operation_desk::entry* operation_desk::find_entry(const place& of) {
  auto at = all_.find(of.id);
  return at != all_.end() && at->second.round == of.round ? &at->second : nullptr;
}

const operation_desk::entry*
operation_desk::find_entry(const std::string& tenant, const std::string& id) const {
  auto at = all_.find(id);
  bool is_found = at != all_.end() && at->second.run.operation().request.tenant == tenant;
  return is_found ? &at->second : nullptr;
}

bool operation_desk::is_own(const std::string& tenant, const std::string& id) const {
  return desk_->is_here(home_of(tenant, id, desk_->shard_count()));
}

std::string operation_desk::new_id(const std::string& tenant) const {
  for (;;) {
    auto id = random_id();
    if (is_own(tenant, id))
      return id;
  }
}

result<void> operation_desk::check_ready() const {
  if (walk_.is_reading())
    return error{errc::overloaded, "the operations are being read after the start"};
  return {};
}

error operation_desk::not_found(const std::string& tenant, const std::string& id) const {
  bool is_known = !walk_.is_reading() && walk_.has_read(walk_.shard_of(tenant, id));
  return is_known ? unknown_operation(tenant, id)
                  : error{errc::overloaded, "the operations are being read after the start"};
}

result<void> operation_desk::check(const std::string& tenant) const {
  if (!desk_->has_shards())
    return error{
      errc::disconnected,
      "this coordinator serves no shard of its cluster at present, so it runs no operation; send "
      "the request to another one"};
  auto open = places_.used_by(tenant);
  if (open >= limits::operations_open_max) {
    desk_->meter().note({"operations_open_max", limits::operations_open_max, "tenant", tenant});
    return error{
      errc::too_large,
      "tenant " + tenant + " has " + std::to_string(open)
        + " operations that are not over; operations_open_max="
        + std::to_string(limits::operations_open_max) + "; cancel one or wait for its end"};
  }
  if (places_.has_room(tenant))
    return {};
  desk_->meter().note(
    {"operations_open_of_all_max", limits::operations_open_of_all_max, "tenant", tenant});
  return error{
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(open)
      + " operations that are not over; all tenants share "
      + std::to_string(limits::operations_open_of_all_max)};
}

std::string
operation_desk::begin(operation_request request, const operation_user& by, done_function done) {
  bulk_operation o;
  o.id = new_id(request.tenant);
  o.request = std::move(request);
  o.started_at = desk_->now();
  o.number = desk_->next_operation();
  o.by = by;
  auto id = o.id;
  entry fresh{operation_run::begin(std::move(o), desk_->shard_count())};
  fresh.waiters.push_back({fresh.run.version(), std::move(done)});
  add(std::move(fresh));
  step(id);
  return id;
}

void operation_desk::alter(operation_wish wish, done_function done) {
  wish.at = desk_->now();
  if (is_own(wish.tenant, wish.id))
    alter_own(wish, std::move(done));
  else
    far_.alter(std::move(wish), std::move(done));
}

void operation_desk::alter_own(const operation_wish& wish, done_function done) {
  if (!find_entry(wish.tenant, wish.id))
    return done(not_found(wish.tenant, wish.id));
  auto& of = all_.at(wish.id);
  auto& run = of.run;
  bool is_changed = wish.what == operation_change::pause    ? run.pause(wish.by, desk_->now())
                    : wish.what == operation_change::resume ? run.resume(wish.by, desk_->now())
                                                            : run.cancel(wish.by, desk_->now());
  if (!is_changed) {
    auto status = operation_statuses[static_cast<std::size_t>(run.operation().status)];
    return done(error{
      errc::duplicate,
      "operation " + wish.id + " is " + std::string(status) + ", which this does not change"});
  }
  if (is_over(run.operation().status))
    places_.give_back(wish.tenant);
  of.waiters.push_back({run.version(), std::move(done)});
  if (!of.is_busy)
    desk_->cancel(std::exchange(of.timer, 0));
  step(wish.id);
}

shown_operation operation_desk::show(const operation_run& run) const {
  const auto& o = run.operation();
  return {
    o, run.problem(), desk_->node_of(home_of(o.request.tenant, o.id, desk_->shard_count()))};
}

void operation_desk::find(
  const std::string& tenant, const std::string& id, shard_desk::then<shown_operation> done) {
  if (is_own(tenant, id)) {
    if (const auto* found = find_entry(tenant, id))
      return done(show(found->run));
    return done(not_found(tenant, id));
  }
  auto take = [this, tenant, id, done = std::move(done)](const result<bulk_operation>& found) {
    if (!found)
      return done(found.error());
    auto node = desk_->node_of(home_of(tenant, id, desk_->shard_count()));
    done(shown_operation{*found, {}, std::move(node)});
  };
  far_.find(tenant, id, std::move(take));
}

void operation_desk::list(
  const std::string& tenant, shard_desk::then<std::vector<shown_operation>> done) {
  if (auto ok = check_ready(); !ok)
    return done(ok.error());
  auto take = [this, tenant, done = std::move(done)](result<std::vector<bulk_operation>> far) {
    if (!far)
      return done(far.error());
    std::vector<shown_operation> all;
    for (const auto& [id, one] : all_)
      if (one.run.operation().request.tenant == tenant)
        all.push_back(show(one.run));
    for (auto& o : *far)
      // Its shard may have come here meanwhile.
      if (!all_.contains(o.id)) {
        auto node = desk_->node_of(home_of(tenant, o.id, desk_->shard_count()));
        all.push_back({std::move(o), {}, std::move(node)});
      }
    std::sort(all.begin(), all.end(), [](const shown_operation& a, const shown_operation& b) {
      return std::pair(a.operation.started_at, a.operation.number)
             > std::pair(b.operation.started_at, b.operation.number);
    });
    done(std::move(all));
  };
  far_.list(tenant, std::move(take));
}

operation_user operation_desk::user_of(const exchange& call) const {
  operation_user by;
  by.remote = call.in.remote;
  by.is_listed = callers_of_ && !call.by->has_jwt()
                 && !callers_of_(call.by->tenant, call.by->subject).empty();
  if (by.is_listed || call.by->bearer)
    by.subject = call.by->subject;
  if (call.by->bearer)
    by.bearer_tenant = call.by->bearer->tenant;
  return by;
}

void operation_desk::check_rights(operation_run& run) {
  const auto& o = run.operation();
  if (o.status != operation_status::running || !o.by.is_listed || !callers_of_)
    return;
  auto callers = callers_of_(o.request.tenant, o.by.subject);
  bool is_allowed =
    std::any_of(callers.begin(), callers.end(), [](const auto& by) { return by->is_admin; });
  if (!is_allowed)
    run.stop(
      "the token of " + o.by.subject + " was revoked, or is no admin's any more", desk_->now());
}

core::origin_ptr operation_desk::origin_of(const bulk_operation& o) const {
  // All parts are one command in the audit log, whoever resumed the operation.
  core::command_origin origin{o.started_at, o.number};
  origin.subject = o.events.front().subject;
  origin.tenant = o.by.bearer_tenant;
  origin.remote = o.events.front().remote;
  return std::make_shared<const core::command_origin>(std::move(origin));
}

void operation_desk::step(const std::string& id) {
  auto at = all_.find(id);
  if (stopped_ || at == all_.end() || at->second.is_busy)
    return;
  check_rights(at->second.run);
  at->second.is_busy = true;
  std::visit([&](const auto& next) { take(id, next); }, at->second.run.next(desk_->now()));
}

void operation_desk::finish(
  const place& of, const std::function<void(operation_run&)>& take) {
  auto* found = find_entry(of);
  if (stopped_ || !found)
    return;
  auto& run = found->run;
  bool was_over = is_over(run.operation().status);
  take(run);
  if (!was_over && is_over(run.operation().status))
    places_.give_back(run.operation().request.tenant);
  found->is_busy = false;
  step(of.id);
}

void operation_desk::take(const std::string& id, const operation_run::idle&) {
  all_.at(id).is_busy = false;
}

void operation_desk::take(const std::string& id, const operation_run::wait& wait) {
  auto& waiting = all_.at(id);
  waiting.is_busy = false;
  waiting.timer = desk_->after(wait.pause, [this, of = place_of(id)] {
    auto* found = find_entry(of);
    if (!found)
      return;
    found->timer = 0;
    step(of.id);
  });
}

void operation_desk::take(const std::string& id, const operation_run::save& save) {
  auto record = record_of(all_.at(id).run.operation());
  auto done = [this, of = place_of(id),
               version = save.version](const result<enqueued_task>& added) {
    stored(of, version, added);
  };
  // The outcome of an enqueue that is given up is unknown, so this one is not given up while
  // its shard is here: a record that is stored all the same continues after the next start.
  auto ticket = desk_->enqueue(record.queue, record, std::move(done));
  if (auto at = all_.find(id); at != all_.end())
    at->second.saving = ticket;
}

void operation_desk::stored(
  const place& name, std::uint64_t version, const result<enqueued_task>& added) {
  auto* found = find_entry(name);
  if (!found)
    return;
  auto& of = *found;
  auto is_told = [&](const waiter& one) { return !added || one.version <= version; };
  auto told = std::stable_partition(
    of.waiters.begin(), of.waiters.end(), [&](const waiter& one) { return !is_told(one); });
  std::vector<waiter> waiters(
    std::make_move_iterator(told), std::make_move_iterator(of.waiters.end()));
  of.waiters.erase(told, of.waiters.end());
  bool is_refused = !added && !of.record;
  if (is_refused) {
    const auto& o = of.run.operation();
    if (!is_over(o.status))
      places_.give_back(o.request.tenant);
    all_.erase(name.id);
  } else if (added) {
    of.record = added->id;
  }
  for (const auto& one : waiters)
    one.done(added ? result<void>{} : added.error());
  bool has_ended = false;
  finish(name, [&](operation_run& run) {
    if (!added)
      return run.fail(added.error(), desk_->now());
    run.saved(version);
    has_ended = is_over(run.operation().status) && run.version() == version;
    if (has_ended)
      log_end(run.operation());
  });
  if (has_ended)
    drop_old();
}

void operation_desk::take(const std::string& id, const operation_run::list& list) {
  const auto& run = all_.at(id).run;
  auto done = [this, of = place_of(id),
               version = run.version()](const result<client::list_part>& part) {
    finish(of, [&](operation_run& to) {
      if (!part)
        return to.fail(part.error(), desk_->now());
      if (to.version() != version)
        return;
      to.take_list(*part, desk_->now());
      renew_webhooks(to.operation().request, to.take_found_changed());
    });
  };
  desk_->list(
    run.operation().request.tenant,
    list.at.shard,
    client::list_tasks(list.filter, list.at),
    shard_desk::then<client::list_part>(std::move(done)));
}

void operation_desk::renew_webhooks(
  const operation_request& of, const std::vector<task_id>& changed) const {
  if (of.kind != operation_kind::redrive)
    return;
  for (auto task : changed)
    redriven_(of.tenant, task);
}

void operation_desk::take(const std::string& id, const operation_run::change& change) {
  auto kind = all_.at(id).run.operation().request.kind;
  if (kind == operation_kind::redrive || kind == operation_kind::purge)
    change_listed(id, change);
  else
    change_singly(id, change);
}

void operation_desk::change_listed(const std::string& id, const operation_run::change& change) {
  const auto& o = all_.at(id).run.operation();
  auto kind = o.request.kind == operation_kind::redrive ? core::bulk_kind::redrive_listed
                                                        : core::bulk_kind::purge_listed;
  auto done = [this, of = place_of(id), kind, tenant = o.request.tenant, change](
                const result<client::bulk_part>& part) {
    if (part && kind == core::bulk_kind::redrive_listed)
      for (const auto& task : change.tasks)
        redriven_(tenant, {static_cast<shard_id>(change.shard), task.seq});
    changed(of, part ? result<std::uint64_t>(part->changed) : part.error());
  };
  desk_->ask<client::bulk_part>(
    change.shard,
    client::change_listed(
      kind, {o.request.tenant, o.request.filter.queue}, change.shard, change.tasks),
    &client::read_bulk,
    shard_desk::then<client::bulk_part>(std::move(done)),
    origin_of(o));
}

void operation_desk::change_singly(const std::string& id, const operation_run::change& change) {
  const auto& o = all_.at(id).run.operation();
  auto what = o.request.kind == operation_kind::cancel ? task_change::cancel : task_change::promote;
  auto all = std::make_shared<single_changes>(single_changes{change.tasks.size()});
  auto done = [this, of = place_of(id), all](const result<change_outcome>& outcome) {
    bool is_changed =
      outcome
      && (outcome->what == change_result::changed || outcome->what == change_result::requested);
    all->changed += is_changed ? 1 : 0;
    if (!outcome && outcome.error().code != errc::unknown_task)
      all->failure = outcome.error();
    if (--all->missing == 0)
      changed(of, all->failure ? result<std::uint64_t>(*all->failure) : all->changed);
  };
  auto origin = origin_of(o);
  for (const auto& task : change.tasks)
    desk_->ask<change_outcome>(
      change.shard,
      client::ask_change({{static_cast<shard_id>(change.shard), task.seq}, {}}, what),
      &client::read_change,
      shard_desk::then<change_outcome>(done),
      origin);
}

void operation_desk::changed(const place& of, const result<std::uint64_t>& tasks) {
  finish(of, [&](operation_run& run) {
    if (tasks)
      return run.take_change(*tasks, desk_->now());
    run.lose_change();
    run.fail(tasks.error(), desk_->now());
  });
}

void operation_desk::take(const std::string& id, const operation_run::look& look) {
  auto seen = std::make_shared<seen_tasks>();
  seen->missing = look.tasks.size();
  seen->found.resize(look.tasks.size());
  auto version = all_.at(id).run.version();
  auto finished = [this, of = place_of(id), seen, version] {
    finish(of, [&](operation_run& run) {
      if (seen->failure)
        return run.fail(*seen->failure, desk_->now());
      if (run.version() == version)
        run.take_look(seen->found, desk_->now());
    });
  };
  if (look.tasks.empty())
    return finished();
  for (std::size_t i = 0; i < look.tasks.size(); ++i)
    desk_->describe({look.tasks[i], {}}, [seen, i, finished](const result<task_detail>& found) {
      if (found)
        seen->found[i] = found->status;
      else if (found.error().code != errc::unknown_task)
        seen->failure = found.error();
      if (--seen->missing == 0)
        finished();
    });
}

void operation_desk::drop_old() {
  std::vector<ended_operation> ended;
  for (const auto& [id, one] : all_) {
    const auto& o = one.run.operation();
    if (is_over(o.status) && !one.is_busy)
      ended.push_back({o.ended_at, o.request.tenant, id});
  }
  for (const auto& id : find_outdated(std::move(ended), desk_->now()))
    drop(id);
}

void operation_desk::drop(const std::string& id) {
  auto at = all_.find(id);
  auto record = at->second.record;
  all_.erase(at);
  if (!record)
    return;
  // If this change is lost, the next start finds the record and drops it again.
  desk_->ask<change_outcome>(
    value(record->shard),
    client::ask_force(*record, force_kind::complete, {}),
    &client::read_change,
    shard_desk::then<change_outcome>([](const result<change_outcome>&) {}));
}

} // namespace codeq::http
