// SPDX-License-Identifier: Apache-2.0
#include "mutation/hunt.hpp"

#include "mutation/active_fault.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace codeq::mutation {
namespace {

/// Time limit of a run; instrumented builds get more.
constexpr unsigned seconds_max = 240 * CODEQ_TEST_PATIENCE;
constexpr std::size_t words_max = 100;
constexpr std::uint64_t healthy_seeds = 30;

/// Before the outcome of a run, which comes after what the code has logged.
constexpr std::string_view outcome_mark = "\noutcome: ";

/// False for the faults that CODEQ_FAULT leaves out: a part of the names of those to hunt for.
bool is_wanted(std::size_t fault) {
  const char* part = std::getenv("CODEQ_FAULT");
  auto at = std::string_view(fault_names[fault]).find(part == nullptr ? "" : part);
  return at != std::string_view::npos;
}

/// CODEQ_FAULT_SEEDS; empty: each test has its own number, and a limit of time.
std::optional<std::uint64_t> wanted_seeds() {
  const char* seeds = std::getenv("CODEQ_FAULT_SEEDS");
  return seeds == nullptr ? std::nullopt : std::optional(std::strtoull(seeds, nullptr, 10));
}

/// The breach of a seed's run, which may also be an exception; empty: none.
std::string breach_of(std::uint64_t seed, const seed_run& run) {
  try {
    return run(seed);
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

/// The seeds for a fault, in their order. Without a fault: those that are known to catch one, which
/// must pass then, and some more; the test of the simulation itself runs many.
std::vector<std::uint64_t> seeds_for(std::size_t fault, std::uint64_t seeds_max) {
  const auto most = fault == 0 ? std::min(seeds_max, healthy_seeds) : seeds_max;
  std::vector<std::uint64_t> seeds(most);
  std::iota(seeds.begin(), seeds.end(), 1);
  if (fault == 0)
    std::copy_if(first_seeds.begin(), first_seeds.end(), std::back_inserter(seeds), [&](auto one) {
      return one > most;
    });
  else if (first_seeds[fault] != 0)
    seeds.insert(seeds.begin(), first_seeds[fault]);
  return seeds;
}

/// Runs seeds until one fails; returns the seed and the reason.
std::string hunt(std::size_t fault, std::uint64_t seeds_max, const seed_run& run) {
  active_fault = fault;
  const auto seeds = seeds_for(fault, seeds_max);
  for (const auto seed : seeds)
    if (const auto breach = breach_of(seed, run); !breach.empty())
      return "caught " + std::to_string(seed) + " " + breach;
  return "missed " + std::to_string(seeds.size()) + " nothing";
}

/// A run with one fault in a process of its own, because a fault may also trip an assertion.
struct hunter {
  std::size_t fault = 0;
  int output = -1;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

void write_all(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    auto n = ::write(to, text.data() + done, text.size() - done);
    if (n <= 0)
      return;
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int from) {
  std::string text;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(from, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  ::close(from);
  return text;
}

pid_t start(hunter& h, std::uint64_t seeds_max, const seed_run& run) {
  int ends[2];
  if (::pipe(ends) != 0)
    return -1;
  auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    const auto wanted = wanted_seeds();
    ::alarm(wanted ? 0 : seconds_max);
    write_all(ends[1], std::string(outcome_mark) + hunt(h.fault, wanted.value_or(seeds_max), run));
    ::_exit(0);
  }
  ::close(ends[1]);
  h.output = ends[0];
  return child;
}

verdict read_verdict(const hunter& h, int status) {
  verdict v;
  auto text = read_all(h.output);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - h.since;
  v.seconds = took.count();
  if (WIFSIGNALED(status)) {
    v.caught = WTERMSIG(status) == SIGABRT;
    v.words = v.caught                      ? "assertion: " + text.substr(0, text.find('\n'))
              : WTERMSIG(status) == SIGALRM ? "ran too long"
                                            : "died of signal " + std::to_string(WTERMSIG(status));
    return v;
  }
  auto outcome = text.rfind(outcome_mark);
  if (outcome != std::string::npos)
    text.erase(0, outcome + outcome_mark.size());
  std::istringstream in(text);
  std::string what;
  in >> what >> v.seed >> std::ws;
  std::getline(in, v.words);
  v.caught = what == "caught";
  return v;
}

} // namespace

std::vector<verdict> hunt_all(std::uint64_t seeds_max, const seed_run& run) {
  std::vector<verdict> verdicts(fault_names.size());
  std::map<pid_t, hunter> running;
  std::size_t next = 0;
  auto at_once = std::max(1u, std::thread::hardware_concurrency());
  while (next < fault_names.size() || !running.empty()) {
    for (; next < fault_names.size() && running.size() < at_once; ++next) {
      if (!is_wanted(next)) {
        verdicts[next].caught = next != 0;
        verdicts[next].words = "left out";
        continue;
      }
      hunter h{next};
      auto pid = start(h, seeds_max, run);
      running.emplace(pid, h);
    }
    if (running.empty())
      break;
    int status = 0;
    auto ended = running.extract(::waitpid(-1, &status, 0));
    if (ended)
      verdicts[ended.mapped().fault] = read_verdict(ended.mapped(), status);
  }
  return verdicts;
}

std::size_t count_hunted() {
  std::size_t hunted = 0;
  for (std::size_t fault = 0; fault < fault_names.size(); ++fault)
    hunted += is_wanted(fault) ? 1 : 0;
  return hunted;
}

void print(const std::vector<verdict>& verdicts) {
  std::cout << std::left << std::setw(36) << "fault" << std::setw(6) << "seed" << std::setw(9)
            << "seconds"
            << "caught by\n";
  for (std::size_t fault = 0; fault < verdicts.size(); ++fault) {
    const auto& v = verdicts[fault];
    std::cout << std::setw(36) << fault_names[fault] << std::setw(6) << v.seed << std::setw(9)
              << std::fixed << std::setprecision(2) << v.seconds << v.words.substr(0, words_max)
              << '\n';
  }
  std::cout << "hunted for " << count_hunted() << " of " << fault_names.size() << '\n';
}

} // namespace codeq::mutation
