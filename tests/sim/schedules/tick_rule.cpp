// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/tick_rule.hpp"

#include "support/temporary_directory.hpp"
#include "unit/schedule/zone_bytes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// The wall clock at the start of each run.
constexpr std::int64_t run_start = 1'700'000'000;

/// A moment at which the clocks of `turned_zone` are turned.
struct turn {
  std::int64_t at = 0;
  /// Seconds east of UTC from then on.
  std::int64_t offset = 0;
};

constexpr std::int64_t offset_before = 3600;
/// Steps of the wall clock take runs past the later ones.
constexpr std::array turns = {
  turn{run_start + 6, 3604},
  turn{run_start + 14, 3600},
  turn{run_start + 60, 3605},
  turn{run_start + 90, 3602},
  turn{run_start + 130, 3600},
  turn{run_start + 160, 3606}};

std::int64_t offset_at(const std::string& zone, std::int64_t second) {
  if (zone == "UTC")
    return 0;
  if (zone != turned_zone)
    return 5 * 3600 + 30 * 60;
  auto offset = offset_before;
  for (const auto& each : turns)
    if (each.at <= second)
      offset = each.offset;
  return offset;
}

timestamp time_at(std::int64_t second) {
  return timestamp{std::chrono::seconds{second}};
}

schedule::local_seconds local_time(std::int64_t second) {
  return schedule::local_seconds{std::chrono::seconds{second}};
}

std::string rfc3339(std::int64_t second) {
  return schedule::to_text(local_time(second)) + "Z";
}

/// Whether a local time is shown twice, and which of the two an instant is.
struct showing {
  bool is_first_of_two = false;
  /// For the second of two: the local time from which the clocks were turned back.
  std::optional<std::int64_t> turned_back_from{};
};

showing showing_of(const std::string& zone, std::int64_t second) {
  showing found;
  if (zone != turned_zone)
    return found;
  auto before = offset_before;
  for (const auto& each : turns) {
    auto back = before - each.offset;
    if (second >= each.at && second < each.at + back)
      found.turned_back_from = each.at + before;
    if (second >= each.at - back && second < each.at)
      found.is_first_of_two = true;
    before = each.offset;
  }
  return found;
}

std::string zone_file() {
  schedule::zone_bytes file;
  file.offsets = {static_cast<std::int32_t>(offset_before)};
  for (const auto& each : turns) {
    file.turns.push_back({each.at, static_cast<unsigned char>(file.offsets.size())});
    file.offsets.push_back(static_cast<std::int32_t>(each.offset));
  }
  return file.text();
}

/// A zone stays known when its file vanishes.
std::shared_ptr<schedule::zone_store> make_zones() {
  const test::temporary_directory folder;
  auto path = folder.path() / turned_zone;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << zone_file();
  auto zones = std::make_shared<schedule::zone_store>(folder.path().string());
  static_cast<void>(zones->find(turned_zone).value());
  return zones;
}

} // namespace

std::shared_ptr<schedule::zone_store> sim_zones() {
  static const auto zones = make_zones();
  return zones;
}

std::string tick_rule::text() const {
  auto rule = is_period ? "every " + std::to_string(step) + "s"
                        : "*/" + std::to_string(step) + " * * * * *";
  if (!is_period) {
    rule += "; zone=" + zone + "; gap=" + (skips_gaps ? "skip" : "shift");
    rule += fold == 0 ? "; fold=first" : fold == 1 ? "; fold=last" : "; fold=both";
  }
  return end ? rule + "; end=" + rfc3339(*end) : rule;
}

void tick_rule::add_at(std::int64_t second, std::vector<tick>& to) const {
  if (end && second >= *end)
    return;
  if (!is_period)
    return add_cron(second, to);
  if (second % step == 0)
    to.push_back({{local_time(second), local_time(second)}, time_at(second)});
}

void tick_rule::add_cron(std::int64_t second, std::vector<tick>& to) const {
  auto local = second + offset_at(zone, second);
  auto how = showing_of(zone, second);
  bool is_chosen = how.turned_back_from  ? fold != 0
                   : how.is_first_of_two ? fold != 1
                                         : true;
  if (is_chosen && matches(local)) {
    auto order = how.turned_back_from.value_or(local);
    to.push_back({{local_time(order), local_time(local)}, time_at(second)});
    return;
  }
  auto gap_begin = second + offset_at(zone, second - 1);
  for (auto left_out = local - 1; !skips_gaps && left_out >= gap_begin; --left_out)
    if (matches(left_out)) {
      to.push_back({{local_time(left_out), local_time(left_out)}, time_at(second)});
      return;
    }
}

std::vector<tick> tick_rule::between(timestamp from, timestamp until) const {
  auto second_from = [](timestamp when) {
    return std::chrono::ceil<std::chrono::seconds>(when.time_since_epoch()).count();
  };
  std::vector<tick> found;
  for (auto second = second_from(from); second < second_from(until); ++second)
    add_at(second, found);
  return found;
}

std::vector<tick> tick_rule::after(const schedule::nominal_time& mark, timestamp until) const {
  // Longer than all gaps and folds.
  constexpr std::int64_t margin = 30;
  auto offset = is_period ? 0 : offset_at(zone, run_start) + margin;
  auto found = between(time_at(mark.local.time_since_epoch().count() - offset), until);
  std::erase_if(found, [&](const tick& each) { return each.nominal <= mark; });
  return found;
}

tick_wish some_wish(chance& random, timestamp now) {
  constexpr std::array zones{"UTC", "+05:30", "", ""};
  using enum overlap_policy;
  constexpr std::array policies{misfire_policy::latest, misfire_policy::all, misfire_policy::skip};
  constexpr std::array overlaps{skip, allow, queue_one, cancel_previous};
  tick_wish wish;
  wish.rule.is_period = random.hits(300);
  wish.rule.step = random.between(1, 4);
  if (!wish.rule.is_period) {
    wish.rule.zone = zones[random.below(zones.size())];
    if (wish.rule.zone.empty())
      wish.rule.zone = turned_zone;
    wish.rule.skips_gaps = random.hits(300);
    wish.rule.fold = static_cast<int>(random.below(3));
  }
  if (random.hits(150))
    wish.rule.end =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count()
      + random.between(6, 40);
  wish.misfire = policies[random.below(policies.size())];
  wish.catch_up = random.hits(100) ? duration{0} : duration{random.between(500, 12'000)};
  wish.overlap = overlaps[random.below(overlaps.size())];
  wish.has_key = random.hits(100);
  return wish;
}

schedule_spec
spec_of(const tick_wish& wish, const std::string& name, const std::string& payload) {
  schedule_spec spec;
  spec.rule = wish.rule.text();
  spec.misfire = wish.misfire;
  spec.catch_up = wish.catch_up;
  spec.overlap = wish.overlap;
  spec.task.queue = tick_queue;
  spec.task.payload = payload;
  spec.task.max_attempts = 3;
  spec.task.retry = retry_policy{retry_kind::fixed, 100ms, 100ms};
  spec.task.lease = 2s;
  // The names of the wishes spread their groups over the shards.
  if (wish.overlap != overlap_policy::skip)
    spec.task.group = payload;
  if (wish.has_key)
    spec.task.key = name;
  return spec;
}

} // namespace codeq::sim
