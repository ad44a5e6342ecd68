// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "etcd/messages.hpp"

#include <cstdint>
#include <optional>

namespace codeq::etcd {

/// Where a watch is connected, and from which revision it goes on after a cut. A watch only
/// suggests: changes may be told late, twice or never. Pure.
class watch_plan {
public:
  watch_plan(std::size_t members, std::size_t first) : members_(members), member_(first) {}

  struct connect {
    std::size_t member = 0;
    /// The first revision to be told; 0: from now on.
    std::uint64_t revision = 0;
  };

  /// The connection to open now. It counts as open until `cut`.
  [[nodiscard]] std::optional<connect> next(monotonic_time now);

  /// Whether the connection has to be cut: it does not begin, or is silent about a change.
  [[nodiscard]] bool is_stalled(monotonic_time now) const;

  /// When to ask again.
  [[nodiscard]] monotonic_time wake_at() const;

  /// The connection is over; the next member is tried after a pause.
  void cut(monotonic_time now);

  /// A line was read. Returns whether changes may be missing, so that the range has to be polled.
  bool note_line(const watch_line& line);

  /// A poll has found a change of this revision.
  void note_poll(std::uint64_t modified, monotonic_time now);

  [[nodiscard]] bool is_open() const { return is_open_; }

private:
  std::size_t members_;
  std::size_t member_;
  bool is_open_ = false;
  bool is_started_ = false;
  monotonic_time opened_{};
  monotonic_time may_open_{};
  duration pause_{0};
  /// All changes up to here were told.
  std::uint64_t told_ = 0;
  /// A change that a poll has found, and when.
  std::uint64_t polled_ = 0;
  monotonic_time polled_at_{};
};

} // namespace codeq::etcd
