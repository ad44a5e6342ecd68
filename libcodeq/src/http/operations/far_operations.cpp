// SPDX-License-Identifier: Apache-2.0
#include "http/operations/far_operations.hpp"

#include "http/server/gateway_limits.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace codeq::http {

namespace {

/// Results of reads, gathered.
struct found_operations {
  std::size_t missing = 0;
  std::vector<bulk_operation> all{};
  std::optional<error> failure{};
  shard_desk::then<std::vector<bulk_operation>> done;

  void end_one() {
    if (--missing > 0)
      return;
    if (failure)
      done(*failure);
    else
      done(std::move(all));
  }
};

result<bulk_operation> operation_in(const result<task_detail>& record) {
  if (!record)
    return record.error();
  return read_operation(record->payload.value_or(""));
}

} // namespace

void far_operations::find(
  const std::string& tenant, const std::string& id, shard_desk::then<bulk_operation> done) {
  auto take = [tenant, id, done = std::move(done)](const result<task_detail>& found) {
    if (!found && found.error().code == errc::unknown_task)
      return done(unknown_operation(tenant, id));
    done(operation_in(found));
  };
  desk_->describe_with_body(
    tenant, client::address_of(record_key(tenant, id), desk_->shard_count()), std::move(take));
}

void far_operations::list(
  const std::string& tenant, shard_desk::then<std::vector<bulk_operation>> done) {
  auto found = std::make_shared<found_operations>();
  // One more, so that nothing is done before all reads have begun.
  found->missing = 1;
  found->done = std::move(done);
  auto read = [found](const result<task_detail>& record) {
    auto one = operation_in(record);
    if (one)
      found->all.push_back(std::move(*one));
    else if (one.error().code != errc::unknown_task)
      found->failure = one.error();
    found->end_one();
  };
  task_filter filter;
  filter.tenant = operations_tenant;
  filter.queue = tenant;
  filter.state = task_state::ready;
  for (std::uint16_t shard = 0; shard < desk_->shard_count(); ++shard) {
    if (desk_->is_here(shard))
      continue;
    ++found->missing;
    auto take = [this, found, tenant, shard, read](const result<client::list_part>& part) {
      if (!part)
        found->failure = part.error();
      for (const auto& one : part ? part->tasks : std::vector<task_summary>()) {
        ++found->missing;
        desk_->describe_with_body(tenant, {{shard_id{shard}, one.id.seq}, {}}, read);
      }
      found->end_one();
    };
    client::walk_position at;
    at.shard = shard;
    at.limit = limits::http_listed_tasks_max;
    at.newest_first = true;
    desk_->list(tenant, shard, client::list_tasks(filter, at), std::move(take));
  }
  found->end_one();
}

void far_operations::alter(operation_wish wish, shard_desk::then<void> done) {
  const auto tenant = wish.tenant;
  const auto id = wish.id;
  auto check = [this, wish = std::move(wish),
                done = std::move(done)](const result<bulk_operation>& found) {
    if (!found)
      return done(found.error());
    // Wishes about operations that are over are not looked for.
    if (is_over(found->status))
      return done(error{
        errc::duplicate,
        "the operation is "
          + std::string(operation_statuses[static_cast<std::size_t>(found->status)])});
    send(wish, done);
  };
  find(tenant, id, std::move(check));
}

void far_operations::send(const operation_wish& wish, shard_desk::then<void> done) {
  auto answered = [done = std::move(done)](const result<std::string>& told) {
    done(told ? result<void>{} : told.error());
  };
  auto home = home_of(wish.tenant, wish.id, desk_->shard_count());
  wishes_->send(wish.tenant, wish.id, to_wish_text(wish), shard_id{home}, std::move(answered));
}

} // namespace codeq::http
