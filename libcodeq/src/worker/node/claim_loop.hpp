// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace codeq::worker {

/// Counts the tasks that this node can still accept and decides when to send credits. Pure: driven
/// by the dispatcher, sends nothing itself. The capacity (slots and prefetch) is divided among the
/// open links; the sum of a link's credits and its tasks that have not ended never exceeds its
/// share.
class claim_loop {
public:
  /// `capacity`: maximum number of tasks held, at least 1. `links`: number of coordinators.
  claim_loop(std::size_t capacity, std::size_t links);

  /// Credits may be sent to `link`; it has none yet.
  void open(std::size_t link);

  /// The credits of `link` are void; the tasks that it sent are still held.
  void close(std::size_t link);

  /// `link` sent `tasks`. Each used one credit, unless it was redelivered after a resume.
  void received(std::size_t link, std::size_t tasks, bool redelivered);

  /// A task of `link` is no longer held: its handler has ended, or it was never started.
  void released(std::size_t link);

  /// Changes the capacity; credits that were sent stay valid.
  void resize(std::size_t capacity);

  /// Sends no credits any more.
  void stop() noexcept { stopped_ = true; }

  /// The credits to send to `link` now; they count as sent. 0 when a message is not worthwhile:
  /// small numbers are held back until a quarter of the share is due, while the coordinator has at
  /// least as many credits left.
  [[nodiscard]] std::size_t take(std::size_t link);

  [[nodiscard]] std::size_t held() const noexcept;

private:
  struct per_link {
    bool open = false;
    std::size_t credits = 0;
    std::size_t held = 0;
  };

  [[nodiscard]] std::size_t share_of(std::size_t link) const;
  [[nodiscard]] std::size_t room_at(std::size_t link, std::size_t share) const;

  std::size_t capacity_;
  std::vector<per_link> links_;
  bool stopped_ = false;
};

} // namespace codeq::worker
