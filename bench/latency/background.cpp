// SPDX-License-Identifier: Apache-2.0
#include "latency/background.hpp"

#include "codeq/producer.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t batch = 64;
constexpr std::size_t payload_bytes = 256;

} // namespace

struct background::state {
  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> failed{0};
  steady::time_point since = steady::now();
  // Destroyed before the counters that its callbacks use.
  std::unique_ptr<producer> to;
  std::thread thread;

  void ended(const result<ended_task>& end) {
    bool is_completed = end && end->state == task_state::completed;
    ++(is_completed ? completed : failed);
  }

  void enqueue() {
    std::vector<task_spec> tasks(batch);
    for (auto& task : tasks) {
      task.queue = "cycle";
      task.payload = std::string(payload_bytes, 'x');
    }
    to->enqueue_all_or_none(std::move(tasks), [this](result<std::vector<task_id>> ids) {
      if (ids)
        to->await(std::move(*ids), [this](result<ended_task> end) { ended(end); });
      else
        failed += stopped ? 0 : batch;
    });
  }

  void run(double rate) {
    std::chrono::duration<double> interval{static_cast<double>(batch) / rate};
    for (std::uint64_t i = 0; !stopped; ++i) {
      auto at = std::chrono::duration_cast<steady::duration>(interval * static_cast<double>(i));
      std::this_thread::sleep_until(since + at);
      enqueue();
    }
  }
};

background::background(std::unique_ptr<state> made) : state_(std::move(made)) {
}

background::background(background&& other) noexcept = default;
background& background::operator=(background&& other) noexcept = default;

background::~background() {
  if (!state_)
    return;
  state_->stopped = true;
  if (state_->thread.joinable())
    state_->thread.join();
}

result<background> background::start(const std::string& coordinator, double rate) {
  auto to = producer::connect({.coordinators = {coordinator}, .name = "background"});
  if (!to)
    return to.error();
  auto made = std::make_unique<state>();
  made->to = std::move(*to);
  made->thread = std::thread([made = made.get(), rate] { made->run(rate); });
  return background(std::move(made));
}

result<double> background::stop() {
  std::chrono::duration<double> took = steady::now() - state_->since;
  auto completed = static_cast<double>(state_->completed);
  state_->stopped = true;
  state_->thread.join();
  if (state_->failed > 0)
    return error{errc::unavailable, std::to_string(state_->failed) + " background tasks failed"};
  return completed / took.count();
}

} // namespace codeq::bench
