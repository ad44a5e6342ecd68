// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "client/cluster_questions.hpp"
#include "client/cluster_sums.hpp"
#include "client/dead_kinds.hpp"
#include "client/dead_walk.hpp"
#include "client/fairness_sums.hpp"
#include "client/task_pages.hpp"
#include "node/clients/operator_impl.hpp"
#include "security/principal.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <utility>

namespace codeq {

namespace {

/// How long a coordinator that does not accept connections is given to start.
constexpr duration unreachable_wait{800};

} // namespace

result<void> operator_client::impl::connected() {
  auto news = watch.wait(
    client::deadline_after(unreachable_wait), client::deadline_after(options.timeout));
  if (news.up)
    return {};
  bool is_decided = news.all_refuse || news.unreachable;
  return client::no_connection(
    options.coordinators, news.reason, is_decided ? std::nullopt : std::optional{options.timeout});
}

void operator_client::impl::tell_wait() {
  if (!options.waits || has_told_wait)
    return;
  auto slot = std::make_shared<client::answer_slot<std::optional<error>>>();
  auto put = [slot](const std::optional<error>& why) { slot->put(why); };
  caf::anon_send(actor, actors::ask_unreached{std::nullopt, std::move(put)});
  const auto told = slot->wait(client::deadline_after(node::give_up_wait));
  const auto why = told ? told->value_or(std::nullopt) : std::nullopt;
  if (!why)
    return;
  has_told_wait = true;
  options.waits(*why);
}

template <class T, class S>
result<T> operator_client::impl::ask_all(
  client::question question,
  result<client::answered<T>> (*read)(const protocol::frame<S>&),
  actors::missing_answers& missing) {
  using whole = std::pair<T, actors::missing_answers>;
  auto slot = std::make_shared<client::answer_slot<whole>>();
  auto sum = std::make_shared<result<T>>(T{});
  actors::ask_coordinator wish;
  wish.question = std::move(question);
  wish.answered = [sum, read](const protocol::wire_frame& frame) -> result<void> {
    if (frame.type != protocol::frame_type<S>)
      return error{errc::protocol_error, "a reply of another type than was asked for"};
    auto parsed = protocol::frame<S>::parse(frame.body);
    auto told = parsed ? read(*parsed) : result<client::answered<T>>(parsed.error());
    if (!told)
      return told.error();
    if (!told->answer)
      *sum = told->answer.error();
    else if (*sum)
      client::add(**sum, std::move(*told->answer));
    return {};
  };
  wish.failed = [slot](const error& reason) { slot->put(reason); };
  wish.completed = [slot, sum](const actors::missing_answers& gone) {
    if (*sum)
      slot->put(whole{std::move(**sum), gone});
    else
      slot->put(sum->error());
  };
  caf::anon_send(actor, std::move(wish));
  auto answer = slot->wait(client::deadline_after(options.timeout));
  if (!answer)
    return node::no_answer(options.timeout);
  if (!*answer)
    return answer->error();
  missing = std::move((*answer)->second);
  return std::move((*answer)->first);
}

template <class Of>
result<queue_info> operator_client::impl::ask_each_shard(
  shard_request what, const queue_address& queue, Of of) {
  auto parts = ask_parts(what, of);
  if (!parts)
    return parts.error();
  return client::merge_parts(queue, parts->parts, std::move(parts->missing));
}

template <class Of>
result<client::told_parts<client::queue_part>>
operator_client::impl::ask_parts(shard_request what, Of of) {
  return ask_shards<client::queue_part>(what, [&](std::uint16_t shard, duration most) {
    return ask_for(most, of(shard), client::read_queue);
  });
}

result<client::told_parts<client::queue_part>> operator_client::impl::ask_fairness(
  const queue_address& queue, const core::fairness_part& part) {
  return ask_parts(shard_request::read, [&](std::uint16_t shard) {
    return client::show_fairness(shard, queue, part);
  });
}

result<void> operator_client::impl::check_exists(const queue_address& queue) {
  auto found = ask_parts(shard_request::read_settings, [&](std::uint16_t shard) {
    return client::show_queue(shard, queue);
  });
  // The refusal of the change itself tells whose token it takes, instead of who may look.
  if (!found && found.error().code == errc::unauthorized)
    return {};
  if (!found)
    return client::before_change(found.error());
  if (client::is_known(found->parts))
    return {};
  // A shard that did not answer may know the queue.
  return found->missing.empty() ? node::unknown_queue(queue)
                                : client::before_change(found->silence);
}

result<task_page> operator_client::impl::list_page(
  const task_filter& filter, const page_request& page, error& silence) {
  auto pages = client::page_merge::begin(filter, page, shard_count());
  if (!pages)
    return error{
      errc::invalid_argument,
      "after is `" + page.after + "`; it must be what an earlier page of the same list said"};
  auto told = ask_shards<client::list_part>(
    shard_request::read, [&](std::uint16_t shard, duration most) {
      return ask_for(most, pages->question_for(shard), client::read_list);
    });
  if (!told)
    return told.error();
  silence = std::move(told->silence);
  return pages->merge(std::move(told->parts), std::move(told->missing));
}

result<std::uint64_t> operator_client::impl::change_many(
  core::bulk_kind what, const queue_address& of, client::bulk_pace pace) {
  auto shards = shard_count();
  auto whole = node::new_operation();
  for (std::uint16_t shard = 0; shard < shards; ++shard) {
    client::walk_position at{shard, 0, pace.next_part()};
    for (bool more = true; more && at.limit > 0; at.limit = pace.next_part()) {
      auto part = ask(client::change_many(what, of, at, whole), client::read_bulk);
      if (!part)
        return node::after_tasks(part.error(), pace.changed());
      more = part->more;
      at.after = part->after;
      std::this_thread::sleep_for(pace.take(part->changed));
    }
  }
  return pace.changed();
}

template <class Take>
result<void> operator_client::impl::list_shard(
  std::uint16_t shard, const task_filter& filter, std::uint64_t limit, const Take& take) {
  client::walk_position at{shard, 0, 0};
  for (bool more = true; more && limit > 0;) {
    at.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, tuning::bulk_tasks_max));
    auto part = ask(client::list_tasks(filter, at), client::read_list);
    if (!part)
      return part.error();
    if (!part->knows_all_filters)
      return error{errc::unsupported, "the coordinator is of an older version"};
    for (auto& task : part->tasks) {
      task.id.shard = static_cast<shard_id>(shard);
      take(task);
    }
    limit -= std::min<std::uint64_t>(limit, part->tasks.size());
    more = part->more;
    at.after = part->after;
  }
  return {};
}

result<std::unique_ptr<operator_client>> operator_client::connect(operator_options options) {
  if (auto ok = node::check_coordinators(options.coordinators); !ok)
    return ok.error();
  auto access = node::open_credentials(options.access, options.coordinators);
  if (!access)
    return access.error();
  auto state = std::make_unique<impl>(std::move(options), std::move(*access));
  if (auto ok = state->connected(); !ok)
    return ok.error();
  return std::unique_ptr<operator_client>(new operator_client(std::move(state)));
}

operator_client::operator_client(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

operator_client::~operator_client() = default;

std::string operator_client::tenant() {
  auto tenant = impl_->watch.tenant();
  return tenant.empty() || tenant == security::everything ? "default" : tenant;
}

result<task_status> operator_client::status(task_id task) {
  return impl_->ask(client::ask_status({task}), client::read_status);
}

result<task_status> operator_client::status(const task_key& task) {
  auto address = client::address_of(task, impl_->shard_count());
  return impl_->ask(client::ask_status(address), client::read_status);
}

result<change_outcome> operator_client::change(task_id task, task_change what) {
  return impl_->ask(client::ask_change({task}, what), client::read_change);
}

result<change_outcome> operator_client::change(const task_key& task, task_change what) {
  auto address = client::address_of(task, impl_->shard_count());
  return impl_->ask(client::ask_change(address, what), client::read_change);
}

result<change_outcome>
operator_client::force(task_id task, force_kind how, const std::string& text) {
  auto limit = how == force_kind::fail ? limits::error_text_bytes_max : limits::result_bytes_max;
  if (text.size() > limit)
    return error{
      errc::too_large,
      "text is " + std::to_string(text.size()) + " bytes; it must be at most "
        + std::to_string(limit)};
  constexpr bool repeatable = false;
  return impl_->ask(client::ask_force(task, how, text), client::read_change, repeatable);
}

result<task_explanation> operator_client::explain(task_id task) {
  auto why = impl_->ask(client::ask_explain(task), client::read_explain);
  if (why && why->reason == task_reason::limited)
    impl_->add_owned(*why);
  bool has_failed =
    why && (why->reason == task_reason::dead || why->reason == task_reason::retry_waiting);
  if (!has_failed)
    return why;
  // The task's last error text is in the store, which the shard does not read.
  if (auto known = status(task))
    why->error_text = std::move(known->error_text);
  return why;
}

result<task_timeline> operator_client::events(task_id task) {
  return impl_->ask(client::ask_events(task), client::read_events);
}

result<queue_info> operator_client::show_queue(const queue_address& queue) {
  return impl_->ask_each_shard(
    impl::shard_request::read_settings, queue, [&](std::uint16_t shard) {
      return client::show_queue(shard, queue);
    });
}

result<fairness_page> operator_client::fairness(
  const queue_address& queue, const std::optional<std::string>& after, std::size_t limit) {
  if (limit < 1 || limit > limits::fairness_page_max)
    return node::out_of_range("limit", limit, 1, limits::fairness_page_max);
  core::fairness_part wanted{
    after.value_or(std::string()), static_cast<std::uint32_t>(limit), !after.has_value()};
  auto whole = impl_->ask_fairness(queue, client::all_fairness_keys());
  if (!whole)
    return whole.error();
  // A shard that did not answer may know the queue.
  if (!client::is_known(whole->parts) && whole->missing.empty())
    return node::unknown_queue(queue);
  const auto has_all_keys = client::has_all_keys(whole->parts);
  if (!has_all_keys)
    whole = impl_->ask_fairness(queue, wanted);
  if (!whole)
    return whole.error();
  auto page = has_all_keys ? client::merge_fairness(queue, whole->parts, wanted)
                           : client::merge_fairness_pages(queue, whole->parts, limit);
  page.missing = std::move(whole->missing);
  return page;
}

result<queue_explanation> operator_client::explain_queue(const queue_address& queue) {
  // Shards without a primary must not take the time of those behind them.
  constexpr duration wait_min{500};
  auto end = client::deadline_after(impl_->options.timeout);
  std::vector<result<client::queue_part>> parts;
  for (std::uint16_t shard = 0; shard < impl_->shard_count(); ++shard)
    parts.push_back(impl_->ask_until(
      std::max(end, client::deadline_after(wait_min)),
      client::explain_queue(shard, queue),
      client::read_queue));
  auto whole = client::merge_explanations(queue, parts);
  if (whole)
    impl_->add_owned(*whole);
  return whole;
}

result<queue_info> operator_client::configure_queue(
  const queue_address& queue,
  const queue_config& config,
  const std::optional<weight_changes>& weights) {
  auto part = client::part_of(config, impl_->shard_count());
  auto whole = node::new_operation();
  return impl_->ask_each_shard(impl::shard_request::change, queue, [&](std::uint16_t shard) {
    return client::set_queue(shard, queue, part, whole, weights);
  });
}

result<queue_info>
operator_client::change_weights(const queue_address& queue, const weight_changes& weights) {
  auto whole = node::new_operation();
  return impl_->ask_each_shard(impl::shard_request::change, queue, [&](std::uint16_t shard) {
    return client::weigh_keys(shard, queue, weights, whole);
  });
}

result<queue_info> operator_client::pause_queue(const queue_address& queue, bool paused) {
  if (auto ok = impl_->check_exists(queue); !ok)
    return ok.error();
  auto whole = node::new_operation();
  return impl_->ask_each_shard(impl::shard_request::change, queue, [&](std::uint16_t shard) {
    return client::pause_queue(shard, queue, paused, whole);
  });
}

result<task_page>
operator_client::list(const task_filter& filter, const page_request& page) {
  if (page.limit < 1 || page.limit > limits::listed_page_max)
    return node::out_of_range("limit", page.limit, 1, limits::listed_page_max);
  error silence{};
  return impl_->list_page(filter, page, silence);
}

result<std::vector<task_summary>>
operator_client::list(const task_filter& filter, std::size_t limit) {
  if (limit < 1 || limit > limits::listed_tasks_max)
    return node::out_of_range("limit", limit, 1, limits::listed_tasks_max);
  std::vector<task_summary> tasks;
  page_request page;
  do {
    page.limit = std::min(limit - tasks.size(), limits::listed_page_max);
    error silence{};
    auto found = impl_->list_page(filter, page, silence);
    if (!found)
      return found.error();
    if (!found->missing.empty())
      return silence;
    std::move(found->tasks.begin(), found->tasks.end(), std::back_inserter(tasks));
    page.after = std::move(found->after);
  } while (!page.after.empty() && tasks.size() < limit);
  return tasks;
}

result<std::uint64_t> operator_client::change_dead(const dead_filter& filter, dead_change what) {
  if (filter.rate > limits::bulk_rate_max)
    return node::out_of_range("rate", filter.rate, 0, limits::bulk_rate_max);
  client::dead_walk walk(filter, what, impl_->shard_count(), node::new_operation());
  while (!walk.is_over()) {
    if (walk.wants_list()) {
      auto part = impl_->ask(walk.next(), client::read_list);
      result<void> ok = part ? walk.take(*part) : part.error();
      if (!ok)
        return node::after_tasks(ok.error(), filter.is_dry_run ? 0 : walk.changed());
      continue;
    }
    auto part = impl_->ask(walk.next(), client::read_bulk);
    if (!part)
      return node::after_tasks(part.error(), filter.is_dry_run ? 0 : walk.changed());
    std::this_thread::sleep_for(walk.take(*part));
  }
  return walk.changed();
}

result<dead_summary> operator_client::summarize_dead(const dead_filter& filter) {
  client::dead_kinds kinds;
  auto limit = filter.limit == 0 ? std::numeric_limits<std::uint64_t>::max() : filter.limit;
  auto add = [&](const task_summary& dead) { kinds.add(dead); };
  for (std::uint16_t shard = 0; shard < impl_->shard_count(); ++shard)
    if (auto ok = impl_->list_shard(shard, client::filter_of(filter), limit, add); !ok)
      return ok.error();
  return kinds.summary();
}

result<std::uint64_t> operator_client::purge_queue(const queue_address& queue) {
  if (!is_valid_name(queue.queue))
    return error{
      errc::invalid_argument,
      "queue is `" + queue.queue + "`; it must be 1 to 128 letters, digits, `.`, `_` or `-`"};
  if (auto ok = impl_->check_exists(queue); !ok)
    return ok.error();
  return impl_->change_many(core::bulk_kind::purge_all, queue, {0, 0});
}

result<std::uint64_t> operator_client::purge_tenant(const std::string& tenant) {
  return impl_->change_many(core::bulk_kind::purge_all, {tenant, {}}, {0, 0});
}

result<coordinator_stats> operator_client::stats() {
  actors::missing_answers missing;
  auto sum = impl_->ask_all(client::ask_stats(), client::read_stats, missing);
  if (sum)
    client::set_missing(*sum, std::move(missing), impl_->shard_count());
  return sum;
}

result<worker_list> operator_client::workers() {
  actors::missing_answers missing;
  auto sum = impl_->ask_all(client::ask_workers(), client::read_workers, missing);
  if (!sum)
    return sum.error();
  return worker_list{std::move(*sum), std::move(missing.shards)};
}

result<void> operator_client::drain_worker(const std::string& name, bool is_drained) {
  // Without a name the request would ask for the list of all workers.
  if (name.empty())
    return client::check_drained(name, is_drained, {}, 0);
  actors::missing_answers missing;
  auto told = impl_->ask_all(client::ask_drain(name, is_drained), client::read_workers, missing);
  if (!told)
    return told.error();
  return client::check_drained(name, is_drained, *told, missing.coordinators);
}

result<audit_page> operator_client::audit(const audit_filter& filter) {
  if (filter.limit < 1 || filter.limit > limits::audited_max)
    return node::out_of_range("limit", filter.limit, 1, limits::audited_max);
  auto ask_one = [&](std::uint16_t shard, duration most) {
    return impl_->ask_for(most, client::ask_audit(filter, shard), client::read_audit);
  };
  auto parts = impl_->ask_shards<client::audit_part>(impl::shard_request::read, ask_one);
  if (!parts)
    return parts.error();
  audit_page page;
  for (auto& part : parts->parts)
    client::add(page, std::move(part), filter.limit);
  page.missing = std::move(parts->missing);
  return page;
}

result<std::vector<backup_info>> operator_client::backups() {
  return impl_->ask(client::ask_backups(), client::read_backups);
}

result<backup_status> operator_client::start_backup() {
  constexpr bool repeatable = false;
  return impl_->ask(client::ask_backup({.starts = true}), client::read_backup, repeatable);
}

result<backup_status> operator_client::backup() {
  return impl_->ask(client::ask_backup({}), client::read_backup);
}

result<cluster::told_backups> operator_client::impl::backups_of_all(const backup_wish& wish) {
  actors::missing_answers missing;
  auto all = ask_all(client::ask_backup(wish), client::read_backup_of_one, missing);
  if (all && missing.coordinators > 0)
    return error{
      errc::unavailable,
      std::to_string(missing.coordinators)
        + " coordinators of the cluster do not answer; `codeqctl cluster status` names them"};
  return all;
}

result<std::string> operator_client::log_level(const std::string& level) {
  return impl_->ask(client::ask_log_level(level), client::read_log_level);
}

result<cluster_status> operator_client::impl::whole_cluster() {
  actors::missing_answers missing;
  return ask_all(client::ask_cluster({}), client::read_cluster, missing);
}

result<cluster_status> operator_client::cluster() {
  return impl_->whole_cluster();
}

result<cluster_status> operator_client::change_cluster(const cluster_change& change) {
  auto asked = change;
  if (asked.operation == 0)
    asked.operation = static_cast<std::uint64_t>(node::new_operation());
  return impl_->ask(client::ask_cluster(asked), client::read_cluster);
}

} // namespace codeq
