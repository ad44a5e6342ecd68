// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/shard/shard_messages.hpp"
#include "core/commands/command.hpp"
#include "core/commands/named_keys.hpp"
#include "core/commands/retained_key.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// Commands that wait for the store's answer to the look-up of their keys. Commands with the same
/// key keep their order; other commands do not wait for them. The number of waiting commands is
/// bounded by the peers' requests in flight. Pure; logarithmic in the number of waiting keys.
class key_lookups {
public:
  /// A command whose keys are known.
  struct known_command {
    core::recall_keys keys;
    core::command command;
    enqueue_share share;
  };

  /// True when a command with this key waits.
  [[nodiscard]] bool is_awaited(const task_key& name) const { return lines_.contains(name); }

  /// Number of waiting commands.
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// Adds a command that waits, with its share, for all keys that it names. Returns the number of
  /// the look-up.
  std::uint64_t
  add(core::command command, const std::vector<task_key>& names, enqueue_share share = nullptr);

  /// Notes keys that a snapshot closed: a look-up in progress may have read the store before it.
  void note_closed(const std::vector<core::closed_key>& closed);

  /// Handles the store's answer to the look-up. Ignores one to a look-up that does not wait.
  void answer(std::uint64_t number, std::vector<core::recalled_key> found);

  /// Takes the next command whose keys are known; empty when there is none.
  [[nodiscard]] std::optional<known_command> take();

private:
  struct waiting_command {
    core::command command;
    std::vector<task_key> names;
    enqueue_share share;
    /// The store's answer; empty until it arrives.
    std::optional<std::vector<core::recalled_key>> found;
  };

  /// The commands that wait for one key.
  struct line {
    std::deque<std::uint64_t> numbers;
    /// The last task with this key that was closed since the look-up began.
    std::optional<core::retained_key> closed;
  };

  using command_map = std::map<std::uint64_t, waiting_command>;

  [[nodiscard]] bool is_known(const waiting_command& waiting, std::uint64_t number) const;
  known_command leave(command_map::iterator at);

  std::uint64_t last_ = 0;
  command_map waiting_;
  std::map<task_key, line> lines_;
  /// The numbers of commands whose keys may have become known.
  std::vector<std::uint64_t> candidates_;
};

} // namespace codeq::coordinator
