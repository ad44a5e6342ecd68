// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace codeq::base {

/// Things that wait, in one queue for each owner. The owners take turns with one thing each, so
/// that no owner waits for all things of another. Used from one thread.
template <class T>
class turn_queue {
public:
  void add(const std::string& owner, T thing) {
    auto [at, is_new] = waiting_.try_emplace(owner);
    if (is_new)
      turns_.push_back(owner);
    at->second.push_back(std::move(thing));
  }

  /// Takes the first thing of the owner whose turn it is; nothing when the queue is empty.
  [[nodiscard]] std::optional<T> take() {
    if (turns_.empty())
      return std::nullopt;
    auto at = waiting_.find(turns_.front());
    turns_.pop_front();
    std::optional<T> first(std::move(at->second.front()));
    at->second.pop_front();
    if (at->second.empty())
      waiting_.erase(at);
    else
      turns_.push_back(at->first);
    return first;
  }

  [[nodiscard]] bool empty() const noexcept { return turns_.empty(); }

  /// Number of things of the owner that wait.
  [[nodiscard]] std::size_t size_of(const std::string& owner) const {
    auto at = waiting_.find(owner);
    return at == waiting_.end() ? 0 : at->second.size();
  }

private:
  /// No queue in it is empty.
  std::map<std::string, std::deque<T>> waiting_;
  /// The owners with queues, the next one first.
  std::deque<std::string> turns_;
};

} // namespace codeq::base
