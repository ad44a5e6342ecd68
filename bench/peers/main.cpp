// SPDX-License-Identifier: Apache-2.0
// Drives another queue as codeq-bench drives codeq, and prints one JSON object.
// Usage: codeq-peer redis|jetstream|beanstalkd cycle PORT TASKS PAYLOAD
//        codeq-peer redis|jetstream|beanstalkd latency PORT RATE SECONDS PAYLOAD
#include "load/percentiles.hpp"
#include "peers/peer.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace {

using codeq::bench::peer_kind;
using steady = std::chrono::steady_clock;

constexpr std::size_t stamp_digits = 20;

/// A payload that begins with the current time and is padded to `bytes`.
std::string payload_of(std::size_t bytes) {
  auto ticks = std::to_string(steady::now().time_since_epoch().count());
  std::string payload(stamp_digits - ticks.size(), '0');
  payload += ticks;
  payload.resize(std::max(bytes, stamp_digits), 'x');
  return payload;
}

steady::time_point time_of(std::string_view payload) {
  steady::rep ticks = 0;
  std::from_chars(payload.data(), payload.data() + stamp_digits, ticks);
  return steady::time_point{steady::duration{ticks}};
}

double own_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

/// Runs workers on threads of their own, until a number of tasks was acknowledged.
class workers {
public:
  workers(const peer_kind& kind, std::uint16_t port, std::size_t tasks) : tasks_(tasks) {
    for (std::size_t i = 0; i < kind.workers; ++i)
      threads_.emplace_back([this, peer = kind.connect(port)] { run(*peer); });
  }

  /// Returns the time of the last acknowledgement, and the times from the creation of each task to
  /// its handler.
  std::pair<steady::time_point, std::vector<std::chrono::nanoseconds>> wait() {
    for (auto& thread : threads_)
      thread.join();
    return {last_, std::move(times_)};
  }

private:
  void run(codeq::bench::peer& from) {
    std::vector<std::chrono::nanoseconds> times;
    while (acknowledged_ < tasks_) {
      auto count = from.take(
        [&times](std::string_view payload) { times.push_back(steady::now() - time_of(payload)); });
      if (count > 0 && (acknowledged_ += count) >= tasks_)
        last_ = steady::now();
    }
    std::lock_guard lock(mutex_);
    times_.insert(times_.end(), times.begin(), times.end());
  }

  std::size_t tasks_;
  std::atomic<std::size_t> acknowledged_{0};
  std::mutex mutex_;
  steady::time_point last_;
  std::vector<std::chrono::nanoseconds> times_;
  std::vector<std::thread> threads_;
};

void produce(codeq::bench::peer& to, std::size_t tasks, std::size_t window, std::size_t bytes) {
  for (std::size_t added = 0; added < tasks; added += window) {
    std::vector<std::string> payloads(std::min(window, tasks - added));
    for (auto& payload : payloads)
      payload = payload_of(bytes);
    to.add(payloads);
  }
}

void run_cycle(const peer_kind& kind, std::uint16_t port, std::size_t tasks, std::size_t bytes) {
  workers consumers(kind, port, tasks);
  auto cpu = own_cpu_seconds();
  auto begin = steady::now();
  std::vector<std::thread> producers;
  auto share = (tasks + kind.producers - 1) / kind.producers;
  for (std::size_t i = 0; i < kind.producers; ++i)
    producers.emplace_back([&, i, peer = kind.connect(port)] {
      auto first = std::min(i * share, tasks);
      produce(*peer, std::min(share, tasks - first), kind.window, bytes);
    });
  for (auto& thread : producers)
    thread.join();
  std::chrono::duration<double> took = consumers.wait().first - begin;
  auto count = static_cast<double>(tasks);
  std::printf(
    R"({"bench":"cycle","peer":"%s","tasks":%zu,"payload":%zu,"producers":%zu,"workers":%zu,)"
    R"("window":%zu,"tasks_per_s":%.0f,"seconds":%.3f,"client_cpu_us_per_task":%.3f})"
    "\n",
    kind.name.c_str(),
    tasks,
    bytes,
    kind.producers,
    kind.workers,
    kind.window,
    count / took.count(),
    took.count(),
    (own_cpu_seconds() - cpu) * 1e6 / count);
}

void run_latency(
  const peer_kind& kind,
  std::uint16_t port,
  std::size_t rate,
  std::size_t seconds,
  std::size_t bytes) {
  auto tasks = rate * seconds;
  workers consumers(kind, port, tasks);
  auto to = kind.connect(port);
  auto begin = steady::now();
  std::chrono::duration<double> interval{1.0 / static_cast<double>(rate)};
  for (std::size_t i = 0; i < tasks; ++i) {
    std::this_thread::sleep_until(
      begin + std::chrono::duration_cast<steady::duration>(interval * static_cast<double>(i)));
    std::vector<std::string> one{payload_of(bytes)};
    to->add(one);
  }
  auto times = consumers.wait().second;
  std::printf(
    R"({"bench":"latency","peer":"%s","rate":%zu,"seconds":%zu,"payload":%zu,%s})"
    "\n",
    kind.name.c_str(),
    rate,
    seconds,
    bytes,
    codeq::bench::to_members(codeq::bench::percentiles_of(std::move(times))).c_str());
}

std::optional<peer_kind> find_peer(std::string_view name) {
  for (auto kind :
       {codeq::bench::redis_streams(), codeq::bench::jetstream(), codeq::bench::beanstalkd()})
    if (kind.name == name)
      return kind;
  return std::nullopt;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  bool is_cycle = words.size() == 5 && words[1] == "cycle";
  bool is_latency = words.size() == 6 && words[1] == "latency";
  auto kind = words.empty() ? std::nullopt : find_peer(words[0]);
  if (!kind || (!is_cycle && !is_latency)) {
    std::fputs("usage: codeq-peer PEER cycle PORT TASKS PAYLOAD\n", stderr);
    std::fputs("       codeq-peer PEER latency PORT RATE SECONDS PAYLOAD\n", stderr);
    return 2;
  }
  auto number = [&words](std::size_t index) {
    return std::strtoul(words[index].c_str(), nullptr, 10);
  };
  try {
    auto port = static_cast<std::uint16_t>(number(2));
    kind->prepare(port);
    if (is_cycle)
      run_cycle(*kind, port, number(3), number(4));
    else
      run_latency(*kind, port, number(3), number(4), number(5));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "codeq-peer: %s\n", e.what());
    // Threads that wait for a server that is gone cannot be joined.
    std::_Exit(1);
  }
  return 0;
}
