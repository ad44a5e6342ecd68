// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace codeq::http {

/// How a claim reaches each shard: here, over the connection to the coordinator that serves it, or
/// not at present. A shard that is both is reached here. The claim attaches to a shard when it uses
/// it first on a way; what it had there is void when the way changes. Pure.
class claim_ways {
public:
  enum class way : std::uint8_t { none, here, far };

  /// How the way to a shard has changed. A way that is renewed has left and come.
  struct change {
    bool has_left = false;
    bool has_come = false;
    /// The attachment over a connection that it has to end; 0: none.
    std::uint32_t attachment = 0;

    bool operator==(const change&) const = default;
  };

  /// At first no shard is reached.
  explicit claim_ways(std::size_t shards) : places_(shards) {}

  [[nodiscard]] way to(shard_id shard) const;

  /// There is a way to each shard.
  [[nodiscard]] bool reach_all() const;

  /// The gateway finds the shard here, or not. A claim that is attached here is told by the shard
  /// itself, in the order of its other messages, so that this is ignored then.
  [[nodiscard]] change find_here(shard_id shard, bool is_here);

  /// The shard comes to this coordinator or leaves it. @pre the claim is attached here
  [[nodiscard]] change set_here(shard_id shard, bool is_here);

  /// There is a connection to the coordinator of the shard, or none. One that is told again is new.
  [[nodiscard]] change set_far(shard_id shard, bool is_reached);

  /// Counts the claim as attached on its way to the shard. Returns the way on which it has to
  /// attach now; empty when it is attached. Without a way it attaches here, where it is told when
  /// the shard comes.
  [[nodiscard]] std::optional<way> attach(shard_id shard);

  [[nodiscard]] bool is_attached_here(shard_id shard) const {
    return places_[value(shard)].is_attached_here;
  }

  /// The claim is attached on its way to the shard.
  [[nodiscard]] bool is_attached(shard_id shard) const {
    return to(shard) == way::far ? attachment(shard) != 0 : is_attached_here(shard);
  }

  /// The attachment over a connection; 0: none. Each one has another number.
  [[nodiscard]] std::uint32_t attachment(shard_id shard) const {
    return places_[value(shard)].attachment;
  }

private:
  struct place {
    bool is_here = false;
    bool is_reached = false;
    bool is_attached_here = false;
    std::uint32_t attachment = 0;

    [[nodiscard]] way now() const;
  };

  /// The change from one state of a place to its next one.
  [[nodiscard]] static change follow(place& at, const place& next, bool is_renewed);

  std::vector<place> places_;
  std::uint32_t last_attachment_ = 0;
};

} // namespace codeq::http
