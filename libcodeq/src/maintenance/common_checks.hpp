// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/event.hpp"
#include "core/commands/seq_run.hpp"
#include "maintenance/finding_list.hpp"
#include "maintenance/key_text.hpp"
#include "maintenance/shard_facts.hpp"

#include <cstdint>
#include <string>
#include <utility>

/// Checks that several kinds of records share. `where` is the key of a record in words.
namespace codeq::maintenance {

/// Checks that the record could be decoded.
template <class Key, class T>
bool is_read(const Key& key, const result<T>& record, finding_list& found) {
  if (!record)
    found.add(in_words(key), "cannot be read: " + to_string(record.error()));
  return record.has_value();
}

/// Checks that the number was once allocated; `number` also contains the number's name.
void check_given(
  const shard_facts& facts,
  const std::string& where,
  const std::pair<const char*, std::uint64_t>& number,
  finding_list& found);

/// Checks the position of a record whose key is its position in the log.
void check_position(
  const shard_facts& facts,
  const std::string& where,
  const std::pair<core::log_position, core::log_position>& in_key_and_value,
  finding_list& found);

void check_run(
  const shard_facts& facts,
  const std::string& where,
  const core::seq_run& run,
  finding_list& found);

/// Checks that shard time does not go back from one record of a kind to the next.
void check_time(const std::string& where, timestamp at, timestamp& latest, finding_list& found);

/// Checks the record of a task's latest end, which has to exist when `must_exist`. False when it
/// does not exist.
bool check_end_of(
  shard_facts& facts,
  const std::string& where,
  const std::pair<sequence, core::task_entry>& task,
  bool must_exist,
  finding_list& found);

/// Checks the state of a task in a record. False when the record of its end does not exist.
bool check_entry(
  shard_facts& facts,
  const std::string& where,
  const std::pair<sequence, core::task_entry>& task,
  finding_list& found);

} // namespace codeq::maintenance
