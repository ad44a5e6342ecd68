// SPDX-License-Identifier: Apache-2.0
#include "maintenance/common_checks.hpp"

#include <algorithm>

namespace codeq::maintenance {

void check_given(
  const shard_facts& facts,
  const std::string& where,
  const std::pair<const char*, std::uint64_t>& number,
  finding_list& found) {
  if (number.second == 0 || number.second >= facts.given_below)
    found.add(
      where, std::string(number.first) + " " + number_in_words(number.second) + " was never given");
}

void check_position(
  const shard_facts& facts,
  const std::string& where,
  const std::pair<core::log_position, core::log_position>& in_key_and_value,
  finding_list& found) {
  if (in_key_and_value.first != in_key_and_value.second)
    found.add(where, "says that it is at position " + number_in_words(in_key_and_value.second));
  check_given(facts, where, {"position", in_key_and_value.first}, found);
}

void check_run(
  const shard_facts& facts,
  const std::string& where,
  const core::seq_run& run,
  finding_list& found) {
  check_given(facts, where, {"sequence", run.first}, found);
  if (run.count > 0)
    check_given(facts, where, {"sequence", run.first + run.count - 1}, found);
}

void check_time(const std::string& where, timestamp at, timestamp& latest, finding_list& found) {
  if (at < latest)
    found.add(where, "is of an earlier shard time than the one before it");
  latest = std::max(latest, at);
}

bool check_entry(
  shard_facts& facts,
  const std::string& where,
  const std::pair<sequence, core::task_entry>& task,
  finding_list& found) {
  const auto& [seq, entry] = task;
  auto number = where + " task " + number_in_words(seq);
  if (entry.token != fencing_token{})
    check_given(facts, number, {"token", value(entry.token)}, found);
  if (entry.outcome != 0)
    check_given(facts, number, {"position", entry.outcome}, found);
  bool must_exist = !is_terminal(entry.state);
  return check_end_of(facts, number, task, must_exist, found);
}

bool check_end_of(
  shard_facts& facts,
  const std::string& where,
  const std::pair<sequence, core::task_entry>& task,
  bool must_exist,
  finding_list& found) {
  const auto& [seq, entry] = task;
  if (entry.outcome == 0)
    return true;
  const auto* outcome = facts.outcome_at(entry.outcome);
  if (!outcome) {
    if (must_exist)
      found.add(where, "has lost the text of its latest end");
    return false;
  }
  bool is_there =
    entry.outcome_index < outcome->ends.size() && outcome->ends[entry.outcome_index].seq == seq;
  if (!is_there)
    found.add(where, "ended as is told of another task");
  else if (is_terminal(entry.state) && outcome->ends[entry.outcome_index].token != entry.token)
    found.add(where, "ended under another token than its latest");
  return true;
}

} // namespace codeq::maintenance
