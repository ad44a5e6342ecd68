// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/blocks/segment_block.hpp"
#include "core/commands/encoded_tasks.hpp"
#include "core/commands/event.hpp"

#include <string>
#include <string_view>

/// Converts between the core's events and values on disk; no other code knows the bytes of records.
/// Decoding errors are `corruption`.
namespace codeq::storage {

/// The format that this version writes; stores with a newer format are refused. Blocks of format 3
/// may contain fairness keys, those of format 4 also limits; format 5 has their version 2.
inline constexpr std::uint32_t format_version = 5;

/// The version of blocks that every coordinator reads that reads `store_format`.
[[nodiscard]] constexpr std::uint64_t block_version_of(std::uint32_t store_format) noexcept {
  return store_format < 5 ? core::block_version_oldest : core::block_version_newest;
}

/// The store's own record.
struct store_record {
  std::uint32_t version = format_version;
  /// Random number, fixed when the store was created.
  std::uint64_t store_id = 0;
  std::uint16_t shard_count = 0;
  /// Raised at each start.
  std::uint32_t epoch = 0;
};

[[nodiscard]] std::string encode(const store_record& record);
[[nodiscard]] std::string encode(const core::segment_appended& e);
[[nodiscard]] std::string encode(const core::batch_granted& e);
[[nodiscard]] std::string encode(const core::leases_ended& e);
[[nodiscard]] std::string encode(const core::tasks_changed& e);
[[nodiscard]] std::string encode(const core::follow_ups_sent& e);

/// Does not encode the queue's name, which is in the record's key.
[[nodiscard]] std::string encode(const core::queue_configured& e);

/// Does not encode the queue's name, which is in the record's key.
[[nodiscard]] std::string encode(const core::queue_totals& totals);

/// The totals record that is left of a removed queue.
[[nodiscard]] std::string encode(const core::purge_mark& mark);

/// Encodes only the shard's own part of a snapshot; totals, blocks, fates and sessions have their
/// own records.
[[nodiscard]] std::string encode(const core::snapshot_taken& e);
[[nodiscard]] std::string encode(const core::segment_block& block, core::log_position position);
[[nodiscard]] std::string encode(const core::segment_fate& fate, core::log_position position);

[[nodiscard]] std::string encode(const core::retained_key& record);

/// Does not encode the schedule's name, which is in the record's key; nor do the next two.
[[nodiscard]] std::string encode(const core::schedule_definition& definition);
[[nodiscard]] std::string
encode(const core::schedule_progress& progress, core::log_position position, timestamp at);
[[nodiscard]] std::string encode(const core::occurrence& entry);

[[nodiscard]] result<core::schedule_definition> decode_schedule(std::string_view value);

/// How far a schedule had come at a time.
struct progress_record {
  core::log_position position = 0;
  timestamp at;
  core::schedule_progress progress;
};

[[nodiscard]] result<progress_record> decode_progress(std::string_view value);
[[nodiscard]] result<core::occurrence> decode_occurrence(std::string_view value);

/// Does not encode the names, which are in the record's key; nor does the next one. @pre the limit
/// is not removed
[[nodiscard]] std::string encode(const core::limit_defined& e);

/// The record of a limit key, or the one of all keys together.
struct limit_key_record {
  timestamp at;
  std::int64_t paid_at = 0;
  timestamp closed_until{};
  timestamp used_up_at{};
};

[[nodiscard]] std::string encode(const limit_key_record& record);

/// A permit that another shard has, whose number is in the key, or what is known of the shard.
struct permit_record {
  timestamp at;
  core::permit what{};
  std::uint32_t session = 0;
  std::uint64_t heard = 0;
};

[[nodiscard]] std::string encode(const permit_record& record);

/// `number`: that of the key.
[[nodiscard]] result<permit_record> decode_permit(std::string_view value, std::uint64_t number);

[[nodiscard]] result<core::limit_defined>
decode_limit(std::string_view value, const limit_address& limit);
[[nodiscard]] result<limit_key_record> decode_limit_key(std::string_view value);

[[nodiscard]] std::string encode(const core::producer_record& session);

/// Does not encode the task's id, which is in the record's key.
[[nodiscard]] std::string encode(const core::task_note& note);

/// Does not encode the command's time and operation, which are in the record's key.
[[nodiscard]] std::string encode(const core::audit_entry& entry);

/// `by` has the time and the operation of the key.
[[nodiscard]] result<core::audit_entry>
decode_audit(std::string_view value, timestamp at, std::uint64_t operation);

/// A task's checkpoint and the time at which it was saved.
struct checkpoint_record {
  core::lease_checkpoint checkpoint;
  timestamp at;
};

/// Does not encode the task's id, which is in the record's key.
[[nodiscard]] std::string encode(const core::lease_checkpoint& checkpoint, timestamp at);

[[nodiscard]] result<checkpoint_record> decode_checkpoint(std::string_view value, sequence seq);

[[nodiscard]] result<store_record> decode_store(std::string_view value);

/// Does not decode the tasks' bodies: `pieces` stays empty.
[[nodiscard]] result<core::segment_appended> decode_segment(std::string_view value, sequence first);

/// Decodes the bodies of the tasks in a segment record; they share one copy of the record.
[[nodiscard]] result<core::encoded_tasks> decode_bodies(std::string_view value);
[[nodiscard]] result<core::batch_granted> decode_grant(std::string_view value);

/// Does not decode the texts.
[[nodiscard]] result<core::leases_ended> decode_outcome(std::string_view value);

/// Decodes the text of one end of an outcome record.
[[nodiscard]] result<bytes> decode_outcome_text(std::string_view value, std::uint32_t index);

/// Does not decode the replaced bodies.
[[nodiscard]] result<core::tasks_changed> decode_change(std::string_view value);

[[nodiscard]] result<core::queue_configured>
decode_queue(std::string_view value, const queue_address& queue);
[[nodiscard]] result<core::retained_key> decode_key(std::string_view value);

[[nodiscard]] result<core::task_note> decode_note(std::string_view value, sequence seq);

/// Decodes the tasks' bodies, too.
[[nodiscard]] result<core::follow_ups_sent> decode_follow_ups(std::string_view value);

/// The totals of a queue, or the mark that is left of a removed one.
struct totals_record {
  core::queue_totals totals;
  bool is_removed = false;
  /// False in records of older versions: how long the records of ended tasks are kept is not known.
  bool has_record_times = false;
};

[[nodiscard]] result<totals_record>
decode_totals(std::string_view value, const queue_address& queue);

/// Decodes only the shard's own part, with the totals of all queues if the record has format 1.
[[nodiscard]] result<core::snapshot_taken> decode_snapshot(std::string_view value);
[[nodiscard]] result<core::segment_block> decode_block(std::string_view value, sequence first);
[[nodiscard]] result<core::segment_fate> decode_fate(std::string_view value, sequence first);
[[nodiscard]] result<core::producer_record>
decode_producer(std::string_view value, const producer_id& producer);

} // namespace codeq::storage
