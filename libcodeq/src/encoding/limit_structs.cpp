// SPDX-License-Identifier: Apache-2.0
#include "encoding/limit_structs.hpp"

#include <cstddef>
#include <utility>

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

namespace {

task_limit read_use(schema::TaskLimit::Reader from) {
  auto name = from.getName();
  auto key = from.getKey().asChars();
  return {{name.cStr(), name.size()}, {key.begin(), key.size()}, from.getCost()};
}

void write_use(schema::TaskLimit::Builder to, const task_limit& use) {
  to.setName({use.name.data(), use.name.size()});
  if (!use.key.empty())
    to.setKey({reinterpret_cast<const kj::byte*>(use.key.data()), use.key.size()});
  to.setCost(use.cost);
}

} // namespace

std::vector<task_limit> read_limits(capnp::List<schema::TaskLimit>::Reader reader) {
  std::vector<task_limit> uses;
  for (auto from : reader)
    uses.push_back(read_use(from));
  return uses;
}

void write_limits(
  capnp::List<schema::TaskLimit>::Builder builder, const std::vector<task_limit>& uses) {
  capnp::uint i = 0;
  for (const auto& use : uses)
    write_use(builder[i++], use);
}

std::vector<queue_limit> read_queue_limits(capnp::List<schema::QueueLimit>::Reader reader) {
  std::vector<queue_limit> all;
  for (auto from : reader) {
    auto use = read_use(from.getLimit());
    auto header = from.getHeader();
    all.push_back(
      {std::move(use.name), std::move(use.key), use.cost, {header.cStr(), header.size()}});
  }
  return all;
}

void write_queue_limits(
  capnp::List<schema::QueueLimit>::Builder builder, const std::vector<queue_limit>& all) {
  capnp::uint i = 0;
  for (const auto& one : all) {
    auto to = builder[i++];
    write_use(to.initLimit(), {one.name, one.key, one.cost});
    if (!one.header.empty())
      to.setHeader({one.header.data(), one.header.size()});
  }
}

std::size_t limit_words(const std::vector<queue_limit>& all) {
  constexpr std::size_t struct_words = 16;
  std::size_t words = all.empty() ? 0 : 1;
  for (const auto& one : all)
    words += struct_words
             + (one.name.size() + one.key.size() + one.header.size()) / sizeof(capnp::word);
  return words;
}

std::size_t limit_words(const std::vector<task_limit>& uses) {
  constexpr std::size_t struct_words = 8;
  std::size_t words = uses.empty() ? 0 : 1;
  for (const auto& use : uses)
    words += struct_words + (use.name.size() + use.key.size()) / sizeof(capnp::word);
  return words;
}

} // namespace codeq::encoding
