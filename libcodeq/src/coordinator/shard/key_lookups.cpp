// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/key_lookups.hpp"

#include <algorithm>

namespace codeq::coordinator {

std::uint64_t
key_lookups::add(core::command command, const std::vector<task_key>& names, enqueue_share share) {
  auto number = ++last_;
  for (const auto& name : names)
    lines_[name].numbers.push_back(number);
  waiting_.emplace(number, waiting_command{std::move(command), names, std::move(share), {}});
  return number;
}

void key_lookups::note_closed(const std::vector<core::closed_key>& closed) {
  for (const auto& key : closed) {
    if (auto at = lines_.find(key.name); at != lines_.end())
      at->second.closed = key.record;
  }
}

void key_lookups::answer(std::uint64_t number, std::vector<core::recalled_key> found) {
  const auto at = waiting_.find(number);
  if (at == waiting_.end())
    return;
  at->second.found = std::move(found);
  candidates_.push_back(number);
}

bool key_lookups::is_known(const waiting_command& waiting, std::uint64_t number) const {
  return waiting.found
         && std::all_of(waiting.names.begin(), waiting.names.end(), [&](const task_key& name) {
              return lines_.at(name).numbers.front() == number;
            });
}

std::optional<key_lookups::known_command> key_lookups::take() {
  while (!candidates_.empty()) {
    auto number = candidates_.back();
    candidates_.pop_back();
    auto at = waiting_.find(number);
    if (at != waiting_.end() && is_known(at->second, number))
      return leave(at);
  }
  return std::nullopt;
}

key_lookups::known_command key_lookups::leave(command_map::iterator at) {
  auto waiting = std::move(at->second);
  waiting_.erase(at);
  for (auto& key : *waiting.found) {
    const auto& closed = lines_.at(key.name).closed;
    if (closed && (!key.record || key.record->since < closed->since))
      key.record = closed;
  }
  for (const auto& name : waiting.names) {
    auto line = lines_.find(name);
    line->second.numbers.pop_front();
    if (line->second.numbers.empty())
      lines_.erase(line);
    else
      candidates_.push_back(line->second.numbers.front());
  }
  return {{std::move(*waiting.found)}, std::move(waiting.command), std::move(waiting.share)};
}

} // namespace codeq::coordinator
