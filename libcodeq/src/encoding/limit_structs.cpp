// SPDX-License-Identifier: Apache-2.0
#include "encoding/limit_structs.hpp"

#include <cstddef>

namespace codeq::encoding {

limit_definition read_rule(schema::LimitRule::Reader reader) {
  limit_definition definition;
  if (reader.getHasConcurrency())
    definition.concurrency = reader.getConcurrency();
  if (reader.getRateCount() != 0)
    definition.rate = start_rate{
      reader.getRateCount(),
      duration{static_cast<duration::rep>(reader.getRatePeriodMs())},
      reader.getRateBurst()};
  return definition;
}

void write_rule(schema::LimitRule::Builder builder, const limit_definition& definition) {
  builder.setHasConcurrency(definition.concurrency.has_value());
  builder.setConcurrency(definition.concurrency.value_or(0));
  if (!definition.rate)
    return;
  builder.setRateCount(definition.rate->count);
  builder.setRatePeriodMs(static_cast<std::uint64_t>(definition.rate->period.count()));
  builder.setRateBurst(definition.rate->burst);
}

std::vector<task_limit> read_limits(capnp::List<schema::TaskLimit>::Reader reader) {
  std::vector<task_limit> uses;
  for (auto from : reader) {
    auto name = from.getName();
    auto key = from.getKey().asChars();
    uses.push_back({{name.cStr(), name.size()}, {key.begin(), key.size()}, from.getCost()});
  }
  return uses;
}

void write_limits(
  capnp::List<schema::TaskLimit>::Builder builder, const std::vector<task_limit>& uses) {
  capnp::uint i = 0;
  for (const auto& use : uses) {
    auto to = builder[i++];
    to.setName({use.name.data(), use.name.size()});
    if (!use.key.empty())
      to.setKey({reinterpret_cast<const kj::byte*>(use.key.data()), use.key.size()});
    to.setCost(use.cost);
  }
}

std::size_t limit_words(const std::vector<task_limit>& uses) {
  constexpr std::size_t struct_words = 8;
  std::size_t words = uses.empty() ? 0 : 1;
  for (const auto& use : uses)
    words += struct_words + (use.name.size() + use.key.size()) / sizeof(capnp::word);
  return words;
}

} // namespace codeq::encoding
