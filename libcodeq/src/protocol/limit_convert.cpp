// SPDX-License-Identifier: Apache-2.0
#include "protocol/limit_convert.hpp"

#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/error_code.hpp"
#include "protocol/shared_data.hpp"

#include <string>
#include <utility>

namespace codeq::protocol {

namespace {

struct asked_limit {
  core::peer_id peer;
  std::uint64_t number;
  limit_address limit;
};

result<core::limit_part> read_part(schema::LimitRequest::Page::Reader from) {
  auto after = from.getAfter();
  if (auto ok = check_size("after", after.size(), limits::limit_key_bytes_max); !ok)
    return ok.error();
  if (auto ok = check_count("limit", from.getLimit(), 1, limits::limits_page_max); !ok)
    return ok.error();
  return core::limit_part{string_of(after), from.getLimit(), from.getFromStart()};
}

result<limit_question>
read_set(schema::LimitRule::Reader from, asked_limit asked, bool is_dry_run) {
  auto definition = encoding::read_rule(from);
  if (auto ok = check_definition(definition); !ok)
    return ok.error();
  return limit_question{core::set_limit{
    asked.peer, asked.number, std::move(asked.limit), definition, is_dry_run}};
}

result<limit_question> read_list(schema::LimitRequest::Page::Reader from, asked_limit asked) {
  auto part = read_part(from);
  if (!part)
    return part.error();
  asked.limit.name.clear();
  return limit_question{
    core::list_limits{asked.peer, asked.number, std::move(asked.limit), std::move(*part)}};
}

result<limit_question> read_keys(schema::LimitRequest::Page::Reader from, asked_limit asked) {
  auto part = read_part(from);
  if (!part)
    return part.error();
  return limit_question{core::list_limit_keys{
    asked.peer, asked.number, std::move(asked.limit), std::move(*part), from.getBusy()}};
}

/// Closes or opens a key, which must be of this shard.
result<limit_question>
read_close(capnp::Data::Reader key, std::uint64_t for_ms, asked_limit asked, shard_place place) {
  if (auto ok = check_size("key", key.size(), limits::limit_key_bytes_max); !ok)
    return ok.error();
  duration closed_for{static_cast<duration::rep>(for_ms)};
  if (auto ok = check_duration(
        "the time for which a key is closed", closed_for, duration{0}, limits::limit_closed_max);
      !ok)
    return ok.error();
  task_limit use{asked.limit.name, string_of(key), 1};
  auto owner = core::shard_of_limit_key(asked.limit.tenant, use, place.shard_count);
  if (owner != place.shard)
    return out_of_range(
      "the shard of a limit key",
      std::to_string(value(place.shard)),
      std::to_string(value(owner)) + " of " + std::to_string(place.shard_count));
  return limit_question{core::close_limit_key{
    asked.peer, asked.number, std::move(asked.limit), std::move(use.key), closed_for}};
}

result<limit_question> read_limit_request(schema::LimitRequest::Reader from, const asked_at& by) {
  auto peer = by.peer;
  asked_limit asked{
    peer,
    from.getNumber(),
    {encoding::read_text(from.getTenant()), encoding::read_text(from.getName())}};
  if (auto ok = check_name("tenant", asked.limit.tenant); !ok)
    return ok.error();
  if (!from.isList())
    if (auto ok = check_name("limit", asked.limit.name); !ok)
      return ok.error();
  switch (from.which()) {
  case schema::LimitRequest::SHOW:
    return limit_question{core::list_limits{peer, asked.number, std::move(asked.limit)}};
  case schema::LimitRequest::LIST:
    return read_list(from.getList(), std::move(asked));
  case schema::LimitRequest::SET:
    return read_set(from.getSet(), std::move(asked), false);
  case schema::LimitRequest::DRY_RUN:
    return read_set(from.getDryRun(), std::move(asked), true);
  case schema::LimitRequest::DELETE:
    return limit_question{core::set_limit{peer, asked.number, std::move(asked.limit)}};
  case schema::LimitRequest::KEYS:
    return read_keys(from.getKeys(), std::move(asked));
  case schema::LimitRequest::CLOSE: {
    auto close = from.getClose();
    if (close.getForMs() == 0)
      return out_of_range("the time for which a key is closed", "0 ms", "at least 1 ms");
    return read_close(close.getKey(), close.getForMs(), std::move(asked), by.place);
  }
  case schema::LimitRequest::OPEN:
    return read_close(from.getOpen(), 0, std::move(asked), by.place);
  }
  return error{errc::unsupported, "this version does not know the request about a limit"};
}

void write_limit(schema::LimitReply::Limit::Builder to, const limit_info& from) {
  to.setName({from.limit.name.data(), from.limit.name.size()});
  encoding::write_rule(to.initRule(), from.definition);
  to.setLeased(from.leased);
  to.setHeld(from.held);
  to.setKeys(from.keys);
  to.setKeysAbove(from.keys_above);
}

void write_key(schema::LimitReply::Key::Builder to, const limit_key_info& from) {
  to.setKey(data_of(from.key));
  to.setLeased(from.leased);
  to.setHeld(from.held);
  to.setHasNextStart(from.next_start.has_value());
  to.setNextStartMs(from.next_start.value_or(timestamp{}).time_since_epoch().count());
  to.setClosedUntilMs(from.closed_until.time_since_epoch().count());
}

void write_waiting(schema::LimitReply::Waiting::Builder to, const core::limit_key_forecast& from) {
  to.setKey(data_of(from.key));
  to.setTasks(from.tasks);
  to.setHasRoom(from.room.has_value());
  to.setRoom(from.room.value_or(0));
}

} // namespace

result<limit_question> to_command(const limit_request& message, asked_at by) {
  return message.read([&](auto reader) { return read_limit_request(reader, by); });
}

limit_reply make_limit_reply(const core::limits_answered& answer) {
  constexpr std::size_t limit_words = 40;
  constexpr std::size_t key_words = 12;
  std::size_t words = 64 + answer.limits.size() * limit_words;
  for (const auto& key : answer.keys)
    words += key_words + key.key.size() / sizeof(capnp::word);
  for (const auto& one : answer.waiting)
    words += key_words + one.key.size() / sizeof(capnp::word);
  return limit_reply::build(
    [&](auto r) {
      r.setNumber(answer.number);
      r.setCode(to_schema(answer.allowed.error().code));
      const auto& context = answer.allowed.error().context;
      r.setContext({context.data(), context.size()});
      r.setMore(answer.more);
      auto all = r.initLimits(static_cast<capnp::uint>(answer.limits.size()));
      for (capnp::uint i = 0; i < all.size(); ++i)
        write_limit(all[i], answer.limits[i]);
      auto keys = r.initKeys(static_cast<capnp::uint>(answer.keys.size()));
      for (capnp::uint i = 0; i < keys.size(); ++i)
        write_key(keys[i], answer.keys[i]);
      auto waiting = r.initWaiting(static_cast<capnp::uint>(answer.waiting.size()));
      for (capnp::uint i = 0; i < waiting.size(); ++i)
        write_waiting(waiting[i], answer.waiting[i]);
      r.setAllWaiting(answer.has_all_waiting);
      r.setOutOfKeys(answer.is_out_of_keys);
    },
    words);
}

} // namespace codeq::protocol
