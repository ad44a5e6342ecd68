// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "protocol/messages.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace codeq::protocol {

/// Writes what a task says of attempts, lease and retries; the fields that `task_spec` does not
/// have keep the schema's defaults.
void write_settings(const task_spec& task, schema::TaskSettings::Builder to);

/// Tasks as they travel: their bodies, one after the other, and what runs of them share. Built by
/// the thread that enqueues, so that the one that owns the connections only copies.
class encoded_tasks {
public:
  /// Checks and encodes tasks. Errors: as `validate`, with the task's place when there are several;
  /// `too_large` when they do not fit one frame (`limits::frame_bytes_max`).
  [[nodiscard]] static result<encoded_tasks> encode(std::span<const task_spec> tasks);

  /// How many tasks.
  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }

  /// Bytes that the request will have, at most.
  [[nodiscard]] std::size_t request_bytes() const noexcept;

  /// Where a request goes and how its retry is recognised.
  struct address {
    producer_id producer;
    std::uint64_t number = 0;
    std::uint64_t answered_below = 0;
    shard_id shard{};
  };

  /// The request that adds these tasks.
  [[nodiscard]] enqueue_request to_request(const address& to) const;

  /// Writes all tasks as follow-ups of a completion, in at most `request_bytes`.
  void write_follow_ups(schema::FollowUps::Builder to) const;

private:
  struct run {
    std::uint32_t count = 0;
    /// The run's first task, without payload and headers.
    task_spec shared;
  };

  encoded_tasks() = default;
  void append(const task_spec& task);
  void write_run(const run& from, schema::EnqueueRun::Builder to) const;
  void write_runs(capnp::List<schema::EnqueueRun>::Builder to) const;
  void write_bodies(schema::Packed::Builder to) const;

  std::vector<run> runs_;
  std::vector<std::uint32_t> ends_;
  /// The bodies; words, because each begins at a multiple of 8 bytes.
  std::vector<std::uint64_t> words_;
};

} // namespace codeq::protocol
