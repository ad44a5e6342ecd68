// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstddef>
#include <vector>

namespace codeq::worker {

/// Counts the tasks that this node can still accept and decides when to send credits. Pure: driven
/// by the dispatcher, sends nothing itself. Over coordinators that are alone the capacity (slots
/// and prefetch) is divided evenly: the sum of a link's credits and its tasks that have not ended
/// never exceeds its share. Over the coordinators of a cluster it is one pool: credits go where
/// tasks wait, and those that lie idle elsewhere are taken back for it.
class claim_loop {
public:
  /// `capacity`: maximum number of tasks held, at least 1. `links`: number of coordinators.
  claim_loop(std::size_t capacity, std::size_t links);

  /// Adds a link with the next number.
  void add_link() { links_.emplace_back(); }

  /// Credits may be sent to `link`; it has none yet. `is_shared`: its coordinator is one of a
  /// cluster.
  void open(std::size_t link, bool is_shared = false);

  [[nodiscard]] bool is_open(std::size_t link) const { return links_[link].open; }

  /// The credits of `link` are void; the tasks that it sent are still held.
  void close(std::size_t link);

  /// `link` sent `tasks` of a store. Each used one credit, unless it was redelivered.
  void received(std::size_t link, std::size_t store, std::size_t tasks, bool redelivered);

  /// A task of a store is no longer held: its handler has ended, or it was never started.
  void released(std::size_t store);

  /// Whether the coordinator of a shared link leads shards at present. One that leads none gets no
  /// credits, and those that it has are void, since it may hang: returns how many to ask it for.
  [[nodiscard]] std::size_t set_leading(std::size_t link, bool is_leading);

  /// The coordinator of a shared link has returned credits; `wants`: tasks wait there for some.
  /// False when it was asked for some and returned none: it is not asked again before `ask_again`.
  bool told(std::size_t link, std::size_t returned, bool wants);

  /// When `ask_again` is due after an answer that returned none.
  static constexpr duration ask_again_pause{20};

  /// Shared links that kept all their credits may be asked for some again.
  void ask_again();

  /// Changes the capacity; credits that were sent stay valid.
  void resize(std::size_t capacity);

  /// Sends no credits any more.
  void stop() noexcept { stopped_ = true; }

  /// The credits to send to `link` now; they count as sent. 0 when a message is not worthwhile:
  /// small numbers are held back until a quarter of the share is due, while the coordinator has at
  /// least as many credits left.
  [[nodiscard]] std::size_t take(std::size_t link);

  /// The number of credits to ask a shared link for, because tasks wait at another one while no
  /// slot is free; 0: none.
  [[nodiscard]] std::size_t take_back(std::size_t link);

  [[nodiscard]] std::size_t held() const noexcept;

private:
  struct per_link {
    bool open = false;
    bool is_shared = false;
    bool is_leading = true;
    /// Tasks wait there, for which the coordinator had no credits.
    bool wants = false;
    /// It was asked for credits and has not answered.
    bool is_asked = false;
    /// It was asked, and tasks wait at its shards for all of its credits.
    bool keeps = false;
    std::size_t credits = 0;
    /// Tasks of the store with this number.
    std::size_t held = 0;

    [[nodiscard]] bool may_use_more() const { return open && is_leading && wants; }
  };

  [[nodiscard]] std::size_t take_of_pool(std::size_t link);
  [[nodiscard]] std::size_t pool_target(std::size_t link, bool only_wanting) const;
  [[nodiscard]] std::size_t share_of(std::size_t link) const;
  [[nodiscard]] std::size_t room_at(std::size_t link, std::size_t share) const;
  [[nodiscard]] std::size_t free() const;

  std::size_t capacity_;
  std::vector<per_link> links_;
  /// The link that gets the next credit when not each can have one.
  std::size_t turn_ = 0;
  bool stopped_ = false;
};

} // namespace codeq::worker
