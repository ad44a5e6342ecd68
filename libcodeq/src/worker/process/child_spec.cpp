// SPDX-License-Identifier: Apache-2.0
#include "worker/process/child_spec.hpp"

#include "protocol/shared_data.hpp"

namespace codeq::worker {

namespace {

using protocol::data_of;
using protocol::string_of;

constexpr std::int64_t left_out = -1;

std::int64_t milliseconds(const std::optional<duration>& time) {
  return time ? time->count() : left_out;
}

std::optional<duration> duration_of(std::int64_t milliseconds) {
  return milliseconds < 0 ? std::nullopt : std::optional(duration{milliseconds});
}

void write_headers(
  schema::FromChild::FollowUp::Builder to, const std::map<std::string, std::string>& headers) {
  auto list = to.initHeaders(static_cast<unsigned>(headers.size()));
  unsigned next = 0;
  for (const auto& [name, value] : headers) {
    list[next].setName(data_of(name));
    list[next++].setValue(data_of(value));
  }
}

void write_policies(schema::FromChild::FollowUp::Builder to, const task_spec& spec) {
  if (spec.max_attempts)
    to.setMaxAttempts(*spec.max_attempts);
  if (spec.retry) {
    to.setRetryKind(static_cast<std::int16_t>(spec.retry->kind));
    to.setRetryBaseMs(spec.retry->base.count());
    to.setRetryCapMs(spec.retry->cap.count());
  }
  if (spec.when_dead)
    to.setWhenDead(static_cast<std::int16_t>(*spec.when_dead));
  to.setLeaseMs(milliseconds(spec.lease));
  to.setRunTimeoutMs(milliseconds(spec.run_timeout));
  to.setProgressTimeoutMs(milliseconds(spec.progress_timeout));
  to.setRetentionMs(milliseconds(spec.retention));
  to.setDeadRetentionMs(milliseconds(spec.dead_retention));
}

void read_policies(task_spec& spec, schema::FromChild::FollowUp::Reader from) {
  if (from.getMaxAttempts() >= 0)
    spec.max_attempts = static_cast<std::uint32_t>(from.getMaxAttempts());
  if (from.getRetryKind() >= 0)
    spec.retry = retry_policy{
      static_cast<retry_kind>(from.getRetryKind()),
      duration{from.getRetryBaseMs()},
      duration{from.getRetryCapMs()}};
  if (from.getWhenDead() >= 0)
    spec.when_dead = static_cast<on_dead>(from.getWhenDead());
  spec.lease = duration_of(from.getLeaseMs());
  spec.run_timeout = duration_of(from.getRunTimeoutMs());
  spec.progress_timeout = duration_of(from.getProgressTimeoutMs());
  spec.retention = duration_of(from.getRetentionMs());
  spec.dead_retention = duration_of(from.getDeadRetentionMs());
}

} // namespace

void write_child_limits(
  capnp::List<schema::FromChild::Limit>::Builder to, const std::vector<task_limit>& all) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setName(all[i].name);
    to[i].setKey(data_of(all[i].key));
    to[i].setCost(all[i].cost);
  }
}

std::vector<task_limit>
read_child_limits(capnp::List<schema::FromChild::Limit>::Reader from) {
  std::vector<task_limit> all;
  for (auto one : from)
    all.push_back({one.getName().cStr(), string_of(one.getKey()), one.getCost()});
  return all;
}

void write_spec(schema::FromChild::FollowUp::Builder to, const task_spec& spec) {
  to.setTenant(spec.tenant);
  to.setQueue(spec.queue);
  to.setPayload(data_of(spec.payload));
  to.setPriority(spec.priority);
  to.setDelayMs(spec.delay.count());
  to.setIsAbsolute(spec.not_before.has_value());
  if (spec.not_before)
    to.setNotBeforeMs(spec.not_before->time_since_epoch().count());
  to.setAllowPromotion(spec.allow_promotion);
  write_policies(to, spec);
  write_headers(to, spec.headers);
  to.setGroup(data_of(spec.group));
  to.setKey(data_of(spec.key));
  to.setOnDuplicate(static_cast<std::uint8_t>(spec.duplicate));
  to.setReplacePayload(spec.replace_payload);
  to.setFairnessKey(data_of(spec.fairness_key));
  to.setFairnessWeight(spec.fairness_weight);
  write_child_limits(to.initLimits(static_cast<unsigned>(spec.limits.size())), spec.limits);
}

task_spec read_spec(schema::FromChild::FollowUp::Reader from) {
  task_spec spec;
  spec.tenant = from.getTenant().cStr();
  spec.queue = from.getQueue().cStr();
  spec.payload = string_of(from.getPayload());
  spec.priority = static_cast<int>(from.getPriority());
  spec.delay = duration{from.getDelayMs()};
  if (from.getIsAbsolute())
    spec.not_before = timestamp{duration{from.getNotBeforeMs()}};
  spec.allow_promotion = from.getAllowPromotion();
  read_policies(spec, from);
  for (auto header : from.getHeaders())
    spec.headers.emplace(string_of(header.getName()), string_of(header.getValue()));
  spec.group = string_of(from.getGroup());
  spec.key = string_of(from.getKey());
  spec.duplicate = static_cast<on_duplicate>(from.getOnDuplicate());
  spec.replace_payload = from.getReplacePayload();
  spec.fairness_key = string_of(from.getFairnessKey());
  spec.fairness_weight = from.getFairnessWeight();
  spec.limits = read_child_limits(from.getLimits());
  return spec;
}

} // namespace codeq::worker
