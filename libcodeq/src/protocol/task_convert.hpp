// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "protocol/messages.hpp"
#include "protocol/task_validation.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace codeq::protocol {

/// Tasks in encoded form: their bodies, one after the other, and the fields shared by runs of them.
/// Built on the thread that enqueues, so that the thread of the connections only copies.
class encoded_tasks {
public:
  /// Checks and encodes tasks. Errors: as `validate`, with the task's index when there are several
  /// tasks; `too_large` when they do not fit into one frame (`tuning::frame_bytes_max`). With a
  /// `noun`, errors use it for a task and always name the index. `tenant` is that of tasks that
  /// name none.
  [[nodiscard]] static result<encoded_tasks> encode(
    std::span<const task_spec> tasks,
    std::string_view noun = {},
    std::string_view tenant = default_tenant);

  /// Number of tasks.
  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }

  /// True when a task has a key, a group or a limit, which determines its shard. A request with
  /// several parts is addressed.
  [[nodiscard]] bool is_addressed() const noexcept;

  /// Upper bound of the request's size in bytes.
  [[nodiscard]] std::size_t request_bytes() const { return bytes_of(all_runs()); }

  /// Adjacent tasks that share all fields but their bodies form a run; runs are numbered from 0.
  using run_numbers = std::vector<std::uint32_t>;

  [[nodiscard]] run_numbers all_runs() const;

  /// Indexes of the tasks of these runs, in order.
  [[nodiscard]] std::vector<std::uint32_t> tasks_of(const run_numbers& runs) const;

  /// The runs of one shard.
  struct part {
    shard_id shard{};
    run_numbers runs;
  };

  /// Splits runs by their shards, in the order of their first tasks. Runs without key, group and
  /// limit go to the shard of the first run that has one, or to `anywhere` when none has. @pre
  /// shard_count > 0
  [[nodiscard]] std::vector<part>
  split(const run_numbers& runs, std::uint16_t shard_count, shard_id anywhere) const;

  /// Destination of a request, and the fields by which its repeat is recognised.
  struct address {
    producer_id producer;
    std::uint64_t number = 0;
    std::uint64_t answered_below = 0;
    shard_id shard{};
  };

  /// The request that adds the tasks of these runs.
  [[nodiscard]] enqueue_request to_request(const address& to, const run_numbers& runs) const;

  /// The request that adds all tasks.
  [[nodiscard]] enqueue_request to_request(const address& to) const {
    return to_request(to, all_runs());
  }

  /// Writes all tasks as follow-ups of a completion; needs at most `request_bytes`.
  void write_follow_ups(schema::FollowUps::Builder to) const;

private:
  struct run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    /// The run's first task, without payload and headers. Its tenant is set.
    task_spec shared;
  };

  encoded_tasks() = default;
  void append(const task_spec& task, std::string_view tenant);
  [[nodiscard]] std::size_t bytes_of(const run_numbers& runs) const;
  /// The shard that the run's tasks have to be on; empty when any may have them.
  [[nodiscard]] static std::optional<shard_id> owner_of(const run& of, std::uint16_t shard_count);
  [[nodiscard]] std::uint32_t begin_of(const run& of) const;
  [[nodiscard]] std::uint32_t end_of(const run& of) const;
  void write_runs(const run_numbers& runs, capnp::List<schema::EnqueueRun>::Builder to) const;
  void write_bodies(const run_numbers& runs, schema::Packed::Builder to) const;

  std::vector<run> runs_;
  std::vector<std::uint32_t> ends_;
  /// The bodies; in words, because each begins at a multiple of 8 bytes.
  std::vector<std::uint64_t> words_;
};

} // namespace codeq::protocol
