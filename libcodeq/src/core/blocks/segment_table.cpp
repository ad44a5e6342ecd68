// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/segment_table.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::core {

namespace {

/// Compares the fields that may change while a segment lives.
bool is_same(const segment& a, const segment& b) {
  bool same_key = !a.key == !b.key && (!a.key || a.key->since == b.key->since);
  return same_key && a.first == b.first && a.count == b.count && a.kept == b.kept
         && a.not_before == b.not_before && a.replaced == b.replaced && a.body_bytes == b.body_bytes
         && a.entries == b.entries;
}

} // namespace

segment_table::block_map::const_iterator segment_table::block_of(sequence seq) const {
  auto at = blocks_.upper_bound(seq);
  return at == blocks_.begin() ? blocks_.end() : std::prev(at);
}

std::optional<segment> segment_table::read_packed(sequence first) const {
  auto packed = block_of(first);
  if (packed == blocks_.end())
    return std::nullopt;
  block_reader reader(packed->second.packed.view(), packed->second.queues);
  auto found = reader.next(first);
  CODEQ_ASSERT(!reader.failed());
  return found && found->first == first ? std::move(found) : std::nullopt;
}

block_reader& segment_table::reader_for(block_map::const_iterator packed, sequence seq) {
  const auto& [first, block] = *packed;
  bool goes_on = place_ && place_->block == first && place_->reader.end() <= seq;
  if (!goes_on)
    place_.emplace(place{first, block_reader(block.packed.view(), block.queues)});
  return place_->reader;
}

segment* segment_table::find(sequence seq) {
  auto at = unpacked_.upper_bound(seq);
  if (at != unpacked_.begin() && std::prev(at)->second.contains(seq))
    return &std::prev(at)->second;
  auto packed = block_of(seq);
  if (packed == blocks_.end())
    return nullptr;
  auto& reader = reader_for(packed, seq);
  auto found = reader.find(seq);
  CODEQ_ASSERT(!reader.failed());
  if (!found)
    return nullptr;
  touched_ += found->entries.size();
  return &unpacked_.emplace_hint(at, found->first, std::move(*found))->second;
}

segment& segment_table::at(sequence first) {
  // A segment that was just added has no task yet.
  auto* found = find_unpacked(first);
  if (!found)
    found = find(first);
  CODEQ_ASSERT(found && found->first == first);
  return *found;
}

segment& segment_table::add(segment s) {
  auto first = s.first;
  return unpacked_.emplace_hint(unpacked_.end(), first, std::move(s))->second;
}

void segment_table::walk(
  sequence from, sequence below, const std::function<bool(const segment&)>& visit) const {
  auto next = unpacked_.upper_bound(from);
  if (next != unpacked_.begin() && std::prev(next)->second.contains(from))
    --next;
  /// Visits the unpacked segments before `end`.
  auto visit_before = [&](sequence end) {
    for (; next != unpacked_.end() && next->first < end; ++next) {
      if (!visit(next->second))
        return false;
    }
    return true;
  };
  auto first = block_of(from);
  auto at = first == blocks_.end() ? blocks_.begin() : first;
  for (; at != blocks_.end() && at->first < below; ++at) {
    block_reader reader(at->second.packed.view(), at->second.queues);
    while (auto s = reader.next(from)) {
      if (s->first >= below)
        break;
      if (!visit_before(s->first))
        return;
      bool is_unpacked = next != unpacked_.end() && next->first == s->first;
      if (!is_unpacked && !visit(*s))
        return;
    }
    CODEQ_ASSERT(!reader.failed());
  }
  visit_before(below);
}

void segment_table::walk_down(
  sequence from, sequence below, const std::function<bool(const segment&)>& visit) const {
  auto next = unpacked_.lower_bound(below);
  /// Visits the unpacked segments from `first` on; false when the walk is over.
  auto visit_from = [&](sequence first) {
    for (; next != unpacked_.begin() && std::prev(next)->first >= first; --next) {
      const auto& s = std::prev(next)->second;
      if (s.first + s.count <= from || !visit(s))
        return false;
    }
    return true;
  };
  for (auto at = blocks_.lower_bound(below); at != blocks_.begin() && from < below;) {
    --at;
    std::vector<segment> packed;
    block_reader reader(at->second.packed.view(), at->second.queues);
    while (auto s = reader.next(from)) {
      if (s->first < below)
        packed.push_back(std::move(*s));
    }
    CODEQ_ASSERT(!reader.failed());
    for (auto s = packed.rbegin(); s != packed.rend(); ++s) {
      if (!visit_from(s->first + 1))
        return;
      bool is_unpacked = next != unpacked_.begin() && std::prev(next)->first == s->first;
      if (!is_unpacked && !visit(*s))
        return;
    }
    if (at->first <= from)
      break;
  }
  visit_from(0);
}

std::vector<segment_block>
segment_table::pack(const std::vector<sequence>& changed, const queue_namer& name_of) const {
  std::vector<segment_block> blocks;
  for (auto at = changed.begin(); at != changed.end();) {
    auto first = block_of(*at);
    auto from = first == blocks_.end() ? *at : first->first;
    // Adjacent blocks that change are packed together, so that their remaining segments fill blocks
    // again.
    auto last = first == blocks_.end() ? blocks_.begin() : std::next(first);
    auto end = last == blocks_.end() ? no_end : last->first;
    while (at != changed.end()) {
      at = std::lower_bound(at, changed.end(), end);
      bool goes_on = at != changed.end() && block_of(*at) == last;
      if (!goes_on)
        break;
      ++last;
      end = last == blocks_.end() ? no_end : last->first;
    }
    auto made = blocks.size();
    pack_range(from, end, name_of, blocks);
    remove_others(first == blocks_.end() ? last : first, last, made, blocks);
  }
  return blocks;
}

void segment_table::remove_others(
  block_map::const_iterator old,
  block_map::const_iterator end,
  std::size_t made,
  std::vector<segment_block>& blocks) {
  auto made_end = blocks.size();
  for (; old != end; ++old) {
    for (; made < made_end && blocks[made].first < old->first; ++made) {
    }
    bool is_written_again = made < made_end && blocks[made].first == old->first;
    if (!is_written_again)
      blocks.push_back({old->first, {}});
  }
}

void segment_table::pack_range(
  sequence from,
  sequence end,
  const queue_namer& name_of,
  std::vector<segment_block>& blocks) const {
  block_builder builder(name_of, block_version_);
  auto key = from;
  auto finish = [&] {
    if (builder.segments() > 0)
      blocks.push_back({key, bytes(builder.take())});
  };
  walk(from, end, [&](const segment& s) {
    if (s.kept == 0)
      return true;
    bool is_full = builder.segments() >= limits_.block_segments_max
                   || builder.tasks() + s.count > limits_.block_tasks_max;
    if (builder.segments() > 0 && is_full) {
      finish();
      key = s.first;
    }
    builder.add(s);
    return true;
  });
  finish();
}

void segment_table::install(
  const std::vector<segment_block>& blocks,
  const std::function<std::uint32_t(const queue_address&)>& number_of) {
  for (const auto& taken : blocks) {
    remove(taken.first);
    if (taken.packed.empty())
      continue;
    auto names = block_reader::queues_of(taken.packed.view());
    CODEQ_ASSERT(names);
    std::vector<std::uint32_t> queues;
    for (const auto& name : *names)
      queues.push_back(number_of(name));
    put(taken, std::move(queues));
  }
  keep_oldest();
}

bool segment_table::restore(
  const segment_block& block,
  const std::function<std::uint32_t(const queue_address&)>& number_of,
  const std::function<void(segment&)>& visit) {
  auto names = block_reader::queues_of(block.packed.view());
  if (!names)
    return false;
  std::vector<std::uint32_t> queues;
  for (const auto& name : *names)
    queues.push_back(number_of(name));
  block_reader reader(block.packed.view(), queues);
  auto read = reader.segments();
  while (auto s = reader.next()) {
    if (reader.failed())
      return false;
    visit(*s);
    --read;
  }
  if (reader.failed() || read != 0)
    return false;
  put(block, std::move(queues));
  return true;
}

void segment_table::put(const segment_block& taken, std::vector<std::uint32_t> queues) {
  auto segments = block_reader(taken.packed.view(), queues).segments();
  packed_segments_ += segments;
  packed_bytes_ += taken.packed.size();
  blocks_.emplace(taken.first, block{taken.packed, std::move(queues), segments});
}

void segment_table::remove(sequence first) {
  auto at = blocks_.find(first);
  if (at == blocks_.end())
    return;
  packed_segments_ -= at->second.segments;
  packed_bytes_ -= at->second.packed.size();
  place_.reset();
  blocks_.erase(at);
}

std::vector<sequence> segment_table::forgotten_changes() const {
  std::vector<sequence> forgotten;
  for (const auto& [first, s] : unpacked_) {
    if (s.dirty)
      continue;
    auto kept = read_packed(first);
    if (!kept || !is_same(*kept, s))
      forgotten.push_back(first);
  }
  return forgotten;
}

void segment_table::keep_oldest() {
  touched_ = 0;
  std::size_t weight = 0;
  for (auto at = unpacked_.begin(); at != unpacked_.end(); ++at) {
    weight += segment_weight + at->second.entries.size();
    if (weight > limits_.weight_kept) {
      unpacked_.erase(at, unpacked_.end());
      return;
    }
    touched_ += at->second.entries.size();
  }
}

} // namespace codeq::core
