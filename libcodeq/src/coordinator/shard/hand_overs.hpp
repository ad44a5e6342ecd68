// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "base/fair_share.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace codeq::coordinator {

/// Bounds of what one shard of a cluster hands over to each other shard.
struct hand_over_limits {
  /// Records of follow-ups that are under way and not confirmed: at most so many, and so many bytes
  /// unless there is only one.
  std::size_t records = 256;
  std::size_t bytes = 4u << 20;
  /// Bytes of all follow-ups that are not confirmed, which the tenants share. What would add to
  /// those of a tenant that has its share has to wait.
  std::size_t waiting_bytes = 64u << 20;
  /// A shard that has not confirmed anything of what is under way for so long counts as silent.
  duration silence{1000};
  /// Interval at which a silent shard is sent one record.
  duration question{250};
  /// How often the shard itself syncs follow-ups of others before it confirms them; 0 when every
  /// turn is synced.
  duration sync_pace{0};
};

/// `hand_over_limits::sync_pace` in `os` mode.
inline constexpr duration os_hand_over_pace{250};

/// Decides when the follow-ups of one shard are sent to the other shards of a cluster, which others
/// serve, come and go. The record of each follow-up is durable and stays with its shard until it is
/// confirmed; this class only knows its number and size. Records go in order, within a window for
/// each other shard; the shards take turns. One that is silent, or that another coordinator serves
/// since, is sent its first record again and again; when it confirms something, everything that it
/// has not confirmed is sent again. Pure; logarithmic in the number of shards and of records.
class hand_overs {
public:
  /// A record that is to be sent now.
  struct parcel {
    shard_id to{};
    std::uint64_t number = 0;

    friend bool operator==(const parcel&, const parcel&) = default;
  };

  explicit hand_overs(const hand_over_limits& limits = {}) : limits_(limits) {}

  [[nodiscard]] const hand_over_limits& limits() const noexcept { return limits_; }

  /// The bytes of a record by tenant.
  using tenant_bytes = std::map<std::string, std::size_t>;

  /// The follow-ups of a record are durable here. @pre numbers of a shard ascend
  void add(shard_id to, std::uint64_t number, tenant_bytes bytes);

  /// The other shard has the record, or need not get it any more.
  void confirmed(shard_id by, std::uint64_t number, monotonic_time now);

  /// The shard is served anew, or has a new connection: what was under way may be lost.
  void moved(shard_id to, monotonic_time now);

  /// The next record to send; empty: none, before a call of another function or `next_look`.
  [[nodiscard]] std::optional<parcel> next(monotonic_time now);

  /// When a shard may count as silent, or is to be asked again; empty: never.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

  /// The shard has not confirmed as much of the tenant as is allowed; see `base::fair_share`.
  [[nodiscard]] bool is_full(shard_id to, const std::string& tenant) const;

  /// Number of records that are not confirmed.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
  struct record {
    tenant_bytes by_tenant;
    std::size_t bytes = 0;
  };

  struct target {
    /// The records that are not confirmed, by number.
    std::map<std::uint64_t, record> open;
    base::fair_share open_bytes;
    /// The records up to this one are under way.
    std::uint64_t sent = 0;
    std::size_t records_sent = 0;
    std::size_t bytes_sent = 0;
    bool is_silent = false;
    /// With records under way: when the shard will count as silent. Of a silent one: when it is to
    /// be asked again.
    monotonic_time look{};
  };

  [[nodiscard]] std::optional<std::uint64_t> next_of(target& to, monotonic_time now) const;
  static void forget_sent(target& to);

  hand_over_limits limits_;
  /// Only those with open records.
  std::map<shard_id, target> targets_;
  /// The shard that had a turn last.
  shard_id last_{};
  std::size_t size_ = 0;
};

} // namespace codeq::coordinator
