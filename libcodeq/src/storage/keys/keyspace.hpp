// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/schedule.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The keys of the store. All numbers are big-endian and of fixed width, so that the order of the
/// bytes is the order of the fields. Stored on disk, never renumber; see "Changing the format" in
/// storage/README.md. A record that is removed "by compaction" is dropped by the
/// `retention_filter`.
///
///   key                           value                      written            removed
///   'M' "store"                   StoreRecord                overwritten        never
///   'C' shard:u16                 ShardRecord (snapshot)     overwritten        never
///   'S' shard:u16 first_seq:u64   SegmentRecord              once               single_remove
///   'A' shard:u16 first_seq:u64   SegmentRecord, one task    once               single_remove
///   'G' shard:u16 position:u64    GrantRecord                once               single_remove
///   'R' shard:u16 position:u64    OutcomeRecord              once               by compaction
///   'B' shard:u16 first_seq:u64   BlockRecord                overwritten        remove
///   'Q' shard:u16 tenant 0 queue  QueueRecord                overwritten        remove
///   'L' shard:u16 tenant 0 queue  TotalsRecord               overwritten        remove
///   'E' shard:u16 position:u64    ChangeRecord               once               single_remove
///   'U' shard:u16 position:u64    FollowUpRecord             once               single_remove
///   'F' shard:u16 first_seq:u64   FateRecord                 once               by compaction
///   'D' shard:u16 seq:u64         FateRecord, one task that  once               by compaction
///                                 was copied out of its 'S'
///   'K' shard:u16 name            KeyRecord                  overwritten        by compaction
///   'N' shard:u16 producer:u128   ProducerRecord             overwritten        remove
///   'P' shard:u16 seq:u64         a body in place of the     overwritten        remove
///                                 one in the task's 'A'
///   'V' shard:u16 seq:u64         CheckpointRecord           overwritten        remove
///   'W' shard:u16 first_seq:u64   HeadersRecord, the headers overwritten        remove, compaction
///                                 of a segment's tasks
///   'X' shard:u16 seq:u64         DeadRecord                 overwritten        remove
///   'J' shard:u16 at:u64          AuditRecord                overwritten        by compaction
///       operation:u64
///       position:u64
///   'H' shard:u16 seq:u64 slot:u8 HistoryRecord              overwritten        remove, compaction
///   'I' shard:u16 tenant 0 name   ScheduleRecord             overwritten        remove
///   'p' shard:u16 tenant 0 name   ScheduleProgressRecord     overwritten        remove
///   'Z' shard:u16 tenant 0 name   OccurrenceRecord           overwritten        remove
///       0 slot:u8
///   'l' shard:u16 tenant 0 name   LimitRecord                overwritten        remove
///   'k' shard:u16 tenant 0 name   LimitKeyRecord             overwritten        remove
///       0 key
///   'g' shard:u16 asker:u16       PermitRecord               overwritten        remove
///       number:u64
///   'M' "boot"                    BootRecord                 overwritten        never
///   'Y' shard:u16 0:u8            ReplicaRecord              overwritten        never
///   'Y' shard:u16 1:u8            ReplicaPositionRecord      overwritten        remove
///   'Y' shard:u16 2:u8 epoch:u32  EpochStartRecord           once               remove
///
/// The `name` of a key is tenant, queue, group and key, each behind its length:u16. `slot` is the
/// number of the history's entry modulo `limits::history_events_max`, or that limit for the first
/// entry of several tasks; with 'Z', which has the history of a schedule, modulo
/// `limits::schedule_history_max`.
///
/// Records of 'M' and 'Y' are each store's own; all others of a shard are those of all replicas.
///
/// The tags 'O' and 'T' were used once and must not be used again.
namespace codeq::storage {

/// First byte of a key. Stored on disk, never renumber.
enum class key_tag : char {
  aside = 'A',
  block = 'B',
  shard = 'C',
  copied_fate = 'D',
  change = 'E',
  fate = 'F',
  grant = 'G',
  history = 'H',
  schedule = 'I',
  audit = 'J',
  key = 'K',
  totals = 'L',
  store = 'M',
  producer = 'N',
  queue = 'Q',
  body = 'P',
  outcome = 'R',
  segment = 'S',
  follow_up = 'U',
  checkpoint = 'V',
  headers = 'W',
  dead = 'X',
  schedule_progress = 'p',
  occurrence = 'Z',
  limit = 'l',
  limit_key = 'k',
  permit = 'g',
  replica = 'Y',
};

namespace detail {

[[nodiscard]] std::string encode_numbered(key_tag kind, shard_id shard, std::uint64_t number);

/// Empty when `bytes` are not a complete key of this kind.
[[nodiscard]] std::optional<std::pair<shard_id, std::uint64_t>>
decode_numbered(key_tag kind, std::string_view bytes);

[[nodiscard]] std::string encode_queue(key_tag kind, shard_id shard, const queue_address& queue);

/// Empty when `bytes` are not a complete key of this kind.
[[nodiscard]] std::optional<std::pair<shard_id, queue_address>>
decode_queue(key_tag kind, std::string_view bytes);

} // namespace detail

/// A key that contains a number within a shard: a sequence, or a position in the shard's log.
template <key_tag Kind>
struct numbered_key {
  shard_id shard{};
  std::uint64_t number = 0;

  friend auto operator<=>(const numbered_key&, const numbered_key&) = default;

  [[nodiscard]] std::string encode() const { return detail::encode_numbered(Kind, shard, number); }

  /// Like every `decode` here: empty when `bytes` are not a complete key of this kind.
  [[nodiscard]] static std::optional<numbered_key> decode(std::string_view bytes) {
    auto found = detail::decode_numbered(Kind, bytes);
    return found ? std::optional{numbered_key{found->first, found->second}} : std::nullopt;
  }
};

/// Tasks that were enqueued together, by the sequence of the first one.
using segment_key = numbered_key<key_tag::segment>;

/// A task with a record of its own, by its sequence.
using aside_key = numbered_key<key_tag::aside>;

/// A batch of leases, by its position in the shard's log.
using grant_key = numbered_key<key_tag::grant>;

/// A batch of ended leases, by its position in the shard's log.
using outcome_key = numbered_key<key_tag::outcome>;

/// Changes of tasks that were not made by leases, by their position in the shard's log.
using change_key = numbered_key<key_tag::change>;

/// Follow-ups for other shards, by their position in the shard's log.
using follow_up_key = numbered_key<key_tag::follow_up>;

/// Segments from this sequence up to the next block, as of the last snapshot.
using block_key = numbered_key<key_tag::block>;

/// How the tasks of a closed segment ended; the number is that of its `segment_key`.
using fate_key = numbered_key<key_tag::fate>;

/// How a task ended that was copied out of its segment; the segment's fate does not contain it.
using copied_fate_key = numbered_key<key_tag::copied_fate>;

/// Why a task is dead; the keys of a shard list its dead tasks.
using dead_key = numbered_key<key_tag::dead>;

/// The body of a task whose body was replaced after its enqueue.
using body_key = numbered_key<key_tag::body>;

/// The checkpoint of a live task, for its next attempt.
using checkpoint_key = numbered_key<key_tag::checkpoint>;

/// The headers of the tasks of a segment, or of a task with a record of its own; the number is that
/// of its `segment_key` or `aside_key`.
using headers_key = numbered_key<key_tag::headers>;

/// The only record of the store as a whole.
struct store_key {
  friend auto operator<=>(const store_key&, const store_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<store_key> decode(std::string_view bytes);
};

/// Under which boot of the machine the store was open last.
struct boot_key {
  friend auto operator<=>(const boot_key&, const boot_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<boot_key> decode(std::string_view bytes);
};

/// The store's replica of a shard.
struct replica_key {
  shard_id shard{};

  friend auto operator<=>(const replica_key&, const replica_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<replica_key> decode(std::string_view bytes);
};

/// The last delta that the replica of a shard has written.
struct replica_position_key {
  shard_id shard{};

  friend auto operator<=>(const replica_position_key&, const replica_position_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<replica_position_key> decode(std::string_view bytes);
};

/// The first delta of an epoch of a shard.
struct epoch_start_key {
  shard_id shard{};
  std::uint32_t epoch = 0;

  friend auto operator<=>(const epoch_start_key&, const epoch_start_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<epoch_start_key> decode(std::string_view bytes);
};

/// The snapshot of a shard.
struct shard_key {
  shard_id shard{};

  friend auto operator<=>(const shard_key&, const shard_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<shard_key> decode(std::string_view bytes);
};

/// A key that contains a queue within a shard. Names contain no zero byte, so one separates them.
template <key_tag Kind>
struct key_of_queue {
  shard_id shard{};
  queue_address queue;

  friend auto operator<=>(const key_of_queue&, const key_of_queue&) = default;

  [[nodiscard]] std::string encode() const { return detail::encode_queue(Kind, shard, queue); }

  [[nodiscard]] static std::optional<key_of_queue> decode(std::string_view bytes) {
    auto found = detail::decode_queue(Kind, bytes);
    return found ? std::optional{key_of_queue{found->first, std::move(found->second)}}
                 : std::nullopt;
  }
};

/// The settings of a queue.
using queue_key = key_of_queue<key_tag::queue>;

/// Totals of a queue, as of a snapshot.
using totals_key = key_of_queue<key_tag::totals>;

/// A key that contains a schedule within a shard, as `key_of_queue` does a queue.
template <key_tag Kind>
struct key_of_schedule {
  shard_id shard{};
  schedule_address schedule;

  friend auto operator<=>(const key_of_schedule&, const key_of_schedule&) = default;

  [[nodiscard]] std::string encode() const {
    return detail::encode_queue(Kind, shard, {schedule.tenant, schedule.name});
  }

  [[nodiscard]] static std::optional<key_of_schedule> decode(std::string_view bytes) {
    auto found = detail::decode_queue(Kind, bytes);
    if (!found)
      return std::nullopt;
    auto& [tenant, name] = found->second;
    return key_of_schedule{found->first, {std::move(tenant), std::move(name)}};
  }
};

/// The key of a schedule itself.
using schedule_key = key_of_schedule<key_tag::schedule>;

/// How far a schedule has come.
using progress_key = key_of_schedule<key_tag::schedule_progress>;

/// An entry of a schedule's history; it overwrites the entry that had the same slot before.
struct occurrence_key {
  shard_id shard{};
  schedule_address schedule;
  std::uint8_t slot = 0;

  friend auto operator<=>(const occurrence_key&, const occurrence_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<occurrence_key> decode(std::string_view bytes);
};

/// The definition of a limit.
struct limit_name_key {
  shard_id shard{};
  limit_address limit;

  friend auto operator<=>(const limit_name_key&, const limit_name_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<limit_name_key> decode(std::string_view bytes);
};

/// A limit key that has unpaid starts or is closed. All names are empty in the record that is about
/// the keys of all limits.
struct limit_key_key {
  shard_id shard{};
  limit_address limit{{}, {}};
  std::string key{};

  friend auto operator<=>(const limit_key_key&, const limit_key_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<limit_key_key> decode(std::string_view bytes);
};

/// A permit that another shard has; number 0: what is known of that shard.
struct permit_key {
  shard_id shard{};
  shard_id asker{};
  std::uint64_t number = 0;

  friend auto operator<=>(const permit_key&, const permit_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<permit_key> decode(std::string_view bytes);
};

/// A producer's key of a task whose segment is closed.
struct key_key {
  shard_id shard{};
  task_key name;

  friend bool operator==(const key_key&, const key_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<key_key> decode(std::string_view bytes);
};

/// A producer session; the upper half of its id comes first.
struct producer_key {
  shard_id shard{};
  producer_id producer{};

  friend auto operator<=>(const producer_key&, const producer_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<producer_key> decode(std::string_view bytes);
};

/// An entry of a task's history; it overwrites the entry that had the same slot before. The first
/// entry of several neighbours is under the first of them, in a slot of its own that nothing
/// overwrites.
struct history_key {
  static constexpr auto shared_slot = static_cast<std::uint8_t>(limits::history_events_max);

  shard_id shard{};
  sequence seq = 0;
  std::uint8_t slot = 0;

  friend auto operator<=>(const history_key&, const history_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<history_key> decode(std::string_view bytes);
};

/// An operator's command, by its time in milliseconds, its operation and the position of its entry.
/// The position tells apart entries of one command that was forgotten between two of its parts.
struct audit_key {
  shard_id shard{};
  std::uint64_t at_ms = 0;
  std::uint64_t operation = 0;
  std::uint64_t position = 0;

  friend auto operator<=>(const audit_key&, const audit_key&) = default;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<audit_key> decode(std::string_view bytes);
};

/// Size of tag and shard: keys with the same prefix are adjacent. Most of them are written in
/// ascending order; those of names, histories and copied tasks are not.
inline constexpr std::size_t key_prefix_bytes = 3;

/// The keys in [begin, end), as arguments of `task_store::scan` and `read_last`.
struct key_range {
  std::string begin;
  std::string end;

  [[nodiscard]] bool contains(std::string_view key) const noexcept {
    return key >= begin && key < end;
  }
};

// All keys of one kind and shard, in the order of their fields.

[[nodiscard]] key_range segments_of(shard_id shard, sequence from = 0);
[[nodiscard]] key_range asides_of(shard_id shard, sequence from = 0);
[[nodiscard]] key_range grants_of(shard_id shard, std::uint64_t from_position = 0);
[[nodiscard]] key_range outcomes_of(shard_id shard, std::uint64_t from_position = 0);
[[nodiscard]] key_range changes_of(shard_id shard, std::uint64_t from_position = 0);
[[nodiscard]] key_range queues_of(shard_id shard);
[[nodiscard]] key_range totals_of(shard_id shard);
[[nodiscard]] key_range follow_ups_of(shard_id shard);
[[nodiscard]] key_range blocks_of(shard_id shard);
[[nodiscard]] key_range fates_of(shard_id shard, sequence from = 0);
[[nodiscard]] key_range copied_fates_of(shard_id shard, sequence from = 0);
[[nodiscard]] key_range checkpoints_of(shard_id shard);
[[nodiscard]] key_range producers_of(shard_id shard);
[[nodiscard]] key_range schedules_of(shard_id shard);
[[nodiscard]] key_range progress_of(shard_id shard);
[[nodiscard]] key_range occurrences_of(shard_id shard);

/// The history of one schedule, in the order of its slots.
[[nodiscard]] key_range occurrences_of(shard_id shard, const schedule_address& schedule);

[[nodiscard]] key_range limits_of(shard_id shard);
[[nodiscard]] key_range limit_keys_of(shard_id shard);
[[nodiscard]] key_range permits_of(shard_id shard);

/// The history of one task, in the order of its slots.
[[nodiscard]] key_range history_of(shard_id shard, sequence seq);

/// In the order of their bytes.
[[nodiscard]] key_range keys_of(shard_id shard);

/// From that time on.
[[nodiscard]] key_range audits_of(shard_id shard, std::uint64_t from_ms = 0);

/// The records of the store's replica of a shard.
[[nodiscard]] key_range replica_of(shard_id shard);

/// All keys of a shard that are the same on all its replicas, one range for each kind.
[[nodiscard]] std::vector<key_range> data_of(shard_id shard);

/// True for a key of a kind that the table above has as written once and removed by
/// `single_remove`. RocksDB must see no other removal of such a key: after put, `remove`, put and
/// `single_remove` the first put is back.
[[nodiscard]] bool is_removed_singly(std::string_view key);

/// True when a key is in one of these ranges.
[[nodiscard]] bool is_data_of(shard_id shard, std::string_view key);

// All keys of one kind, of all shards.

[[nodiscard]] key_range all_replicas();

[[nodiscard]] key_range all_outcomes();
[[nodiscard]] key_range all_fates();
[[nodiscard]] key_range all_copied_fates();
[[nodiscard]] key_range all_histories();
[[nodiscard]] key_range all_headers();
[[nodiscard]] key_range all_keys();
[[nodiscard]] key_range all_audits();

/// For `task_store::read_last`: the greatest key of the range belongs to the only fate that may
/// contain `seq`; the caller checks that it really does.
[[nodiscard]] key_range fates_up_to(shard_id shard, sequence seq);

/// The same for the fates of copied tasks.
[[nodiscard]] key_range copied_fates_up_to(shard_id shard, sequence seq);

} // namespace codeq::storage
