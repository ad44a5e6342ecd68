// SPDX-License-Identifier: Apache-2.0
#include "encoding/limit_structs.hpp"
#include "record.capnp.h"
#include "storage/records/record_build.hpp"
#include "storage/records/record_codec.hpp"

namespace codeq::storage {

namespace {

/// False for a definition that no operator can have set.
bool is_valid_limit(const limit_definition& definition) {
  if (definition.concurrency && *definition.concurrency > limits::limit_concurrency_max)
    return false;
  const auto& rate = definition.rate;
  if (!rate)
    return definition.concurrency.has_value();
  return rate->count <= limits::limit_rate_count_max && rate->burst >= 1
         && rate->burst <= limits::limit_rate_count_max
         && rate->period >= limits::limit_rate_period_min
         && rate->period <= limits::limit_rate_period_max;
}

} // namespace

std::string encode(const core::limit_defined& e) {
  return build<schema::LimitRecord>(small_words, [&](auto r) {
    r.setAtMs(ms_of(e.at));
    encoding::write_rule(r.initRule(), *e.definition);
  });
}

result<core::limit_defined> decode_limit(std::string_view value, const limit_address& limit) {
  return parse<schema::LimitRecord>(value, [&](auto r) -> result<core::limit_defined> {
    core::limit_defined e;
    e.at = time_of(r.getAtMs());
    e.limit = limit;
    e.definition = encoding::read_rule(r.getRule());
    if (!is_valid_limit(*e.definition))
      return mismatch("a limit without a valid definition");
    return e;
  });
}

std::string encode(const limit_key_record& record) {
  return build<schema::LimitKeyRecord>(small_words, [&](auto r) {
    r.setAtMs(ms_of(record.at));
    r.setPaidAtNs(record.paid_at);
    r.setClosedUntilMs(ms_of(record.closed_until));
    r.setUsedUpAtMs(ms_of(record.used_up_at));
  });
}

result<limit_key_record> decode_limit_key(std::string_view value) {
  return parse<schema::LimitKeyRecord>(value, [](auto r) -> result<limit_key_record> {
    limit_key_record record;
    record.at = time_of(r.getAtMs());
    record.paid_at = r.getPaidAtNs();
    record.closed_until = time_of(r.getClosedUntilMs());
    record.used_up_at = time_of(r.getUsedUpAtMs());
    if (record.paid_at < 0 || record.closed_until < timestamp{})
      return mismatch("a limit key whose times are before 1970");
    return record;
  });
}

std::string encode(const permit_record& record) {
  auto words = small_words + encoding::limit_words(record.what.uses);
  return build<schema::PermitRecord>(words, [&](auto r) {
    r.setAtMs(ms_of(record.at));
    r.setTenant(record.what.tenant);
    encoding::write_limits(
      r.initUses(static_cast<capnp::uint>(record.what.uses.size())), record.what.uses);
    r.setPriority(record.what.priority);
    r.setSession(record.session);
    r.setHeard(record.heard);
    r.setBooked(record.what.booked);
    r.setGranted(record.what.granted);
  });
}

result<permit_record> decode_permit(std::string_view value, std::uint64_t number) {
  return parse<schema::PermitRecord>(value, [&](auto r) -> result<permit_record> {
    permit_record record;
    record.at = time_of(r.getAtMs());
    record.what.number = number;
    record.what.tenant = r.getTenant().cStr();
    record.what.uses = encoding::read_limits(r.getUses());
    record.what.priority = r.getPriority();
    record.session = r.getSession();
    record.heard = r.getHeard();
    record.what.booked = r.getBooked();
    record.what.granted = r.getGranted();
    bool has_uses = !record.what.uses.empty();
    if (!is_valid(record.what.uses) || has_uses != (number != 0))
      return mismatch("a permit without valid limits");
    return record;
  });
}

} // namespace codeq::storage
