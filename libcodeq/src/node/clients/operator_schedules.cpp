// SPDX-License-Identifier: Apache-2.0
#include "client/schedule_questions.hpp"
#include "node/clients/operator_impl.hpp"

#include <algorithm>
#include <iterator>

/// The requests for schedules.
namespace codeq {

result<client::schedules_part>
operator_client::impl::ask_schedule(client::question question, bool repeatable) {
  auto part = ask(std::move(question), client::read_schedules, repeatable);
  if (part && part->schedules.empty())
    return error{errc::protocol_error, "an answer without a schedule"};
  return part;
}

namespace {

result<schedule_answer> answer_of(result<client::schedules_part> part) {
  if (!part)
    return part.error();
  return schedule_answer{part->what, std::move(part->schedules.front())};
}

} // namespace

result<schedule_answer>
operator_client::set_schedule(const schedule_address& name, const schedule_spec& spec) {
  auto question = client::ask_set_schedule(client::place_of(name, impl_->shard_count()), spec);
  if (!question)
    return question.error();
  return answer_of(impl_->ask_schedule(std::move(*question)));
}

result<schedule_answer>
operator_client::change_schedule(const schedule_address& name, schedule_action what) {
  auto at = client::place_of(name, impl_->shard_count());
  bool repeatable = what != schedule_action::run;
  return answer_of(impl_->ask_schedule(client::ask_change_schedule(at, what), repeatable));
}

result<schedule_answer> operator_client::backfill_schedule(
  const schedule_address& name, timestamp from, timestamp until) {
  auto at = client::place_of(name, impl_->shard_count());
  return answer_of(
    impl_->ask_schedule(client::ask_backfill_schedule(at, from, until), false));
}

result<schedule_info>
operator_client::show_schedule(const schedule_address& name, std::uint32_t next) {
  auto at = client::place_of(name, impl_->shard_count());
  auto part = impl_->ask_schedule(client::ask_schedule(at, next));
  if (!part)
    return part.error();
  return std::move(part->schedules.front());
}

result<std::vector<schedule_time>> operator_client::preview_schedule(
  const schedule_address& name, const schedule_spec& spec, std::uint32_t count) {
  auto at = client::place_of(name, impl_->shard_count());
  auto question = client::ask_preview_schedule(at, spec, count);
  if (!question)
    return question.error();
  auto part = impl_->ask_schedule(std::move(*question));
  if (!part)
    return part.error();
  return std::move(part->schedules.front().next);
}

result<std::vector<schedule_occurrence>>
operator_client::schedule_history(const schedule_address& name) {
  auto at = client::place_of(name, impl_->shard_count());
  auto part = impl_->ask_schedule(client::ask_schedule_history(at));
  if (!part)
    return part.error();
  return std::move(part->history);
}

result<std::vector<schedule_info>> operator_client::list_schedules(const std::string& tenant) {
  std::vector<schedule_info> all;
  auto shards = impl_->shard_count();
  for (std::uint16_t shard = 0; shard < shards; ++shard) {
    client::schedule_place at{shard, {tenant, {}}};
    for (bool more = true; more;) {
      auto part = impl_->ask(
        client::ask_schedules(at, limits::schedules_listed_max), client::read_schedules);
      if (!part)
        return part.error();
      more = part->more && !part->schedules.empty();
      if (more)
        at.name.name = part->schedules.back().name.name;
      std::move(part->schedules.begin(), part->schedules.end(), std::back_inserter(all));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

} // namespace codeq
