// SPDX-License-Identifier: Apache-2.0
#include "client/limit_questions.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/limit_json.hpp"
#include "http/routes/route_steps.hpp"

#include <array>
#include <memory>
#include <optional>
#include <utility>

/// Limits: admins change them, readers see them.
namespace codeq::http {

namespace {

using limit_parts = std::vector<client::limits_part>;

/// Answers a refusal; the path names a limit that there may not be.
void refuse_limit(const exchange_ptr& call, const error& reason) {
  constexpr unsigned not_found = 404;
  if (reason.code != errc::unknown_limit)
    return call->answer(refusal_of(reason));
  call->answer(refusal(
    not_found,
    "limit not found: " + reason.context + "; PUT /v1/codeq/admin/limits/" + call->arguments[0]
      + " defines it"));
}

/// The limit that the path names; answers when no limit can have that name.
std::optional<limit_address> limit_meant(const exchange_ptr& call) {
  limit_address limit{call->by->tenant, call->arguments[0]};
  if (is_valid_name(limit.name))
    return limit;
  refuse_limit(
    call,
    {errc::invalid_argument,
     describe_value(
       "'name'", quote(limit.name), "1 to 128 characters of A-Z, a-z, 0-9, '.', '_' and '-'")});
  return std::nullopt;
}

/// The key that the path names; the empty one when it names none. Answers when no key can be that
/// long.
std::optional<std::string> key_meant(const exchange_ptr& call) {
  auto key = call->arguments.size() > 1 ? call->arguments[1] : std::string();
  if (key.size() <= limits::limit_key_bytes_max)
    return key;
  refuse_limit(
    call,
    {errc::too_large,
     describe_value(
       "'key'",
       std::to_string(key.size()) + " bytes",
       "at most " + std::to_string(limits::limit_key_bytes_max))});
  return std::nullopt;
}

using told_limits = client::told_parts<client::limits_part>;
using question_of_shard = std::function<client::question(std::uint16_t shard)>;

/// Asks one shard. The part of one that does not have the limit is empty.
auto ask_with(
  gateway_context& context, const question_of_shard& question_of, const core::origin_ptr& origin) {
  using told = shard_desk::then<client::limits_part>;
  return [&context, question_of, origin](std::uint16_t shard, const told& take) {
    context.desk.ask<client::limits_part>(
      shard,
      question_of(shard),
      &client::read_limits,
      [take](result<client::limits_part> part) { take(client::or_absent(std::move(part))); },
      origin);
  };
}

/// Asks every shard for a change.
void change_limit_parts(
  gateway_context& context,
  const question_of_shard& question_of,
  shard_desk::then<limit_parts> done,
  const core::origin_ptr& origin) {
  gather_from_shards<client::limits_part>(
    context, ask_with(context, question_of, origin), std::move(done), asking::zero_first);
}

/// Asks every shard; a header of the response says how many have not answered.
void read_limit_parts(
  gateway_context& context,
  const exchange_ptr& call,
  const question_of_shard& question_of,
  shard_desk::then<told_limits> done,
  client::first_shard first = client::first_shard::optional) {
  read_from_shards<client::limits_part>(
    context, call, ask_with(context, question_of, {}), std::move(done), first);
}

/// Answers with a limit, or why there is none.
void answer_limit(const exchange_ptr& call, const result<limit_info>& whole) {
  if (!whole)
    return refuse_limit(call, whole.error());
  base::json_writer json;
  write_limit(json, *whole);
  call->answer(reply(200, json));
}

/// Answers with what `merge` makes of the shards' parts.
shard_desk::then<limit_parts> answer_merged(
  const exchange_ptr& call, const std::function<result<limit_info>(const limit_parts&)>& merge) {
  return [call, merge](const result<limit_parts>& parts) {
    answer_limit(call, parts ? merge(*parts) : result<limit_info>(parts.error()));
  };
}

/// The same for the shards that answered; the limit names the others.
shard_desk::then<told_limits> answer_told(
  const exchange_ptr& call, const std::function<result<limit_info>(const limit_parts&)>& merge) {
  return [call, merge](const result<told_limits>& told) {
    answer_limit(
      call,
      told ? client::without(told->missing, merge(told->parts)) : result<limit_info>(told.error()));
  };
}

void show_limit(gateway_context& context, const exchange_ptr& call) {
  auto limit = limit_meant(call);
  if (!limit)
    return;
  auto question_of = [limit = *limit](std::uint16_t shard) {
    return client::ask_limit(shard, limit);
  };
  auto merge = [limit = *limit](const limit_parts& parts) {
    return client::merge_limit(limit, parts);
  };
  read_limit_parts(
    context, call, question_of, answer_told(call, merge), client::first_shard::required);
}

/// Answers with what the change would do; nothing is changed.
void preview_limit(
  gateway_context& context, const exchange_ptr& call, const client::limit_change& change) {
  auto question_of = [change](std::uint16_t shard) { return client::ask_set_limit(shard, change); };
  auto merge = [change](const limit_parts& parts) { return client::merge_preview(change, parts); };
  read_from_shards<client::limits_part>(
    context,
    call,
    ask_with(context, question_of, origin_of(context, *call)),
    answer_told(call, merge),
    client::first_shard::required);
}

void set_limit(gateway_context& context, const exchange_ptr& call) {
  auto limit = limit_meant(call);
  if (!limit)
    return;
  auto definition = make_limit(call->fields->body);
  if (!definition)
    return refuse_limit(call, definition.error());
  bool is_dry = call->fields->query.flag("dryRun").value_or(false);
  client::limit_change change{*limit, *definition, is_dry};
  if (is_dry)
    return preview_limit(context, call, change);
  auto question_of = [change](std::uint16_t shard) { return client::ask_set_limit(shard, change); };
  auto merge = [change](const limit_parts& parts) {
    return client::merge_limit(change.limit, parts);
  };
  change_limit_parts(context, question_of, answer_merged(call, merge), origin_of(context, *call));
}

void remove_limit(gateway_context& context, const exchange_ptr& call) {
  auto limit = limit_meant(call);
  if (!limit)
    return;
  auto limit_of = [limit = *limit](std::uint16_t shard) { return client::ask_limit(shard, limit); };
  auto deletion_of = [limit = *limit](std::uint16_t shard) {
    return client::ask_delete_limit(shard, limit);
  };
  auto delete_counted = [&context, call, limit = *limit, deletion_of](
                          const result<limit_parts>& parts) {
    auto before = parts ? client::merge_limit(limit, *parts) : parts.error();
    if (!before && before.error().code == errc::unknown_limit)
      return refuse_limit(call, before.error());
    // A shard that is away refuses the count; the others are told of the change all the same.
    auto merge = [limit, before](const limit_parts& deleted) {
      auto whole = client::merge_limit(limit, deleted);
      if (whole && before)
        client::count_before(*whole, *before);
      return whole;
    };
    change_limit_parts(
      context, deletion_of, answer_merged(call, merge), origin_of(context, *call));
  };
  gather_from_shards<client::limits_part>(
    context, ask_with(context, limit_of, {}), delete_counted, asking::all);
}

void list_limits(gateway_context& context, const exchange_ptr& call) {
  auto tenant = call->by->tenant;
  auto question_of = [tenant](std::uint16_t shard) { return client::ask_limits(shard, tenant); };
  read_limit_parts(context, call, question_of, [call, tenant](const result<told_limits>& told) {
    if (!told)
      return refuse_limit(call, told.error());
    base::json_writer json;
    json.begin_object().begin_array("limits");
    for (const auto& one : client::merge_limits(tenant, *told).limits)
      write_limit(json, one);
    json.end_array().end_object();
    call->answer(reply(200, json));
  });
}

limit_keys_request page_meant(const input& query) {
  limit_keys_request page;
  if (query.has("after"))
    page.after = query.text("after");
  if (auto most = query.integer("limit"))
    page.limit = static_cast<std::size_t>(*most);
  page.only_busy = query.flag("busy").value_or(false);
  return page;
}

void list_keys(gateway_context& context, const exchange_ptr& call) {
  auto limit = limit_meant(call);
  if (!limit)
    return;
  auto page = page_meant(call->fields->query);
  auto show_keys = [&context, call, limit = *limit, most = page.limit](result<told_limits> told) {
    if (!told)
      return refuse_limit(call, told.error());
    base::json_writer json;
    auto keys = client::merge_limit_keys(limit, std::move(*told), most);
    write_limit_keys(json, keys, context.desk.now());
    call->answer(reply(200, json));
  };
  auto keys_of = [limit = *limit, page](std::uint16_t shard) {
    return client::ask_limit_keys(shard, limit, page);
  };
  auto limit_of = [limit = *limit](std::uint16_t shard) { return client::ask_limit(shard, limit); };
  // A limit without keys in use differs from one that does not exist.
  gather_each_from_shards<client::limits_part>(
    context,
    ask_with(context, limit_of, {}),
    [&context, call, limit = *limit, keys_of, show_keys](
      std::vector<result<client::limits_part>> all) {
      auto told = client::without_silent(std::move(all));
      auto exists = told ? client::check_exists(limit, *told) : result<void>(told.error());
      if (!exists)
        return refuse_limit(call, exists.error());
      read_limit_parts(context, call, keys_of, show_keys);
    });
}

/// Passes on what a shard tells, or `timeout` when it has told nothing for `most`.
shard_desk::then<client::limits_part> within(
  gateway_context& context, duration most, const shard_desk::then<client::limits_part>& take) {
  auto is_over = std::make_shared<bool>(false);
  auto once = [is_over, take](result<client::limits_part> part) {
    if (!std::exchange(*is_over, true))
      take(std::move(part));
  };
  context.desk.after(most, [once] { once(error{errc::timeout, "the shard has told nothing"}); });
  return once;
}

/// Adds the tasks of the other shards that wait for the key to what its owner, `owner`, has
/// answered, and answers with the key. A shard that does not answer soon is named: the change is
/// made, so that it must not take the time of its answer.
void answer_with_waiting(
  gateway_context& context,
  const exchange_ptr& call,
  const limit_address& limit,
  std::uint16_t owner,
  const limit_key_info& owned) {
  using told = shard_desk::then<client::limits_part>;
  constexpr duration wait_max{500};
  auto ask = [&context, limit, owner, key = owned.key](std::uint16_t shard, const told& take) {
    if (shard == owner)
      return take(client::limits_part{});
    auto once = within(context, wait_max, take);
    context.desk.ask<client::limits_part>(
      shard,
      client::ask_limit_key(shard, limit, key),
      &client::read_limits,
      [once](result<client::limits_part> part) { once(client::or_absent(std::move(part))); });
  };
  auto finish = [&context, call, owned](const std::vector<result<client::limits_part>>& parts) {
    auto whole = owned;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i])
        client::add_waiting(whole, *parts[i]);
      else
        whole.missing.push_back(shard_id{static_cast<std::uint16_t>(i)});
    base::json_writer json;
    write_limit_key(json, whole, context.desk.now());
    call->answer(reply(200, json));
  };
  gather_each_from_shards<client::limits_part>(context, ask, finish);
}

/// Asks the shard of a key for a change, and answers with the key.
void change_key(
  gateway_context& context,
  const exchange_ptr& call,
  const limit_address& limit,
  std::uint16_t shard,
  const client::question& question) {
  context.desk.ask<client::limits_part>(
    shard,
    question,
    &client::read_limits,
    [&context, call, limit, shard](result<client::limits_part> part) {
      auto key = client::only_key(std::move(part));
      if (!key)
        return refuse_limit(call, key.error());
      answer_with_waiting(context, call, limit, shard, *key);
    },
    origin_of(context, *call));
}

void close_key(gateway_context& context, const exchange_ptr& call) {
  auto limit = limit_meant(call);
  auto key = limit ? key_meant(call) : std::nullopt;
  if (!key)
    return;
  auto shard = client::shard_of_key(*limit, *key, context.desk.shard_count());
  auto how_long = *call->fields->body.period("seconds");
  auto question = client::ask_close_key(shard, *limit, *key, how_long);
  change_key(context, call, *limit, shard, question);
}

void open_key(gateway_context& context, const exchange_ptr& call) {
  auto limit = limit_meant(call);
  auto key = limit ? key_meant(call) : std::nullopt;
  if (!key)
    return;
  auto shard = client::shard_of_key(*limit, *key, context.desk.shard_count());
  change_key(context, call, *limit, shard, client::ask_open_key(shard, *limit, *key));
}

constexpr auto set_limit_parameters =
  std::to_array<input_field>({{.name = "dryRun", .type = input_type::flag}});

constexpr auto keys_parameters = std::to_array<input_field>({
  {.name = "busy", .type = input_type::flag},
  {.name = "after", .range = at_most(limits::limit_key_bytes_max)},
  {.name = "limit", .type = input_type::integer, .range = {1, limits::limits_page_max}},
});

constexpr std::array<route, 9> limit_table{{
  {.method = "GET",
   .pattern = "admin/limits",
   .who = access::inspect,
   .rate = "admin",
   .run = &list_limits},
  {.method = "GET",
   .pattern = "admin/limits/:",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_limit},
  {.method = "PUT",
   .pattern = "admin/limits/:",
   .who = access::admin,
   .rate = "admin",
   .run = &set_limit,
   .fields = {.query = set_limit_parameters, .body = {limit_fields}, .need = body_need::required}},
  {.method = "DELETE",
   .pattern = "admin/limits/:",
   .who = access::admin,
   .rate = "admin",
   .run = &remove_limit},
  {.method = "GET",
   .pattern = "admin/limits/:/keys",
   .who = access::inspect,
   .rate = "admin",
   .run = &list_keys,
   .fields = {.query = keys_parameters}},
  {.method = "POST",
   .pattern = "admin/limits/:/keys/:/close",
   .who = access::admin,
   .rate = "admin",
   .run = &close_key,
   .fields = {.body = {close_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "admin/limits/:/keys/:/open",
   .who = access::admin,
   .rate = "admin",
   .run = &open_key},
  // The key of the tasks that give none.
  {.method = "POST",
   .pattern = "admin/limits/:/close",
   .who = access::admin,
   .rate = "admin",
   .run = &close_key,
   .fields = {.body = {close_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "admin/limits/:/open",
   .who = access::admin,
   .rate = "admin",
   .run = &open_key},
}};

} // namespace

std::span<const route> limit_routes() {
  return limit_table;
}

} // namespace codeq::http
