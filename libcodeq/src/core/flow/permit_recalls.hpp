// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/permit_command.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::core {

/// The recalls of permits whose limit keys this shard owns and has closed. Volatile: an operator's
/// close that was not answered is asked for again.
///
/// An operator's close waits until each shard that has permits of the key has confirmed the recall,
/// or is served anew: then nothing of the key starts before the close ends. Nothing waits for the
/// recall after a handler's report, which is said once; where it is lost, unspent permits end by
/// their time.
class permit_recalls {
public:
  /// An operator's close waits no longer than this, and names the shards that have not confirmed.
  static constexpr duration wait_max{1500};
  /// Interval at which an unconfirmed recall is said again, since either message may be lost.
  static constexpr duration say_again{200};
  /// An operator's closes that wait, of one tenant, and of all tenants, which share them: each
  /// message names all that a shard has not confirmed.
  static constexpr std::size_t waiting_max = 100;
  static constexpr std::size_t waiting_of_all_max = 1000;
  /// Keys of one tenant that reports have closed and that are not said yet. Further ones are not
  /// said, as if the message was lost.
  static constexpr std::size_t closed_max = 10'000;
  /// Keys that one message recalls because of reports, at most.
  static constexpr std::size_t message_keys_max = 1000;

  /// An operator's close of a key, and who asked for it.
  struct close {
    limit_address limit;
    std::string key;
    peer_id peer = 0;
    std::uint64_t number = 0;
  };

  /// The shards that have permits of a key, with the sessions of the last messages that were heard
  /// of them.
  using holders = std::map<shard_id, std::uint32_t>;

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty() && closed_.empty(); }

  /// Another close of the tenant may wait: it has less than `waiting_max`, and leaves as many of
  /// `waiting_of_all_max` to others as it has.
  [[nodiscard]] bool has_room(const std::string& tenant) const;

  /// Number of the tenant's closes that wait, and of all.
  [[nodiscard]] std::size_t waiting_of(const std::string& tenant) const;
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  /// The close is answered when all these shards have confirmed the recall. `epoch`: greater for
  /// each process of this shard. @pre has_room, and `by` is not empty
  void wait(close what, holders by, std::uint32_t epoch, monotonic_time now);

  /// A handler's report closed the key, at the shard `by`, which has returned its permits itself.
  void note_closed(permit_recall key, shard_id by);

  /// A shard has followed the recalls up to that number, if it is the session that was recalled. A
  /// later session has no permits from before that are not spent.
  void confirm(shard_id by, std::uint32_t session, std::uint64_t recall);

  struct ended {
    close what;
    /// The shards that have not confirmed in time: what they have permits for may still start.
    std::vector<shard_id> unconfirmed{};
  };

  /// Takes the closes that are to be answered.
  [[nodiscard]] std::vector<ended> take_ended(monotonic_time now);

  struct letter {
    shard_id to{};
    std::vector<permit_recall> keys{};
    std::uint64_t recall = 0;
  };

  /// Takes the messages to send now. `askers`: the shards that have permits.
  [[nodiscard]] std::vector<letter> say(monotonic_time now, const std::set<shard_id>& askers);

  /// When to call `take_ended` and `say` if nothing else happens; empty: never.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

private:
  struct waiting_close {
    close what;
    std::uint64_t recall = 0;
    monotonic_time until{};
    holders unconfirmed{};
  };

  void say_closed(std::map<shard_id, letter>& letters, const std::set<shard_id>& askers);
  void say_waiting(std::map<shard_id, letter>& letters) const;

  /// In the order of their numbers.
  std::vector<waiting_close> waiting_;
  std::uint64_t counter_ = 0;
  monotonic_time say_at_{};
  /// Keys that reports have closed, and where, by tenant; none is empty.
  std::map<std::string, std::map<permit_recall, shard_id>> closed_;
  /// The tenant whose key was said last. The next one follows it, so that all have their turns.
  std::string said_tenant_;
};

} // namespace codeq::core
