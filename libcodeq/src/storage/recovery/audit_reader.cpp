// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/audit_reader.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/record_codec.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

std::uint64_t audit_ms_of(timestamp t) {
  return static_cast<std::uint64_t>(std::max<duration::rep>(t.time_since_epoch().count(), 0));
}

timestamp audit_time_of(std::uint64_t ms) {
  return timestamp{duration{static_cast<duration::rep>(ms)}};
}

/// The entries of one shard, latest first.
class audit_walk {
public:
  /// Entries from `since_ms` on and before `before`, if that is given.
  audit_walk(
    const task_store& store,
    shard_id shard,
    std::uint64_t since_ms,
    const std::optional<audit_place>& before)
    : store_(store), shard_(shard), range_(audits_of(shard, since_ms)) {
    if (before)
      range_.end = audit_key{shard, audit_ms_of(before->at), before->operation, 0}.encode();
  }

  /// Moves to the next entry. Errors: of the store; `corruption`.
  result<void> next() {
    found_.reset();
    if (range_.begin >= range_.end)
      return {};
    auto pair = store_.read_last(range_.begin, range_.end);
    if (!pair)
      return pair.error();
    if (!*pair)
      return {};
    auto& [key, value] = **pair;
    auto place = audit_key::decode(key);
    if (!place)
      return error{errc::corruption, "a key of the audit log cannot be read"};
    auto entry = decode_audit(value, audit_time_of(place->at_ms), place->operation);
    if (!entry)
      return entry.error();
    found_ = std::move(*entry);
    range_.end = std::move(key);
    return {};
  }

  /// Empty at the end.
  [[nodiscard]] const std::optional<core::audit_entry>& found() const noexcept { return found_; }

  [[nodiscard]] shard_id shard() const noexcept { return shard_; }

  [[nodiscard]] audit_place place() const { return {found_->by->at, found_->by->operation}; }

private:
  const task_store& store_;
  shard_id shard_;
  key_range range_;
  std::optional<core::audit_entry> found_;
};

audited_command to_command(shard_id shard, const core::audit_entry& entry) {
  audited_command command;
  command.at = entry.by->at;
  command.operation = entry.by->operation;
  command.action = entry.action;
  command.tenant = entry.tenant;
  command.queue = entry.queue;
  if (entry.task != 0)
    command.task = task_id{shard, entry.task};
  command.changed = entry.changed;
  command.subject = entry.by->subject;
  command.bearer_tenant = entry.by->tenant;
  command.remote = entry.by->remote;
  command.detail = entry.detail;
  return command;
}

/// Adds what the same command changed elsewhere.
void merge(audited_command& to, const core::audit_entry& more) {
  to.changed += more.changed;
  to.task.reset();
  if (to.queue != more.queue)
    to.queue.clear();
}

/// Merges the walks of the shards.
class audit_reader {
public:
  audit_reader(const audit_filter& filter, std::vector<audit_walk> walks)
    : filter_(filter), walks_(std::move(walks)) {}

  result<audit_page> read() {
    for (auto& walk : walks_)
      if (auto ok = walk.next(); !ok)
        return ok.error();
    while (auto place = latest()) {
      bool is_full = page_.commands.size() == filter_.limit
                     || looked_at_ >= tuning::audited_looked_at_max;
      if (is_full) {
        page_.after = last_;
        break;
      }
      if (auto ok = take(*place); !ok)
        return ok.error();
    }
    return std::move(page_);
  }

private:
  /// The place of the latest command that was not taken.
  [[nodiscard]] std::optional<audit_place> latest() const {
    std::optional<audit_place> place;
    for (const auto& walk : walks_)
      if (walk.found() && (!place || walk.place() > *place))
        place = walk.place();
    return place;
  }

  /// Takes all entries of the command at that place.
  result<void> take(const audit_place& place) {
    std::optional<audited_command> command;
    for (auto& walk : walks_) {
      while (walk.found() && walk.place() == place) {
        const auto& entry = *walk.found();
        bool is_visible = filter_.tenant.empty() || entry.tenant == filter_.tenant;
        if (is_visible && command)
          merge(*command, entry);
        else if (is_visible)
          command = to_command(walk.shard(), entry);
        ++looked_at_;
        if (auto ok = walk.next(); !ok)
          return ok;
      }
    }
    if (command)
      page_.commands.push_back(std::move(*command));
    last_ = place;
    return {};
  }

  const audit_filter& filter_;
  std::vector<audit_walk> walks_;
  audit_page page_;
  audit_place last_;
  std::size_t looked_at_ = 0;
};

} // namespace

result<audit_page> read_audit(
  const task_store& store,
  std::span<const shard_id> shards,
  const audit_filter& filter,
  timestamp now) {
  auto since = audit_ms_of(std::max(filter.since, now - limits::audit_retention));
  std::vector<audit_walk> walks;
  walks.reserve(shards.size());
  for (auto shard : shards)
    walks.emplace_back(store, shard, since, filter.after);
  return audit_reader(filter, std::move(walks)).read();
}

} // namespace codeq::storage
