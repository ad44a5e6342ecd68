// SPDX-License-Identifier: Apache-2.0
#include "schedule/timetable.hpp"
#include "schedule/zone_file.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace codeq;

constexpr timestamp now{std::chrono::hours{24 * 365 * 56}};

void require(bool is_sound) {
  if (!is_sound)
    std::abort();
}

/// The first occurrences follow each other, and other ways to find them agree.
void walk(const schedule::timetable& times) {
  auto begin = times.mark_at(now);
  auto first = times.next_after(begin);
  if (!first)
    return;
  auto last = *first;
  std::uint64_t number = 1;
  for (; number < 20; ++number) {
    auto next = times.next_after(last.nominal);
    if (!next)
      break;
    require(next->due > last.due && next->nominal > last.nominal);
    last = *next;
  }
  require(times.count(first->due, last.due + duration{1}) == number);
  require(times.last_of(first->due, last.due + duration{1}, 1) == std::vector{last});
}

void read_rule(std::string_view text) {
  auto rule = schedule::parse_rule(text);
  if (!rule)
    return;
  auto again = schedule::parse_rule(schedule::to_string(*rule));
  require(again && *again == *rule);
  auto zone =
    std::make_shared<const schedule::time_zone>(schedule::zone_without_file("UTC").value());
  if (auto times = schedule::timetable::make(*rule, std::move(zone), "fuzz"))
    walk(*times);
}

void read_zone(std::string_view bytes) {
  auto zone = schedule::decode_zone_file("Test/Zone", bytes);
  if (!zone)
    return;
  auto shared = std::make_shared<const schedule::time_zone>(std::move(*zone));
  for (const char* line : {"*/20 * * * *; fold=both", "30 2 * * *; gap=skip; fold=last"})
    if (auto times = schedule::timetable::make(schedule::parse_rule(line).value(), shared, "fuzz"))
      walk(*times);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty())
    return 0;
  if (text.front() == 'z')
    read_zone(text.substr(1));
  else
    read_rule(text.substr(1));
  return 0;
}
