// SPDX-License-Identifier: Apache-2.0
#include "client/task_pages.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

namespace codeq::client {

namespace {

/// Begins the place of a list with the oldest tasks first.
constexpr char oldest_mark = 'o';

std::string to_text(const std::vector<sequence>& place, bool is_down) {
  std::string text;
  for (auto bound : place)
    text += (text.empty() ? "" : ".") + std::to_string(bound);
  return is_down ? text : oldest_mark + text;
}

std::optional<std::vector<sequence>>
read_place(std::string_view text, std::size_t shards, bool is_down) {
  std::vector<sequence> place;
  if (text.empty())
    return std::vector<sequence>(shards, 0);
  if (is_down == text.starts_with(oldest_mark))
    return std::nullopt;
  text.remove_prefix(is_down ? 0 : 1);
  while (true) {
    auto end = text.find('.');
    auto part = text.substr(0, end);
    sequence bound = 0;
    auto [stop, failure] = std::from_chars(part.data(), part.data() + part.size(), bound);
    if (failure != std::errc{} || stop != part.data() + part.size() || part.empty())
      return std::nullopt;
    place.push_back(bound);
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
  }
  if (place.size() != shards)
    return std::nullopt;
  return place;
}

/// The numbers of the shards that are not missing, ascending.
std::vector<std::size_t>
shards_without(const std::vector<shard_id>& missing, std::size_t shards) {
  std::vector<std::size_t> told;
  for (std::size_t i = 0; i < shards; ++i)
    if (!std::binary_search(
          missing.begin(), missing.end(), shard_id{static_cast<std::uint16_t>(i)}))
      told.push_back(i);
  return told;
}

/// True when the filter has a field that older coordinators ignore.
bool is_new(const task_filter& filter) {
  return !filter.group.empty() || !filter.key.empty() || !filter.workers.empty()
         || !filter.headers.empty() || !filter.error.empty() || filter.enqueued.is_bounded()
         || filter.ended.is_bounded();
}

} // namespace

std::optional<page_merge>
page_merge::begin(const task_filter& filter, const page_request& page, std::uint16_t shards) {
  auto place = read_place(page.after, shards, page.order == list_order::newest_first);
  if (!place)
    return std::nullopt;
  return page_merge(filter, page, std::move(*place));
}

question page_merge::question_for(std::uint16_t shard) const {
  walk_position at;
  at.shard = shard;
  at.limit = static_cast<std::uint32_t>(page_.limit);
  at.newest_first = is_down();
  (is_down() ? at.below : at.after) = place_[shard];
  return list_tasks(filter_, at);
}

result<task_page>
page_merge::merge(std::vector<list_part> parts, std::vector<shard_id> missing) const {
  task_page merged;
  const auto told = shards_without(missing, place_.size());
  merged.missing = std::move(missing);
  // A missing shard goes on where this page would have begun there.
  auto place = place_;
  bool any_more = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto& part = parts[i];
    if (is_new(filter_) && !part.knows_all_filters)
      return error{
        errc::unsupported, "the coordinator is of an older version and does not know the filter"};
    any_more = any_more || part.more;
    merged.is_partial = merged.is_partial || (part.more && part.tasks.size() < page_.limit);
    // A sequence below which there is nothing.
    place[told[i]] = part.more || !is_down() ? part.after : 1;
    for (auto& task : part.tasks) {
      task.id.shard = static_cast<shard_id>(told[i]);
      merged.tasks.push_back(std::move(task));
    }
  }
  std::sort(merged.tasks.begin(), merged.tasks.end(), [this](const auto& a, const auto& b) {
    auto key_of = [](const task_summary& task) { return std::tie(task.enqueued_at, task.id); };
    return is_down() ? key_of(a) > key_of(b) : key_of(a) < key_of(b);
  });
  auto shown = std::min(merged.tasks.size(), page_.limit);
  any_more = any_more || shown < merged.tasks.size();
  // A shard goes on behind the last of its tasks that is shown, if some are not.
  std::vector<bool> is_cut(place.size(), false);
  for (auto i = shown; i < merged.tasks.size(); ++i) {
    auto shard = value(merged.tasks[i].id.shard);
    is_cut[shard] = true;
    place[shard] = place_[shard];
  }
  for (std::size_t i = 0; i < shown; ++i)
    if (auto shard = value(merged.tasks[i].id.shard); is_cut[shard])
      place[shard] = merged.tasks[i].id.seq;
  merged.is_partial = merged.is_partial && shown < page_.limit;
  merged.tasks.resize(shown);
  if (any_more)
    merged.after = to_text(place, is_down());
  return merged;
}

} // namespace codeq::client
