// SPDX-License-Identifier: Apache-2.0
#include "client/limit_questions.hpp"

#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "encoding/limit_structs.hpp"
#include "protocol/messages.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace codeq::client {

namespace {

using protocol::data_of;
using protocol::text_of;

/// A request about a limit; `what` sets the member of the union.
template <class What>
question ask_for(std::uint16_t shard, const limit_address& limit, What what) {
  return [shard, limit, what = std::move(what)](std::uint64_t number) {
    return protocol::limit_request::build([&](schema::LimitRequest::Builder request) {
             request.setNumber(number);
             request.setShard(shard);
             request.setTenant(text_of(limit.tenant));
             request.setName(text_of(limit.name));
             what(request);
           })
      .to_wire();
  };
}

error unknown_limit(const limit_address& limit) {
  return {
    errc::unknown_limit, "tenant \"" + limit.tenant + "\" has no limit \"" + limit.name + "\""};
}

/// Adds what another shard says of a limit.
void add_keys_of(limit_info& to, const limit_info& from) {
  to.is_uniform = to.is_uniform && to.definition == from.definition;
  to.leased += from.leased;
  to.held += from.held;
  to.keys += from.keys;
  to.keys_above += from.keys_above;
}

/// The waiting tasks of a limit key on all shards.
struct key_forecast {
  std::uint64_t tasks = 0;
  /// As its owner says.
  std::optional<std::uint64_t> room{};
};

/// Number of tasks of cost 1 that a key lets start at once when it is not in use.
std::uint64_t room_of_unused(const limit_definition& definition) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  auto slots = definition.concurrency ? *definition.concurrency : most;
  return definition.rate ? std::min<std::uint64_t>(slots, definition.rate->burst) : slots;
}

limit_forecast
forecast_of(const limit_definition& definition, const std::vector<limits_part>& parts) {
  limit_forecast forecast;
  std::map<std::string, key_forecast> keys;
  for (const auto& part : parts) {
    forecast.is_whole = forecast.is_whole && part.has_all_waiting;
    for (const auto& one : part.waiting) {
      auto& key = keys[one.key];
      key.tasks += one.tasks;
      if (one.room)
        key.room = one.room;
    }
  }
  for (const auto& [name, key] : keys) {
    auto room = key.room.value_or(room_of_unused(definition));
    forecast.tasks += key.tasks - std::min(key.tasks, room);
    forecast.keys += key.tasks > room ? 1 : 0;
  }
  return forecast;
}

/// The last key that comes before `key`. There is one, since keys have a maximum length.
/// @pre !key.empty()
std::string key_before(std::string key) {
  auto last = static_cast<unsigned char>(key.back());
  key.pop_back();
  if (last == 0)
    return key;
  key.push_back(static_cast<char>(last - 1));
  key.resize(limits::limit_key_bytes_max, '\xff');
  return key;
}

/// Joins what several shards say of one key. Its owner knows when the key can start a task, and how
/// long it is closed; the others only how many tasks they have that wait for it.
void join_equal(std::vector<limit_key_info>& sorted) {
  std::vector<limit_key_info> joined;
  for (auto& one : sorted) {
    if (joined.empty() || joined.back().key != one.key) {
      joined.push_back(std::move(one));
      continue;
    }
    auto& whole = joined.back();
    whole.leased += one.leased;
    whole.held += one.held;
    whole.closed_until = std::max(whole.closed_until, one.closed_until);
    if (one.next_start)
      whole.next_start = one.next_start;
  }
  sorted = std::move(joined);
}

} // namespace

question ask_limit(std::uint16_t shard, const limit_address& limit) {
  return ask_for(shard, limit, [](auto request) { request.setShow(); });
}

question ask_limits(std::uint16_t shard, const std::string& tenant) {
  static_assert(limits::limits_per_tenant_max <= limits::limits_page_max, "one page has them all");
  return ask_for(shard, {tenant, {}}, [](auto request) {
    auto page = request.initList();
    page.setFromStart(true);
    page.setLimit(limits::limits_page_max);
  });
}

question
ask_set_limit(std::uint16_t shard, const limit_change& change, operation whole) {
  return ask_for(shard, change.limit, [change, whole](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    auto rule = change.is_dry_run ? request.initDryRun() : request.initSet();
    encoding::write_rule(rule, change.definition);
  });
}

question ask_delete_limit(std::uint16_t shard, const limit_address& limit, operation whole) {
  return ask_for(shard, limit, [whole](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    request.setDelete();
  });
}

question ask_limit_keys(
  std::uint16_t shard, const limit_address& limit, const limit_keys_request& page) {
  return ask_for(shard, limit, [page](auto request) {
    auto to = request.initKeys();
    if (page.after)
      to.setAfter(data_of(*page.after));
    to.setFromStart(!page.after.has_value());
    to.setLimit(static_cast<std::uint32_t>(page.limit));
    to.setBusy(page.only_busy);
  });
}

question
ask_limit_key(std::uint16_t shard, const limit_address& limit, const std::string& key) {
  limit_keys_request page{.limit = 1};
  if (!key.empty())
    page.after = key_before(key);
  return ask_limit_keys(shard, limit, page);
}

void add_owned(task_explanation& to, const limits_part& part, timestamp now) {
  if (part.keys.empty() || part.keys.front().key != to.limit_key) {
    to.is_out_of_limit_keys = part.is_out_of_keys;
    return;
  }
  const auto& owned = part.keys.front();
  if (owned.closed_until > now)
    to.limit_closed_until = owned.closed_until;
  if (to.until == timestamp{} && owned.next_start)
    to.until = std::max(*owned.next_start, now);
}

bool has_told(const queue_explanation& why, std::uint16_t shard) {
  const auto& missing = why.missing_shards;
  return std::find(missing.begin(), missing.end(), shard) == missing.end();
}

void add_owned(limit_key_info& to, const limits_part& part) {
  if (part.keys.empty() || part.keys.front().key != to.key)
    return;
  const auto& owned = part.keys.front();
  to.leased = owned.leased;
  to.next_start = owned.next_start;
  to.closed_until = owned.closed_until;
}

void add_waiting(limit_key_info& to, const limits_part& part) {
  if (!part.keys.empty() && part.keys.front().key == to.key)
    to.held += part.keys.front().held;
}

void count_before(limit_info& deleted, const limit_info& before) {
  // A shard that had not answered before may have answered to the change.
  deleted.leased = std::max(deleted.leased, before.leased);
  deleted.held = std::max(deleted.held, before.held);
  deleted.keys = std::max(deleted.keys, before.keys);
}

std::uint16_t
shard_of_key(const limit_address& limit, const std::string& key, std::uint16_t shard_count) {
  return value(core::shard_of_limit_key(limit.tenant, {limit.name, key, 1}, shard_count));
}

question ask_close_key(
  std::uint16_t shard, const limit_address& limit, const std::string& key, duration how_long) {
  return ask_for(shard, limit, [key, how_long](auto request) {
    auto close = request.initClose();
    close.setKey(data_of(key));
    close.setForMs(static_cast<std::uint64_t>(how_long.count()));
  });
}

question
ask_open_key(std::uint16_t shard, const limit_address& limit, const std::string& key) {
  return ask_for(shard, limit, [key](auto request) { request.setOpen(data_of(key)); });
}

result<limits_part> or_absent(result<limits_part> part) {
  if (!part && part.error().code == errc::unknown_limit)
    return limits_part{};
  return part;
}

result<limit_info>
merge_limit(const limit_address& limit, const std::vector<limits_part>& parts) {
  std::optional<limit_info> whole;
  for (const auto& part : parts) {
    if (part.limits.empty())
      continue;
    if (whole)
      add_keys_of(*whole, part.limits.front());
    else
      whole = part.limits.front();
  }
  if (!whole)
    return unknown_limit(limit);
  auto lacks = [](const limits_part& part) { return part.limits.empty(); };
  whole->is_uniform = whole->is_uniform && std::none_of(parts.begin(), parts.end(), lacks);
  whole->limit = limit;
  return std::move(*whole);
}

result<limit_info>
merge_preview(const limit_change& change, const std::vector<limits_part>& parts) {
  auto whole = merge_limit(change.limit, parts);
  if (whole)
    whole->forecast = forecast_of(change.definition, parts);
  return whole;
}

result<limit_info> without(const std::vector<shard_id>& missing, result<limit_info> whole) {
  if (!whole || missing.empty())
    return whole;
  whole->is_uniform = false;
  if (whole->forecast)
    whole->forecast->is_whole = false;
  whole->missing = missing;
  return whole;
}

limit_list merge_limits(const std::string& tenant, const told_parts<limits_part>& told) {
  std::map<std::string, std::vector<limits_part>> by_name;
  for (const auto& part : told.parts)
    for (const auto& one : part.limits)
      by_name[one.limit.name].push_back({{one}, {}, false});
  limit_list all;
  all.missing = told.missing;
  for (auto& [name, found] : by_name) {
    // A shard that lacks the limit makes it not uniform.
    found.resize(told.parts.size());
    if (auto whole = without(told.missing, merge_limit({tenant, name}, found)))
      all.limits.push_back(std::move(*whole));
  }
  return all;
}

result<void> check_exists(const limit_address& limit, const told_parts<limits_part>& told) {
  auto has = [](const limits_part& part) { return !part.limits.empty(); };
  if (!told.missing.empty() || std::any_of(told.parts.begin(), told.parts.end(), has))
    return {};
  return unknown_limit(limit);
}

limit_keys_page merge_limit_keys(
  const limit_address& limit, told_parts<limits_part> told, std::size_t most) {
  limit_keys_page page{limit, {}, false, std::move(told.missing)};
  // A shard that has more keys says nothing of those after its last one.
  std::optional<std::string> end;
  for (auto& part : told.parts) {
    if (part.more && !part.keys.empty() && (!end || part.keys.back().key < *end))
      end = part.keys.back().key;
    std::move(part.keys.begin(), part.keys.end(), std::back_inserter(page.keys));
  }
  std::sort(page.keys.begin(), page.keys.end(), [](const auto& a, const auto& b) {
    return a.key < b.key;
  });
  join_equal(page.keys);
  auto is_unsure = [&](const limit_key_info& one) { return end && one.key > *end; };
  std::erase_if(page.keys, is_unsure);
  page.more = end || page.keys.size() > most;
  page.keys.resize(std::min(page.keys.size(), most));
  return page;
}

result<limit_key_info> only_key(result<limits_part> part) {
  if (!part)
    return part.error();
  if (part->keys.size() != 1)
    return error{errc::protocol_error, "an answer without a limit key"};
  return std::move(part->keys.front());
}

} // namespace codeq::client
