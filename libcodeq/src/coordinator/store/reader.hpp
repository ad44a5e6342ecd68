// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "coordinator/shard/segment_cache.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/task_store.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace codeq::coordinator {

struct reader_options {
  std::shared_ptr<const storage::task_store> store;
  /// Bytes of bodies read lately that are kept for each shard, since a segment is claimed in many
  /// parts.
  std::size_t cache_bytes = limits::segment_cache_bytes_default / 4;
};

/// The outside of the reader. No call leads back into the reader before it has returned.
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

  /// The store failed, though what was committed has to be readable: must not return.
  virtual void fail(const error& reason) = 0;
};

/// Reads bodies, results, fates and histories back from the store, and answers the peer. It waits
/// for the disk, so its driver calls it from a thread of its own.
class reader {
public:
  /// @pre `port` outlives the reader
  reader(reader_options options, reader_port& port);

  /// Completes granted tasks by their bodies and delivers them.
  void fetch(bodies_wanted wanted);

  /// Says who had the keys.
  void find(const keys_wanted& wanted);

  /// Reads the bodies of a segment's survivors for their shard.
  void read(const survivors_wanted& wanted);

  void answer(const stored_inquiry& asked) { answer({&asked, 1}); }

  /// A fate that several of them in a row are about is read once.
  void answer(std::span<const stored_inquiry> asked);

private:
  void answer(const stored_inquiry& asked, storage::fate_reader& fates);

  /// The bodies of a run, or nothing when they are gone.
  [[nodiscard]] std::optional<core::encoded_tasks>
  body_of(shard_id shard, const core::granted_run& run);

  /// Finds the bodies of all runs that came without, as far as they were not replaced and are
  /// there.
  void find_bodies(bodies_wanted& wanted);

  /// Which runs are of a segment.
  using runs_by_segment = std::map<sequence, std::vector<std::size_t>>;

  void read_bodies(bodies_wanted& wanted, const runs_by_segment& runs_of, bool aside);
  [[nodiscard]] segment_cache& cache_of(shard_id shard);

  /// The body of the task that is asked about; empty when nobody wants it or it is gone.
  [[nodiscard]] bytes body_if_wanted(const stored_inquiry& asked, const core::task_view& view);
  void describe(const stored_inquiry& asked, const core::task_view& view);
  void tell_text(const stored_inquiry& asked, const core::task_view& view);
  void tell_history(const stored_inquiry& asked, const core::task_view& view);
  void answer_unknown(const stored_inquiry& asked);
  void reply_to(const stored_inquiry& asked, protocol::peer_reply reply);

  /// Takes the value, or stops the process.
  template <class T>
  T or_fail(result<T> r);

  reader_options options_;
  reader_port& port_;
  std::map<shard_id, segment_cache> caches_;
};

} // namespace codeq::coordinator
