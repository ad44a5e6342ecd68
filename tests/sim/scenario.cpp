// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario.hpp"

#include "sim/chance.hpp"

#include <array>
#include <sstream>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

void flaky_network(scenario& s) {
  s.cut_every = 700ms;
  s.stall_every = 1500ms;
  s.forgotten_batches = 30;
}

void bad_clients(scenario& s) {
  s.producer_crash_every = 3s;
  s.worker_crash_every = 3s;
  s.worker_pause_every = 2s;
  s.worker_leave_every = 8s;
  s.usurper_every = 6s;
  s.zombies = 300;
  s.drift_permille = 30;
  s.forgotten_batches = 20;
}

void killed_coordinator(scenario& s) {
  s.producer_crash_every = 8s;
  s.coordinator_kill_every = 1500ms;
  s.worker_leave_every = 10s;
  s.full_disk_every = 5s;
}

void power_cuts(scenario& s) {
  s.os_durability = true;
  s.power_cut_every = 2s;
  s.coordinator_kill_every = 4s;
}

void clock_steps(scenario& s) {
  s.clock_step_every = 1500ms;
  s.coordinator_kill_every = 4s;
  s.drift_permille = 50;
}

void everything(scenario& s) {
  flaky_network(s);
  bad_clients(s);
  s.coordinator_kill_every = 4s;
  s.power_cut_every = 5s;
  s.clock_step_every = 3s;
}

/// One of so many seeds has schedules; without a common divisor with the number of scenarios, so
/// that all have them.
constexpr std::uint64_t schedules_every = 3;

/// The same for limits.
constexpr std::uint64_t limits_every = 5;

struct named {
  const char* name;
  void (*compose)(scenario&);
};

constexpr std::array table{
  named{"calm", [](scenario&) {}},
  named{"flaky network", flaky_network},
  named{"bad clients", bad_clients},
  named{"killed coordinator", killed_coordinator},
  named{"power cuts", power_cuts},
  named{"clock steps", clock_steps},
  named{"everything", everything},
  named{"everything", everything},
};

void write(std::ostream& out, const char* name, virtual_time every) {
  if (every > virtual_time{0})
    out << ", " << name << " every " << every.count() / 1000 << " ms";
}

} // namespace

bool scenario::is_calm() const {
  return name == "calm";
}

scenario forgetful_scenario(std::uint64_t seed) {
  chance random(seed);
  scenario s;
  s.name = "forgetful";
  s.shards = 2;
  s.os_durability = true;
  s.power_cut_every = 800ms;
  s.compact_every = 50ms;
  s.retention = duration{random.between(500, 1'500)};
  return s;
}

scenario limited_scenario(std::uint64_t seed) {
  chance random(seed);
  scenario s;
  s.name = "limited";
  s.shards = static_cast<std::uint16_t>(random.between(1, 4));
  s.workers = 8;
  s.producers = 3;
  s.requests_per_producer = 25;
  s.os_durability = random.hits(500);
  s.runs_to_completion = random.hits(300);
  s.has_limits = true;
  s.has_quick_disk = true;
  s.worker_crash_every = 100ms;
  s.coordinator_kill_every = 5s;
  return s;
}

scenario scenario_of(std::uint64_t seed) {
  chance random(seed);
  scenario s;
  const auto& chosen = table[seed % table.size()];
  s.name = chosen.name;
  s.shards = static_cast<std::uint16_t>(random.between(1, 3));
  s.workers = static_cast<std::size_t>(random.between(1, 4));
  s.producers = static_cast<std::size_t>(random.between(1, 3));
  s.os_durability = random.hits(300);
  s.comes_back_later = random.hits(150);
  chosen.compose(s);
  // Long enough that some records remain, short enough that others are removed.
  if (random.hits(300)) {
    s.retention = duration{random.between(1'000, 8'000)};
    s.compact_every = 300ms;
  }
  s.runs_to_completion = random.hits(400);
  s.has_schedules = seed % schedules_every == 0;
  s.has_limits = seed % limits_every == 0;
  return s;
}

std::string to_string(const scenario& s) {
  std::ostringstream out;
  out << s.name << ": " << (s.os_durability ? "os" : "sync") << ", shards " << s.shards
      << ", workers " << s.workers << ", producers " << s.producers;
  if (s.runs_to_completion)
    out << ", runs to completion";
  if (s.comes_back_later)
    out << ", comes back later";
  if (s.has_schedules)
    out << ", schedules";
  if (s.has_limits)
    out << ", limits";
  if (s.has_quick_disk)
    out << ", quick disk";
  write(out, "cut", s.cut_every);
  write(out, "stall", s.stall_every);
  write(out, "worker crash", s.worker_crash_every);
  write(out, "worker pause", s.worker_pause_every);
  write(out, "worker leave", s.worker_leave_every);
  write(out, "usurper", s.usurper_every);
  write(out, "producer crash", s.producer_crash_every);
  write(out, "coordinator kill", s.coordinator_kill_every);
  write(out, "power cut", s.power_cut_every);
  write(out, "clock step", s.clock_step_every);
  write(out, "compaction", s.compact_every);
  write(out, "full disk", s.full_disk_every);
  if (s.compact_every > virtual_time{0})
    out << ", retention " << s.retention.count() << " ms";
  if (s.forgotten_batches > 0)
    out << ", forgotten batches " << s.forgotten_batches << "/1000";
  if (s.zombies > 0)
    out << ", zombies " << s.zombies << "/1000";
  if (s.drift_permille > 0)
    out << ", drift " << s.drift_permille << "/1000";
  return out.str();
}

} // namespace codeq::sim
