// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::client {

/// The requests of one producer session that wait for their answer, by number. Numbers start
/// at `first_number` and only grow. Pure; used from one thread.
template <class Request>
class request_window {
public:
  /// At most `in_flight_max` requests are open at once. The span from the oldest open number to the
  /// next number is bounded, too, because the coordinator remembers no more answers
  /// (`limits::producer_requests_max`).
  explicit request_window(std::size_t in_flight_max, std::uint64_t first_number = 1)
    : in_flight_max_(in_flight_max), next_(first_number) {}

  /// True when one more request may be opened.
  [[nodiscard]] bool has_room() const noexcept {
    return open_.size() < in_flight_max_
           && next_ - answered_below() < limits::producer_requests_max;
  }

  /// Gives a request the next number. @pre has_room(), unless the caller bounds the requests and
  /// numbers of each shard
  std::uint64_t open(Request request) {
    open_.emplace_hint(open_.end(), next_, std::move(request));
    return next_++;
  }

  /// The number of the next request.
  [[nodiscard]] std::uint64_t next_number() const noexcept { return next_; }

  /// The open request with that number; null when it was answered or never opened.
  [[nodiscard]] Request* find(std::uint64_t number) {
    auto found = open_.find(number);
    return found == open_.end() ? nullptr : &found->second;
  }

  /// Removes an answered request and returns it; empty when it was answered before.
  std::optional<Request> close(std::uint64_t number) {
    auto node = open_.extract(number);
    if (node.empty())
      return std::nullopt;
    return std::move(node.mapped());
  }

  /// Removes and returns all requests, in the order of their numbers.
  std::vector<Request> close_all() {
    std::vector<Request> requests;
    requests.reserve(open_.size());
    for (auto& [number, request] : open_)
      requests.push_back(std::move(request));
    open_.clear();
    return requests;
  }

  /// All requests with smaller numbers have been answered.
  [[nodiscard]] std::uint64_t answered_below() const noexcept {
    return open_.empty() ? next_ : open_.begin()->first;
  }

  /// Number of open requests.
  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

  /// Calls `visit(number, request)` for each open request, in the order of their numbers.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& [number, request] : open_)
      visit(number, request);
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [number, request] : open_)
      visit(number, request);
  }

private:
  std::size_t in_flight_max_;
  std::uint64_t next_;
  std::map<std::uint64_t, Request> open_;
};

} // namespace codeq::client
