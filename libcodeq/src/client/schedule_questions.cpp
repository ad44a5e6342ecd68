// SPDX-License-Identifier: Apache-2.0
#include "client/schedule_questions.hpp"

#include "protocol/schedule_convert.hpp"
#include "protocol/shared_data.hpp"

#include <utility>

namespace codeq::client {

namespace {

using protocol::text_of;

/// A request for a schedule; `what` sets the member of the union.
template <class What>
question ask_for(const schedule_place& at, What what) {
  return [at, what = std::move(what)](std::uint64_t number) {
    return protocol::schedule_request::build([&](auto request) {
             request.setNumber(number);
             request.setShard(at.shard);
             request.setTenant(text_of(at.name.tenant));
             request.setName(text_of(at.name.name));
             what(request);
           })
      .to_wire();
  };
}

using spec_frame = protocol::frame<schema::ScheduleSpec>;

/// Copies a spec into a request.
template <class Set>
void copy_spec(const spec_frame& spec, Set set) {
  auto copied = spec.read([&](auto from) -> result<void> {
    set(from);
    return {};
  });
  // It was built here.
  static_cast<void>(copied);
}

} // namespace

schedule_place place_of(const schedule_address& name, std::uint16_t shard_count) {
  return {value(protocol::shard_of_schedule(name, shard_count)), name};
}

result<question> ask_set_schedule(const schedule_place& at, const schedule_spec& spec) {
  auto built = protocol::encode_spec(spec, at.name.tenant);
  if (!built)
    return built.error();
  return ask_for(at, [spec = std::move(*built)](auto request) {
    copy_spec(spec, [&](auto from) { request.setSet(from); });
  });
}

question ask_change_schedule(const schedule_place& at, schedule_action what) {
  return ask_for(at, [what](auto request) {
    switch (what) {
    case schedule_action::pause:
      return request.setPause();
    case schedule_action::resume:
      return request.setResume();
    case schedule_action::remove:
      return request.setDelete();
    case schedule_action::run:
      return request.setRun();
    }
  });
}

question ask_backfill_schedule(const schedule_place& at, timestamp from, timestamp until) {
  return ask_for(at, [from, until](auto request) {
    auto range = request.initBackfill();
    range.setFromMs(from.time_since_epoch().count());
    range.setUntilMs(until.time_since_epoch().count());
  });
}

question ask_schedule(const schedule_place& at, std::uint32_t next) {
  return ask_for(at, [next](auto request) { request.initNext().setCount(next); });
}

result<question>
ask_preview_schedule(const schedule_place& at, const schedule_spec& spec, std::uint32_t count) {
  auto built = protocol::encode_spec(spec, at.name.tenant);
  if (!built)
    return built.error();
  return ask_for(at, [spec = std::move(*built), count](auto request) {
    auto preview = request.initNext();
    preview.setCount(count);
    copy_spec(spec, [&](auto from) { preview.setSpec(from); });
  });
}

question ask_schedule_history(const schedule_place& at) {
  return ask_for(at, [](auto request) { request.setHistory(); });
}

question ask_schedules(const schedule_place& at, std::uint32_t limit) {
  schedule_place all{at.shard, {at.name.tenant, {}}};
  return ask_for(all, [after = at.name.name, limit](auto request) {
    auto page = request.initList();
    page.setAfter(text_of(after));
    page.setLimit(limit);
  });
}

} // namespace codeq::client
