// SPDX-License-Identifier: Apache-2.0
#include "schedule/zone_file.hpp"

#include "schedule/posix_zone.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace codeq::schedule {

namespace {

using std::chrono::seconds;

constexpr std::size_t header_bytes = 44;
constexpr std::size_t type_bytes = 6;

error damaged(const std::string& why) {
  return {errc::corruption, "not a usable zone file: " + why};
}

/// @pre bytes has `count` bytes
std::int64_t big_endian(std::string_view bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (auto byte : bytes.substr(0, count))
    value = value << 8 | static_cast<unsigned char>(byte);
  return count == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
}

/// Numbers of entries in a block of the file.
struct header {
  std::size_t utc_flags = 0;
  std::size_t standard_flags = 0;
  std::size_t leaps = 0;
  std::size_t times = 0;
  std::size_t types = 0;
  std::size_t name_bytes = 0;

  [[nodiscard]] std::size_t block_bytes(std::size_t time_bytes) const {
    return times * (time_bytes + 1) + types * type_bytes + name_bytes
           + leaps * (time_bytes + 4) + standard_flags + utc_flags;
  }
};

result<header> read_header(std::string_view bytes) {
  if (bytes.size() < header_bytes || !bytes.starts_with("TZif"))
    return damaged("it does not begin with the header of one");
  auto count = [&](std::size_t index) {
    return static_cast<std::size_t>(
      static_cast<std::uint32_t>(big_endian(bytes.substr(20 + 4 * index), 4)));
  };
  return header{count(0), count(1), count(2), count(3), count(4), count(5)};
}

/// From an instant on, this offset.
struct transition {
  sys_seconds at;
  seconds offset{0};
};

/// The offsets of the types of local time.
result<std::vector<seconds>> read_types(std::string_view bytes, std::size_t count) {
  std::vector<seconds> offsets;
  for (std::size_t i = 0; i < count; ++i) {
    seconds offset{big_endian(bytes.substr(i * type_bytes), 4)};
    if (offset <= -offset_max || offset >= offset_max)
      return damaged("offset " + std::to_string(offset.count()) + " s is not within 26 hours");
    offsets.push_back(offset);
  }
  return offsets;
}

/// The transitions of the block; the first one stands for all time before.
result<std::vector<transition>> read_block(std::string_view bytes, const header& head) {
  constexpr std::size_t time_bytes = 8;
  if (head.types == 0 || head.leaps != 0)
    return damaged(head.types == 0 ? "it has no type of local time" : "it counts leap seconds");
  auto offsets = read_types(bytes.substr(head.times * (time_bytes + 1)), head.types);
  if (!offsets)
    return offsets.error();
  std::vector<transition> read{{sys_seconds::min(), offsets->front()}};
  for (std::size_t i = 0; i < head.times; ++i) {
    sys_seconds at{seconds{big_endian(bytes.substr(i * time_bytes), time_bytes)}};
    auto type = static_cast<unsigned char>(bytes[head.times * time_bytes + i]);
    if (type >= head.types || (at <= read.back().at && i > 0))
      return damaged("transition " + std::to_string(i) + " is out of order or has no type");
    read.push_back({at, (*offsets)[type]});
  }
  return read;
}

/// Adds what the footer says about the time after the last transition.
void append_footer(const posix_zone& zone, std::vector<transition>& to) {
  namespace chrono = std::chrono;
  auto last = std::max(to.back().at, computed_from);
  if (last >= horizon)
    return;
  if (!zone.summer) {
    to.push_back({last, zone.standard});
    return;
  }
  const auto& summer = *zone.summer;
  // The offset at the beginning of a year is that of the last change of the year before.
  auto from = chrono::year_month_day{chrono::floor<chrono::days>(last)}.year() - chrono::years{1};
  auto until = chrono::year_month_day{chrono::floor<chrono::days>(horizon)}.year();
  std::vector<transition> yearly;
  for (auto year = from; year <= until; ++year) {
    auto begin = summer.begin.in(year).time_since_epoch() - zone.standard;
    auto end = summer.end.in(year).time_since_epoch() - summer.offset;
    yearly.push_back({sys_seconds{begin}, summer.offset});
    yearly.push_back({sys_seconds{end}, zone.standard});
  }
  std::stable_sort(yearly.begin(), yearly.end(), [](const transition& a, const transition& b) {
    return a.at < b.at;
  });
  auto after = to.back().at;
  for (const auto& each : yearly)
    if (each.at > after)
      to.push_back(each);
}

std::vector<zone_span> to_spans(const std::vector<transition>& transitions) {
  std::vector<zone_span> spans;
  for (std::size_t i = 0; i < transitions.size(); ++i) {
    auto begin = std::max(transitions[i].at, computed_from);
    auto next = i + 1 < transitions.size() ? transitions[i + 1].at : horizon;
    auto end = std::min(next, horizon);
    if (begin >= end)
      continue;
    if (!spans.empty() && spans.back().offset == transitions[i].offset)
      spans.back().end = end;
    else
      spans.push_back({begin, end, transitions[i].offset});
  }
  return spans;
}

} // namespace

result<time_zone> decode_zone_file(std::string name, std::string_view bytes) {
  auto old = read_header(bytes);
  if (!old)
    return old.error();
  if (bytes[4] < '2')
    return damaged("it has version 1, at least 2 is needed");
  auto old_bytes = header_bytes + old->block_bytes(4);
  if (old_bytes > bytes.size())
    return damaged("it is cut off");
  bytes.remove_prefix(old_bytes);
  auto head = read_header(bytes);
  if (!head)
    return head.error();
  bytes.remove_prefix(header_bytes);
  if (head->block_bytes(8) > bytes.size())
    return damaged("it is cut off");
  auto transitions = read_block(bytes, *head);
  if (!transitions)
    return transitions.error();
  auto footer = bytes.substr(head->block_bytes(8));
  if (footer.size() < 2 || footer.front() != '\n' || footer.find('\n', 1) != footer.size() - 1)
    return damaged("its footer is not one line");
  if (footer.size() > 2) {
    auto zone = posix_zone::parse(footer.substr(1, footer.size() - 2));
    if (!zone)
      return damaged(zone.error().context);
    append_footer(*zone, *transitions);
  }
  return time_zone(std::move(name), to_spans(*transitions));
}

} // namespace codeq::schedule
