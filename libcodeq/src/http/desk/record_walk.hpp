// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "http/desk/shard_desk.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace codeq::http {

/// Finds the records that a part of the gateway keeps as tasks of a tenant of its own. The records
/// of a shard are those of the coordinator that serves it: they are read at the start, and in a
/// cluster each time that the shard comes here, and once more a while after that or after the loss
/// of another coordinator, which may have added some. What cannot be read is read again after
/// growing pauses, until it can or the shard leaves. The gateway's actor owns the walk, from its
/// start on.
class record_walk {
public:
  struct events {
    /// A record was found, perhaps once more.
    std::function<void(const task_summary&)> found;
    /// The shard left: its records are another coordinator's now.
    std::function<void(shard_id)> left = [](shard_id) {};
    /// Records are opened anew, also by other coordinators: all are looked at when one is lost.
    bool are_reopened = false;
  };

  /// `tenant`: of the records. `what` names them in the log.
  void start(shard_desk& desk, std::string tenant, std::string what, events then);

  /// Reads nothing more.
  void stop() { stopped_ = true; }

  /// Reads a record's text; `done` gets it, or an error that does not pass by itself. Not called
  /// when the shard leaves meanwhile.
  void read(task_id record, shard_desk::then<task_detail> done);

  /// True until all shards that are here were read, or could not be at the first attempt.
  [[nodiscard]] bool is_reading() const noexcept { return reading_ > 0; }

  /// The shard is here and all of its records were found.
  [[nodiscard]] bool has_read(shard_id shard) const { return shards_[value(shard)].is_read; }

  /// Where the record with that queue and key is, or would be.
  [[nodiscard]] shard_id shard_of(const std::string& queue, const std::string& key) const;

private:
  struct shard_state {
    /// How often the shard came or left: what was begun before the latest time is over.
    std::uint64_t visit = 0;
    /// Number of failed reads since the last that succeeded.
    std::uint32_t failures = 0;
    bool is_read = false;
    /// Records up to this one were found.
    sequence seen = 0;
  };

  void came(shard_id shard);
  /// The state of one walk through the records of a shard.
  struct progress {
    sequence newest = 0;
    /// `losses_` when the walk began.
    std::uint64_t losses = 0;
  };

  void walk(shard_id shard);
  void walk_again(shard_id shard, const error& why);
  /// Returns false when it has found all records.
  bool take(shard_id shard, const client::list_part& part, progress& of);
  void walk_later();
  void read_text(task_id record, std::uint32_t failures, shard_desk::then<task_detail> done);
  [[nodiscard]] bool is_over(shard_id shard, std::uint64_t visit) const {
    return stopped_ || shards_[value(shard)].visit != visit;
  }

  shard_desk* desk_ = nullptr;
  std::string tenant_;
  std::string what_;
  events then_;
  std::vector<shard_state> shards_;
  /// Number of first attempts that are under way.
  std::size_t reading_ = 0;
  /// Number of losses of other coordinators.
  std::uint64_t losses_ = 0;
  bool will_walk_ = false;
  bool stopped_ = false;
};

} // namespace codeq::http
