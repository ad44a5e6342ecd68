// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "coordinator/shard/access.hpp"
#include "coordinator/shard/segment_cache.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "storage/recovery/task_list.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/task_store.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace codeq::coordinator {

struct reader_options {
  std::shared_ptr<const storage::task_store> store;
  /// Size of the cache of bodies per shard, since a segment is claimed in many parts.
  std::size_t cache_bytes = tuning::segment_cache_bytes_default / 4;
};

/// A part of a list that the reader works on.
struct open_list {
  shard_id shard{};
  core::peer_id peer = 0;
  std::string tenant;
  storage::task_list tasks;
};

[[nodiscard]] open_list begin_list(stored_list asked);

/// The reader's interface to its driver. Calls return before they call the reader back.
class reader_port {
public:
  virtual ~reader_port() = default;

  virtual void reply(core::peer_id peer, shard_reply reply) = 0;
  virtual void deliver(core::peer_id peer, task_delivery tasks) = 0;
  virtual void tell_credits(core::peer_id peer, const credit_news& news) = 0;

  /// Answers a shard.
  virtual void
  keys_found(shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) = 0;

  virtual void survivors_read(shard_id shard, core::copy_survivors found) = 0;

  /// A segment that the shard wants to close is damaged, and so stays as it is.
  virtual void survivors_damaged(const survivors_wanted& wanted, const error& reason) = 0;

  /// The store failed to return committed data: must not return.
  virtual void fail(const error& reason) = 0;
};

/// Reads bodies, results, fates and histories from the store and answers the peer. It waits for the
/// disk, so its driver calls it from a thread of its own.
class reader {
public:
  /// @pre `port` outlives the reader
  reader(reader_options options, reader_port& port);

  /// Adds the bodies to granted tasks and delivers them.
  void fetch(bodies_wanted wanted);

  /// Looks up the owners of the keys.
  void find(const keys_wanted& wanted);

  /// Reads the bodies of a segment's survivors for their shard.
  void read(const survivors_wanted& wanted);

  void answer(const stored_inquiry& asked) { answer({&asked, 1}); }

  /// Does one turn's work on a list. Returns true when it is complete and was sent to the peer.
  [[nodiscard]] bool go_on(open_list& list);

  /// Completes a list.
  void answer(stored_list asked);

  /// Answers a list for which there is no room.
  void refuse(const stored_list& asked, const error& reason);

  /// Answers a look-up for which there is no room: nothing is read.
  void refuse(const stored_inquiry& asked, const error& reason);

  /// A fate record that several consecutive queries need is read only once.
  void answer(std::span<const stored_inquiry> asked);

private:
  void answer(const stored_inquiry& asked, storage::fate_reader& fates);

  /// The bodies of a run; empty when they no longer exist.
  [[nodiscard]] std::optional<core::encoded_tasks>
  body_of(shard_id shard, const core::granted_run& run);

  /// Finds the missing bodies of all runs, except those that were replaced or no longer exist.
  void find_bodies(bodies_wanted& wanted);

  /// The indexes of the runs of each segment.
  using runs_by_segment = std::map<sequence, std::vector<std::size_t>>;

  void read_bodies(bodies_wanted& wanted, const runs_by_segment& runs_of, bool aside);
  [[nodiscard]] segment_cache& cache_of(shard_id shard);

  /// The body of the queried task; empty when it was not requested or no longer exists.
  [[nodiscard]] bytes body_if_wanted(const stored_inquiry& asked, const core::task_view& view);
  void describe(const stored_inquiry& asked, const core::task_view& view);
  void tell_text(const stored_inquiry& asked, const core::task_view& view);
  void tell_history(const stored_inquiry& asked, const core::task_view& view);
  void tell_audit(const stored_inquiry& asked);
  void tell_schedule(const stored_inquiry& asked);

  void answer_unknown(const stored_inquiry& asked) { refuse(asked, access::unknown_task()); }

  void reply_to(const stored_inquiry& asked, protocol::peer_reply reply);

  /// Returns the value, or ends the process.
  template <class T>
  T or_fail(result<T> r);

  reader_options options_;
  reader_port& port_;
  std::map<shard_id, segment_cache> caches_;
};

} // namespace codeq::coordinator
