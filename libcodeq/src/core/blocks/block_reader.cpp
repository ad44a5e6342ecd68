// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/blocks/block_format.hpp"
#include "core/blocks/segment_block.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace codeq::core::block_format {

namespace {

/// More tasks than any turn can put into one segment.
constexpr std::uint64_t segment_tasks_max = 1u << 24;

void read_shape(number_reader& from, task_entry& e) {
  auto state = from.number();
  e.state = static_cast<task_state>(state & state_mask);
  e.cancelling = (state & is_cancelling) != 0;
  e.gone = (state & is_gone) != 0;
  e.last_end = static_cast<lease_end_kind>(from.number());
  e.attempt = static_cast<std::uint16_t>(from.number());
  e.notes = static_cast<std::uint32_t>(from.number());
  e.lost = static_cast<std::uint8_t>(from.number());
  e.refunds = static_cast<std::uint8_t>(from.number());
}

task_settings read_settings(number_reader& from) {
  task_settings s;
  s.max_attempts = static_cast<std::uint16_t>(from.number());
  s.retry.kind = static_cast<retry_kind>(from.number());
  s.retry.base = duration_of(from.number());
  s.retry.cap = duration_of(from.number());
  s.lease = duration_of(from.number());
  s.run_timeout = duration_of(from.number());
  s.progress_timeout = duration_of(from.number());
  s.retention = duration_of(from.number());
  s.dead_retention = duration_of(from.number());
  s.when_dead = static_cast<on_dead>(from.number());
  return s;
}

/// Empty when the numbers are none that a task can have.
std::optional<std::vector<task_limit>> read_limits(number_reader& from) {
  auto count = from.number();
  if (from.failed() || count == 0 || count > limits::task_limits_max)
    return std::nullopt;
  std::vector<task_limit> uses(count);
  for (auto& use : uses) {
    use.name = from.text();
    use.key = from.text();
    auto cost = from.number();
    if (from.failed() || cost == 0 || cost > limits::limit_cost_max)
      return std::nullopt;
    use.cost = static_cast<std::uint32_t>(cost);
  }
  return uses;
}

/// Reads the entry that follows `before`, and stores it there.
task_entry read_entry(number_reader& from, task_entry& before) {
  auto flags = from.number();
  task_entry e;
  if ((flags & is_fresh) != 0)
    return e;
  if ((flags & has_same_shape) != 0)
    copy_shape(e, before);
  else
    read_shape(from, e);
  copy_shape(before, e);
  if ((flags & is_unleased) != 0)
    return e;
  auto token = (flags & has_next_token) != 0 ? value(before.token) + 1
                                             : from.distance_from(value(before.token));
  e.token = static_cast<fencing_token>(token);
  e.outcome = (flags & has_same_outcome) != 0 ? before.outcome : from.distance_from(before.outcome);
  e.outcome_index = (flags & has_next_index) != 0 ? before.outcome_index + 1
                                                  : static_cast<std::uint32_t>(from.number());
  e.retry_at = (flags & has_same_time) != 0
                 ? before.retry_at
                 : time_of(from.distance_from(number_of(before.retry_at)));
  copy_numbers(before, e);
  return e;
}

std::vector<queue_address> read_queues(number_reader& from) {
  std::vector<queue_address> queues;
  for (auto left = from.number(); left > 0 && !from.failed(); --left) {
    auto tenant = from.text();
    queues.push_back({std::string(tenant), std::string(from.text())});
  }
  return queues;
}

bool is_known(std::uint64_t version) {
  return version >= block_version_oldest && version <= block_version_newest;
}

segment_head read_head(number_reader& from, const segment_head& before) {
  const auto marks = from.number();
  auto head = before;
  head.first = before.end();
  if ((marks & follows_directly) == 0)
    head.first += from.number();
  if ((marks & has_same_count) == 0)
    head.count = from.number();
  if ((marks & has_same_kind) == 0)
    head.kind = from.number();
  if ((marks & has_same_flags) == 0)
    head.flags = from.number();
  if ((marks & has_same_enqueue_time) == 0)
    head.enqueued_at = time_of(from.distance_from(number_of(before.enqueued_at)));
  if ((marks & has_same_position) == 0)
    head.appended = from.distance_from(before.appended);
  if ((marks & has_same_body_bytes) == 0)
    head.body_bytes = from.number();
  return head;
}

/// Reads a head of a block of version 1. `opening`: the values at which the block begins.
segment_head
read_whole_head(number_reader& from, const segment_head& opening, const segment_head& before) {
  segment_head head;
  head.first = before.first + from.number();
  head.count = from.number();
  head.kind = from.number();
  head.flags = from.number();
  head.enqueued_at = time_of(from.distance_from(number_of(opening.enqueued_at)));
  head.appended = from.distance_from(opening.appended);
  head.body_bytes = from.number();
  return head;
}

/// Skips everything before the queues; the content is valid only if the version is.
void skip_to_queues(number_reader& from) {
  constexpr int numbers = 4 + 4 + 6;
  for (int i = 0; i < numbers; ++i)
    std::ignore = from.number();
}

} // namespace

} // namespace codeq::core::block_format

namespace codeq::core {

std::optional<std::vector<queue_address>> block_reader::queues_of(std::string_view packed) {
  number_reader from(packed);
  if (!block_format::is_known(from.number()))
    return std::nullopt;
  from = number_reader(packed);
  block_format::skip_to_queues(from);
  auto queues = block_format::read_queues(from);
  if (from.failed())
    return std::nullopt;
  return queues;
}

block_reader::block_reader(std::string_view packed, const std::vector<std::uint32_t>& queues)
  : packed_(packed), queues_(queues) {
  read_header();
}

void block_reader::read_header() {
  number_reader from(packed_);
  version_ = from.number();
  failed_ = !block_format::is_known(version_);
  opening_.first = from.number();
  opening_.enqueued_at = block_format::time_of(from.number());
  opening_.appended = from.number();
  before_ = opening_;
  typical_.token = static_cast<fencing_token>(from.number());
  typical_.outcome = from.number();
  typical_.outcome_index = static_cast<std::uint32_t>(from.number());
  typical_.retry_at = block_format::time_of(from.number());
  block_format::read_shape(from, typical_);
  for (auto left = from.number(); left > 0 && !from.failed(); --left) {
    std::ignore = from.text();
    std::ignore = from.text();
  }
  for (auto left = from.number(); left > 0 && !from.failed(); --left) {
    kind read;
    auto queue = from.number();
    failed_ = failed_ || queue >= queues_.size();
    read.queue = failed_ ? 0 : queues_[queue];
    read.priority = static_cast<std::uint8_t>(from.number());
    failed_ = failed_ || read.priority > limits::priority_max;
    const auto is_same = version_ != block_version_oldest && from.number() == 1;
    failed_ = failed_ || (is_same && kinds_.empty());
    if (!is_same)
      read.settings = block_format::read_settings(from);
    else if (!kinds_.empty())
      read.settings = kinds_.back().settings;
    kinds_.push_back(read);
  }
  segments_ = static_cast<std::uint32_t>(from.number());
  failed_ = failed_ || from.failed();
  at_ = from.at();
}

std::optional<block_reader::place> block_reader::look() {
  if (read_ == segments_ || failed_)
    return std::nullopt;
  number_reader from(packed_, at_);
  place found;
  if (version_ == block_version_oldest) {
    const auto record = from.text();
    number_reader head(record);
    found.head = block_format::read_whole_head(head, opening_, before_);
    failed_ = head.failed();
    found.details = record.substr(head.at());
  } else {
    found.head = block_format::read_head(from, before_);
    if (block_format::has_details(found.head.flags))
      found.details = from.text();
  }
  found.end_of_record = from.at();
  const auto count = found.head.count;
  failed_ =
    failed_ || from.failed() || count == 0 || count > block_format::segment_tasks_max
    || found.head.kind >= kinds_.size();
  return failed_ ? std::nullopt : std::optional{found};
}

void block_reader::pass(const place& at) {
  ++read_;
  at_ = at.end_of_record;
  before_ = at.head;
  end_ = at.head.end();
}

std::optional<segment> block_reader::next(sequence from) {
  while (auto at = look()) {
    if (at->head.end() > from)
      return read_segment(*at);
    pass(*at);
  }
  return std::nullopt;
}

std::optional<segment> block_reader::find(sequence seq) {
  for (auto at = look(); at && at->head.first <= seq; at = look()) {
    if (seq < at->head.end())
      return read_segment(*at);
    pass(*at);
  }
  return std::nullopt;
}

segment block_reader::read_segment(const place& at) {
  pass(at);
  const auto& kind = kinds_[at.head.kind];
  const auto flags = at.head.flags;
  segment s;
  s.first = at.head.first;
  s.count = static_cast<std::uint32_t>(at.head.count);
  s.queue = kind.queue;
  s.priority = kind.priority;
  s.settings = kind.settings;
  s.aside = (flags & block_format::is_aside) != 0;
  s.allow_promotion = (flags & block_format::allows_promotion) != 0;
  s.replaced = (flags & block_format::is_replaced) != 0;
  s.copied = (flags & block_format::is_copied) != 0;
  s.enqueued_at = at.head.enqueued_at;
  s.appended = at.head.appended;
  s.body_bytes = at.head.body_bytes;
  number_reader from(at.details);
  if ((flags & block_format::is_deferred) != 0)
    s.not_before =
      block_format::time_of(from.distance_from(block_format::number_of(opening_.enqueued_at)));
  if ((flags & block_format::has_group) != 0)
    s.group = from.text();
  if ((flags & block_format::has_key) != 0) {
    auto name = from.text();
    s.key = std::make_unique<held_key>(
      held_key{std::string(name), from.distance_from(opening_.appended)});
  }
  if ((flags & block_format::has_fairness) != 0) {
    auto key = from.text();
    auto weight = from.number();
    failed_ = failed_ || weight == 0 || weight > limits::fairness_weight_max;
    s.set_mark({std::string(key), static_cast<std::uint16_t>(weight)});
  }
  if ((flags & block_format::has_limits) != 0) {
    auto uses = block_format::read_limits(from);
    failed_ = failed_ || !uses || s.count != 1;
    if (uses)
      s.set_limits(*uses);
  }
  s.kept = s.count;
  if ((flags & block_format::is_touched) != 0) {
    s.entries.reserve(std::min<std::size_t>(s.count, at.details.size()));
    auto previous = typical_;
    for (std::uint32_t i = 0; i < s.count && !from.failed(); ++i)
      s.entries.push_back(block_format::read_entry(from, previous));
    s.kept = static_cast<std::uint32_t>(std::count_if(s.entries.begin(), s.entries.end(), is_kept));
  }
  failed_ = failed_ || from.failed() || from.at() != at.details.size();
  return s;
}

} // namespace codeq::core
