// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "coordinator/replica/copy_messages.hpp"
#include "coordinator/replica/replica_host.hpp"
#include "coordinator/replica/spool_keeper.hpp"
#include "replication/epoch_index.hpp"
#include "replication/messages.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace codeq::coordinator {

/// The copies of a shard's data that a replica sends to others, at most one to each. Has the next
/// parts read when earlier ones are written, sends parts again that were lost, and gives up a copy
/// that gets on with nothing. Used by its replica, which passes the time.
class copy_sender {
public:
  struct options {
    replication::replica_id own{};
    /// Counts the starts of this process.
    std::uint64_t incarnation = 0;
    /// Called at the end of a copy, unless `clear` or a further copy ends it.
    std::function<void(replication::replica_id to)> ended;
  };

  /// @pre `host` and `kept` outlive the sender
  copy_sender(options opts, replica_host& host, spool_keeper& kept);

  /// Begins a copy, in place of one to the same replica.
  void begin(replication::replica_id to, replication::epoch_number epoch, monotonic_time now);

  /// See `replica_host`.
  void
  opened(const replication::copy_id& id, result<replication::epoch_index> log, monotonic_time now);
  void part_read(const replication::copy_id& id, result<std::string> packed);

  /// An answer of the taker.
  void answered(replication::replica_id from, const copy_answer& what, monotonic_time now);

  /// Asks the takers that have not answered for a while, and gives up the copies that get on with
  /// nothing.
  void tend(monotonic_time now);

  /// Ends all copies.
  void clear();

private:
  struct copy {
    replication::copy_id id;
    replication::epoch_number epoch = 0;
    std::uint32_t parts_read = 0;
    std::uint32_t parts_sent = 0;
    std::uint32_t parts_written = 0;
    /// Parts that were sent and may be lost; at most `bounds::copy_parts_ahead`.
    std::deque<copy_part> missing{};
    bool is_offered = false;
    bool has_ended = false;
    /// Whether the taker has removed its own data, and the number of its parts or steps.
    std::pair<bool, std::uint32_t> progress{};
    /// The time of the latest progress.
    monotonic_time heard{};
    /// When the latest question was sent.
    monotonic_time asked{};
  };

  using copies = std::map<replication::replica_id, copy>;

  [[nodiscard]] copies::iterator find(const replication::copy_id& id);
  void note_arrived(replication::replica_id at, copy& sent, const copy_answer& what);
  void read_parts(copy& sent);
  void end(replication::replica_id to);

  options options_;
  replica_host& host_;
  spool_keeper& kept_;
  std::uint64_t begun_ = 0;
  copies copies_;
};

} // namespace codeq::coordinator
