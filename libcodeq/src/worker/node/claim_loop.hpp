// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace codeq::worker {

/// Counts what this node may still take and decides when to tell the coordinators. Pure: driven by
/// the dispatcher, sends nothing itself. The capacity (slots and prefetch) is divided over the open
/// links; a link's credits and the tasks it sent that have not ended never pass its share.
class claim_loop {
public:
  /// `capacity`: tasks held at once, at least 1. `links`: how many coordinators there are.
  claim_loop(std::size_t capacity, std::size_t links);

  /// Credits may be sent to `link`; it knows of none yet.
  void open(std::size_t link);

  /// The credits at `link` are void; the tasks that it sent stay held.
  void close(std::size_t link);

  /// `link` sent `tasks`; each used one credit, unless it was delivered again after a resume.
  void received(std::size_t link, std::size_t tasks, bool redelivered);

  /// A task of `link` is no longer held: its handler has ended, or it was never started.
  void released(std::size_t link);

  /// Another capacity from here on; credits that are out stay out.
  void resize(std::size_t capacity);

  /// No more credits from here on, for good.
  void stop() noexcept { stopped_ = true; }

  /// The credits to send to `link` now, counted as sent; 0 when it is not worth a message. Few are
  /// held back until a quarter of the share is due, as long as the coordinator has as many left.
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
