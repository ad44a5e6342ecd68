// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/block_format.hpp"
#include "core/blocks/segment_block.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core::block_format {

namespace {

void append_shape(std::string& out, const task_entry& e) {
  append_number(
    out,
    static_cast<std::uint64_t>(e.state) | (e.cancelling ? is_cancelling : 0)
      | (e.gone ? is_gone : 0));
  append_number(out, static_cast<std::uint64_t>(e.last_end));
  append_number(out, e.attempt);
  append_number(out, e.notes);
  append_number(out, e.lost);
  append_number(out, e.refunds);
}

void append_settings(std::string& out, const task_settings& s) {
  append_number(out, s.max_attempts);
  append_number(out, static_cast<std::uint64_t>(s.retry.kind));
  append_number(out, number_of(s.retry.base));
  append_number(out, number_of(s.retry.cap));
  append_number(out, number_of(s.lease));
  append_number(out, number_of(s.run_timeout));
  append_number(out, number_of(s.progress_timeout));
  append_number(out, number_of(s.retention));
  append_number(out, number_of(s.dead_retention));
  append_number(out, static_cast<std::uint64_t>(s.when_dead));
}

/// `before`: the settings of the kind before; null for the first one.
void append_settings_after(
  std::string& out, const task_settings* before, const task_settings& settings) {
  const auto is_same = before != nullptr && *before == settings;
  append_number(out, is_same ? 1 : 0);
  if (!is_same)
    append_settings(out, settings);
}

void append_limits(std::string& out, const std::vector<task_limit>& uses) {
  append_number(out, uses.size());
  for (const auto& use : uses) {
    append_text(out, use.name);
    append_text(out, use.key);
    append_number(out, use.cost);
  }
}

bool has_no_numbers(const task_entry& e) {
  return e.token == fencing_token{} && e.outcome == 0 && e.outcome_index == 0
         && e.retry_at == timestamp{};
}

/// Appends the differences of an entry from the previous one, and stores it as the previous one.
void append_entry(std::string& out, task_entry& before, const task_entry& e) {
  if (e == task_entry{})
    return append_number(out, is_fresh);
  std::uint64_t flags = same_shape(before, e) ? has_same_shape : 0;
  if (has_no_numbers(e)) {
    flags |= is_unleased;
  } else {
    flags |= value(e.token) == value(before.token) + 1 ? has_next_token : 0;
    flags |= e.outcome == before.outcome ? has_same_outcome : 0;
    flags |= e.outcome_index == before.outcome_index + 1 ? has_next_index : 0;
    flags |= e.retry_at == before.retry_at ? has_same_time : 0;
  }
  append_number(out, flags);
  if ((flags & has_same_shape) == 0)
    append_shape(out, e);
  copy_shape(before, e);
  if ((flags & is_unleased) != 0)
    return;
  if ((flags & has_next_token) == 0)
    append_distance(out, value(before.token), value(e.token));
  if ((flags & has_same_outcome) == 0)
    append_distance(out, before.outcome, e.outcome);
  if ((flags & has_next_index) == 0)
    append_number(out, e.outcome_index);
  if ((flags & has_same_time) == 0)
    append_distance(out, number_of(before.retry_at), number_of(e.retry_at));
  copy_numbers(before, e);
}

std::uint64_t flags_of(const segment& s) {
  std::uint64_t flags = s.aside ? is_aside : 0;
  flags |= s.entries.empty() ? 0 : is_touched;
  flags |= s.not_before == timestamp{} ? 0 : is_deferred;
  flags |= s.allow_promotion ? allows_promotion : 0;
  flags |= s.group.empty() ? 0 : has_group;
  flags |= s.key ? has_key : 0;
  flags |= s.replaced ? is_replaced : 0;
  flags |= s.copied ? is_copied : 0;
  flags |= s.fairness ? has_fairness : 0;
  flags |= s.limits ? has_limits : 0;
  return flags;
}

void append_head(std::string& out, const segment_head& before, const segment_head& head) {
  std::uint64_t marks = head.first == before.end() ? follows_directly : 0;
  marks |= head.count == before.count ? has_same_count : 0;
  marks |= head.kind == before.kind ? has_same_kind : 0;
  marks |= head.flags == before.flags ? has_same_flags : 0;
  marks |= head.enqueued_at == before.enqueued_at ? has_same_enqueue_time : 0;
  marks |= head.appended == before.appended ? has_same_position : 0;
  marks |= head.body_bytes == before.body_bytes ? has_same_body_bytes : 0;
  append_number(out, marks);
  if ((marks & follows_directly) == 0)
    append_number(out, head.first - before.end());
  if ((marks & has_same_count) == 0)
    append_number(out, head.count);
  if ((marks & has_same_kind) == 0)
    append_number(out, head.kind);
  if ((marks & has_same_flags) == 0)
    append_number(out, head.flags);
  if ((marks & has_same_enqueue_time) == 0)
    append_distance(out, number_of(before.enqueued_at), number_of(head.enqueued_at));
  if ((marks & has_same_position) == 0)
    append_distance(out, before.appended, head.appended);
  if ((marks & has_same_body_bytes) == 0)
    append_number(out, head.body_bytes);
}

/// Appends a head to a block of version 1. `opening`: the values at which the block begins.
void append_whole_head(
  std::string& out,
  const segment_head& opening,
  const segment_head& before,
  const segment_head& head) {
  append_number(out, head.first - before.first);
  append_number(out, head.count);
  append_number(out, head.kind);
  append_number(out, head.flags);
  append_distance(out, number_of(opening.enqueued_at), number_of(head.enqueued_at));
  append_distance(out, opening.appended, head.appended);
  append_number(out, head.body_bytes);
}

} // namespace

} // namespace codeq::core::block_format

namespace codeq::core {

std::size_t block_builder::index_of(const kind& wanted) {
  auto at = std::find(kinds_.begin(), kinds_.end(), wanted);
  if (at == kinds_.end())
    at = kinds_.insert(at, wanted);
  return static_cast<std::size_t>(at - kinds_.begin());
}

segment_head block_builder::head_of(const segment& s) {
  auto queue = std::find(queues_.begin(), queues_.end(), s.queue);
  if (queue == queues_.end())
    queue = queues_.insert(queue, s.queue);
  const kind wanted{static_cast<std::uint32_t>(queue - queues_.begin()), s.priority, s.settings};
  return {
    s.first,
    s.count,
    index_of(wanted),
    block_format::flags_of(s),
    s.enqueued_at,
    s.appended,
    s.body_bytes};
}

std::string block_builder::details_of(const segment& s) {
  std::string details;
  if (s.not_before != timestamp{})
    append_distance(
      details,
      block_format::number_of(opening_.enqueued_at),
      block_format::number_of(s.not_before));
  if (!s.group.empty())
    append_text(details, s.group);
  if (s.key) {
    append_text(details, s.key->name);
    append_distance(details, opening_.appended, s.key->since);
  }
  if (s.fairness) {
    append_text(details, s.fairness->key);
    append_number(details, s.fairness->weight);
  }
  if (s.limits)
    block_format::append_limits(details, *s.limits);
  task_entry before = typical_.value_or(task_entry{});
  for (const auto& e : s.entries) {
    if (!typical_ && e != task_entry{})
      typical_ = before = e;
    block_format::append_entry(details, before, e);
  }
  return details;
}

void block_builder::add(const segment& s) {
  const auto head = head_of(s);
  if (segments_ == 0)
    before_ = opening_ = {
      .first = s.first, .enqueued_at = s.enqueued_at, .appended = s.appended};
  const auto details = details_of(s);
  if (version_ == block_version_oldest) {
    std::string record;
    block_format::append_whole_head(record, opening_, before_, head);
    append_text(body_, record + details);
  } else {
    block_format::append_head(body_, before_, head);
    if (block_format::has_details(head.flags))
      append_text(body_, details);
  }
  before_ = head;
  tasks_ += s.count;
  ++segments_;
}

std::string block_builder::take() {
  std::string block;
  auto typical = typical_.value_or(task_entry{});
  append_number(block, version_);
  append_number(block, opening_.first);
  append_number(block, block_format::number_of(opening_.enqueued_at));
  append_number(block, opening_.appended);
  append_number(block, value(typical.token));
  append_number(block, typical.outcome);
  append_number(block, typical.outcome_index);
  append_number(block, block_format::number_of(typical.retry_at));
  block_format::append_shape(block, typical);
  append_number(block, queues_.size());
  for (auto queue : queues_) {
    const auto& address = name_of_(queue);
    append_text(block, address.tenant);
    append_text(block, address.queue);
  }
  append_number(block, kinds_.size());
  const task_settings* before = nullptr;
  for (const auto& kind : kinds_) {
    append_number(block, kind.queue);
    append_number(block, kind.priority);
    if (version_ == block_version_oldest)
      block_format::append_settings(block, kind.settings);
    else
      block_format::append_settings_after(block, before, kind.settings);
    before = &kind.settings;
  }
  append_number(block, segments_);
  block += body_;
  *this = block_builder(std::move(name_of_), version_);
  return block;
}

} // namespace codeq::core
