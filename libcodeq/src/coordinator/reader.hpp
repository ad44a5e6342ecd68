// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/store_actors.hpp"
#include "coordinator/segment_cache.hpp"
#include "storage/task_store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::coordinator {

struct reader_options {
  std::shared_ptr<const storage::task_store> store;
  /// Bytes of bodies read lately that are kept for each shard, since a segment is claimed in many
  /// parts.
  std::size_t cache_bytes = limits::segment_cache_bytes_default / 4;
  /// Called when the store failed; must not return.
  std::function<void(const error&)> on_failure;
};

/// The state of the reader.
class reader_state {
public:
  static constexpr const char* name = "reader";

  void start(actors::reader_actor::pointer self, reader_options options);
  void fetch(actors::fetch_bodies& request);
  void answer(const actors::answer_inquiry& request);

private:
  /// The bodies of a run, or nothing when they are gone.
  [[nodiscard]] std::optional<core::encoded_tasks>
  body_of(shard_id shard, const core::granted_run& run);

  /// Finds the bodies of all runs that came without, as far as they were not replaced and are
  /// there.
  void find_bodies(actors::fetch_bodies& request);

  /// Which runs are of a segment.
  using runs_by_segment = std::map<sequence, std::vector<std::size_t>>;

  void read_bodies(actors::fetch_bodies& request, const runs_by_segment& runs_of, bool aside);
  [[nodiscard]] segment_cache& cache_of(shard_id shard);

  /// The body of the task that is asked about; empty when nobody wants it or it is gone.
  [[nodiscard]] bytes
  body_if_wanted(const actors::answer_inquiry& request, const core::task_view& view);
  void describe(const actors::answer_inquiry& request, const core::task_view& view);
  void tell_history(const actors::answer_inquiry& request, const core::task_view& view);
  void answer_unknown(const actors::answer_inquiry& request);

  /// Takes the value, or stops the process: what was committed has to be readable.
  template <class T>
  T or_fail(result<T> r);

  actors::reader_actor::pointer self_ = nullptr;
  reader_options options_;
  std::map<shard_id, segment_cache> caches_;
};

/// Reads bodies, results and fates back, on a thread of its own, and answers the session.
[[nodiscard]] actors::reader_actor::behavior_type
reader(actors::reader_actor::stateful_pointer<reader_state> self, const reader_options& options);

} // namespace codeq::coordinator
