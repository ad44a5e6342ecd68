// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace codeq::core {

/// How many tasks of a queue wait for permits of other shards, by the limit key that they wait for.
class awaited_keys {
public:
  void add(const std::string& limit, const std::string& key) {
    auto& of = limits_[limit];
    ++of.tasks;
    ++of.keys[key];
  }

  /// @pre it was added
  void remove(const std::string& limit, const std::string& key) {
    auto of = limits_.find(limit);
    auto at = of->second.keys.find(key);
    if (--at->second == 0)
      of->second.keys.erase(at);
    if (--of->second.tasks == 0)
      limits_.erase(of);
  }

  struct of_limit {
    std::uint64_t tasks = 0;
    /// Number of tasks by key; none is 0.
    std::map<std::string, std::uint64_t> keys{};
  };

  /// By the limit's name.
  [[nodiscard]] const std::map<std::string, of_limit>& limits() const noexcept { return limits_; }

private:
  std::map<std::string, of_limit> limits_;
};

} // namespace codeq::core
