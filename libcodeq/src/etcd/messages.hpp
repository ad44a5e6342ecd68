// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace codeq::etcd {

/// Part of every answer: which etcd it is, and how many changes it has seen.
struct header {
  std::uint64_t cluster_id = 0;
  std::uint64_t revision = 0;

  bool operator==(const header&) const = default;
};

/// A key and its value, as a range or a watch tells it. It only suggests what the value is.
struct entry {
  std::string key;
  /// Empty when the key was deleted.
  std::optional<std::string> value;
  /// The revision of the last change.
  std::uint64_t modified = 0;

  bool operator==(const entry&) const = default;
};

/// A decision: if the value is exactly `expected`, then it becomes `next`. No value means that the
/// key is absent. With `next` equal to `expected` it is a read that can be relied on: it goes
/// through etcd's log, as every change does.
struct swap {
  std::string key;
  std::optional<std::string> expected;
  std::optional<std::string> next;
  /// The key is deleted with this lease; 0: it stays.
  std::uint64_t lease = 0;
};

/// etcd's decision.
struct decision {
  header at;
  /// The value is `next`, whether by this request, by an earlier copy of it, or by an equal one.
  bool is_applied = false;
  /// The value after the decision.
  std::optional<std::string> current;
};

/// How a swap ended.
enum class swap_end : std::uint8_t {
  /// The value is `next` now.
  applied,
  /// The value is another one, which is told; this swap will never be applied.
  not_applied,
  /// The request was not sent to any member, so it will never be applied.
  not_sent,
  /// It may have been applied, or may be applied later. The same swap, sent again, finds out.
  unknown,
};

struct swap_answer {
  swap_end end = swap_end::unknown;
  /// The value; only for `applied` and `not_applied`.
  std::optional<std::string> current{};
  std::uint64_t revision = 0;
  /// For an operator: which members were asked, and their answers; empty when it was decided.
  std::string words{};
};

/// Asks for all keys from `first` to before `end`.
struct key_range {
  std::string first;
  /// Empty: only the key `first`.
  std::string end;
  /// Keys that were changed later than before this revision; 0: all.
  std::uint64_t modified_since = 0;
  /// The first so many keys; 0: all. A watch tells all.
  std::size_t keys_max = 0;
};

struct range_answer {
  /// The header of the first page: changes after its revision may be missing.
  header at;
  std::vector<entry> found;
  /// Number of all keys in the range, whenever they were changed.
  std::uint64_t count = 0;
  /// There are further keys after the last one.
  bool has_more = false;
};

/// A lease; it only suggests that its owner is alive.
struct lease_answer {
  header at;
  std::uint64_t id = 0;
  /// Zero: there is no such lease any more.
  duration remaining{0};
};

/// One line of a watch.
struct watch_line {
  header at;
  bool is_created = false;
  /// etcd has ended the watch.
  bool is_canceled = false;
  /// Changes before this revision cannot be told any more; 0: none are missing.
  std::uint64_t compacted = 0;
  std::string reason;
  std::vector<entry> changes;
};

/// All keys that begin with a prefix. @pre the prefix is not empty and does not end with byte 255
[[nodiscard]] key_range range_of_prefix(const std::string& prefix);

} // namespace codeq::etcd
