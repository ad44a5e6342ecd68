// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "cluster/cluster_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace codeq::cluster {

/// How a client reaches the shards of a cluster: its links to coordinators, the map that they tell
/// it, and thus the link of each shard. Begins with the addresses that the user named, of which one
/// is enough: a link is added for each coordinator of the map that has none. Pure; told of events
/// by the client's actor, which carries out what is returned.
class shard_routes {
public:
  /// The steps to take after an event.
  struct changes {
    /// Addresses of the links to add. Their numbers follow the number of the last link.
    std::vector<std::string> dial{};
    /// Links to end: there is another one to the same coordinator, or it has left the cluster.
    std::vector<std::size_t> close{};
    /// Shards whose unanswered messages are to be sent again: they have another primary, or its
    /// connection is new. Ascending.
    std::vector<shard_id> resend{};
    /// Call `retry` after `tuning::not_here_pause`, unless the shard's coordinator tells earlier.
    bool retries = false;

    bool operator==(const changes&) const = default;
  };

  /// A shard whose only copy cannot be read is nowhere for as long as it takes to repair that. With
  /// `tuning::not_here_pause` its unanswered messages are then sent again once a second.
  static constexpr unsigned pauses_max = 20;

  /// Links 0 .. n - 1 lead to `addresses`.
  explicit shard_routes(std::vector<std::string> addresses);

  /// A link is connected to the coordinator with that name in its cluster; empty: it is alone. It
  /// is used once it has told its map, which follows.
  [[nodiscard]] changes take_up(std::size_t link, const std::string& node);

  void take_down(std::size_t link);

  /// The link has ended for good.
  void take_end(std::size_t link);

  /// The coordinator of a link tells places, and shards that it does not serve. Errors:
  /// `protocol_error`; nothing has changed.
  [[nodiscard]] result<changes>
  take_places(std::size_t link, const map_news& news, std::span<const shard_id> not_here);

  /// A pause is over: shards that were nowhere are asked for again. While one stays nowhere, the
  /// number of pauses before it is asked for doubles up to `pauses_max`.
  [[nodiscard]] changes retry();

  /// True for a link that was ended, also while its end is under way.
  [[nodiscard]] bool has_ended(std::size_t link) const { return links_[link].has_ended; }

  /// True once a coordinator of a cluster was connected.
  [[nodiscard]] bool is_cluster() const noexcept { return is_cluster_; }

  /// The connected link to the coordinator that serves the shard, if there is one.
  [[nodiscard]] std::optional<std::size_t> link_of(shard_id shard) const;

  /// True when the map is known and there is such a link to every shard. Linear in their number.
  [[nodiscard]] bool reaches_all() const;

  /// True when the link leads to an earlier place of the shard than the one that is known, which
  /// need not be connected. `epoch`: one in which the shard was served at the link.
  [[nodiscard]] bool
  has_moved_on(shard_id shard, std::size_t link, replication::epoch_number epoch) const;

  [[nodiscard]] const cluster_map& map() const noexcept { return map_; }

  /// Number of links that were ever there.
  [[nodiscard]] std::size_t links() const noexcept { return links_.size(); }

private:
  struct link {
    std::string address;
    /// Name of its coordinator; empty until it is known.
    std::string node{};
    bool is_up = false;
    /// It has told its map on this connection, so that this client knows at least as much as it.
    bool is_told = false;
    bool has_ended = false;
    /// Named by the user.
    bool is_given = false;
  };

  /// A shard of which its place may say that it is not there.
  struct absence {
    bool is_nowhere = false;
    /// The number of calls of `retry` until it is asked for again; at least 1 while it is nowhere.
    unsigned pauses_left = 0;
    /// The number of them the next time.
    unsigned pauses_next = 1;
  };

  /// The link to a place: connected to its node, or to be connected to it.
  [[nodiscard]] std::optional<std::size_t> link_to(const shard_place& place) const;
  /// A coordinator is connected at the address: another one that is said to be there is gone.
  [[nodiscard]] bool is_taken(const std::string& address) const;
  void end(std::size_t link, changes& out);
  void dial_missing(changes& out);
  void close_left(changes& out);
  /// Finds the shards of which their coordinator tells again that they are there, after it has said
  /// that they are not yet.
  void find_arrivals(
    std::size_t link, const map_news& news, std::span<const shard_id> not_here, changes& out);
  /// The place of the shard says that it is not there.
  void note_nowhere(std::size_t shard);
  /// Finds the link of each shard again, and lists the shards that have another one.
  void find_links(changes& out);

  std::vector<link> links_;
  cluster_map map_;
  /// By shard.
  std::vector<std::optional<std::size_t>> link_of_;
  /// By shard; the epoch of which `link_of_` is.
  std::vector<replication::epoch_number> epochs_;
  /// By shard.
  std::vector<absence> absences_;
  bool is_cluster_ = false;
};

} // namespace codeq::cluster
