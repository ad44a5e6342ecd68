// SPDX-License-Identifier: Apache-2.0
#include "backlog/taker.hpp"

#include "backlog/filler.hpp"

#include <utility>

namespace codeq::bench {

namespace {

constexpr duration poll_interval{1};
constexpr auto silence_max = std::chrono::seconds(60);

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

result<std::unique_ptr<taker>>
taker::start(const std::string& address, const backlog_options& options, answer how) {
  std::unique_ptr<taker> made(new taker);
  worker_node_options node;
  node.coordinators = {address};
  node.name = "taker";
  node.slots = options.cluster.slots;
  node.prefetch = options.cluster.prefetch;
  for (std::size_t i = 0; i < options.queues; ++i)
    node.handlers.handle(
      backlog_queue(i), [self = made.get(), how](const task&) { return self->handle(how); });
  auto started = worker_node::start(std::move(node));
  if (!started)
    return started.error();
  made->node_ = std::move(*started);
  return made;
}

taker::~taker() {
  if (node_)
    node_->drain();
}

outcome taker::handle(answer how) {
  if (handled_++ == 0)
    first_ns_ = now_ns();
  return how == answer::completed ? outcome::completed({}) : outcome::failed("not now");
}

result<void> taker::wait_for(std::size_t tasks) {
  auto before = handled();
  auto since = std::chrono::steady_clock::now();
  while (handled() < tasks) {
    if (!pause(poll_interval))
      return error{errc::going_away, "interrupted"};
    auto now = std::chrono::steady_clock::now();
    if (handled() != before)
      since = now;
    else if (now - since > silence_max)
      return error{
        errc::timeout, "nothing happened any more after " + std::to_string(handled()) + " tasks"};
    before = handled();
  }
  last_ns_ = now_ns();
  return {};
}

double taker::seconds() const {
  return static_cast<double>(last_ns_ - first_ns_) / 1e9;
}

std::chrono::steady_clock::time_point taker::first_at() const {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(first_ns_));
}

} // namespace codeq::bench
