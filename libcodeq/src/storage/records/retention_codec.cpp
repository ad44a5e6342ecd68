// SPDX-License-Identifier: Apache-2.0
#include "storage/records/retention_codec.hpp"

#include "record.capnp.h"
#include "storage/records/record_build.hpp"

namespace codeq::storage {

std::string encode_death(const core::lease_end& end, timestamp at) {
  auto words = small_words + end.text.size() / sizeof(capnp::word);
  return build<schema::DeadRecord>(words, [&](auto r) {
    r.setAtMs(ms_of(at));
    r.setAttempt(end.attempt);
    r.setToken(value(end.token));
    auto text = end.text.view();
    r.setText({reinterpret_cast<const kj::byte*>(text.data()), text.size()});
  });
}

result<dead_record> decode_death(std::string_view value) {
  return parse<schema::DeadRecord>(value, [](auto r) -> result<dead_record> {
    auto text = r.getText().asChars();
    return dead_record{
      time_of(r.getAtMs()),
      r.getAttempt(),
      static_cast<fencing_token>(r.getToken()),
      bytes(std::string(text.begin(), text.size()))};
  });
}

result<record_lifetime> decode_outcome_lifetime(std::string_view value) {
  return parse<schema::OutcomeRecord>(value, [](auto r) -> result<record_lifetime> {
    return record_lifetime{r.getPosition(), time_of(r.getAtMs()), duration_of(r.getRetentionMs())};
  });
}

result<record_lifetime> decode_fate_lifetime(std::string_view value) {
  return parse<schema::FateRecord>(value, [](auto r) -> result<record_lifetime> {
    return record_lifetime{
      r.getPosition(), time_of(r.getClosedAtMs()), duration_of(r.getRetentionMs())};
  });
}

} // namespace codeq::storage
