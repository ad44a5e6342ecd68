// SPDX-License-Identifier: Apache-2.0
#include "maintenance/shard_facts.hpp"

#include "storage/records/record_codec.hpp"

namespace codeq::maintenance {

void shard_facts::count_end(const queue_address& queue, const core::task_entry& entry) {
  auto& counts = ended[queue];
  counts.completed += entry.state == task_state::completed ? 1 : 0;
  counts.dead += entry.state == task_state::dead ? 1 : 0;
  counts.cancelled += entry.state == task_state::cancelled && !entry.gone ? 1 : 0;
}

bool shard_facts::has(const std::string& key) const {
  auto value = store->read(key);
  return !value || value->has_value();
}

std::optional<core::segment_appended> shard_facts::record_of(sequence first) const {
  auto segment = store->read(storage::segment_key{id, first}.encode());
  auto aside = store->read(storage::aside_key{id, first}.encode());
  for (const auto* value : {&segment, &aside}) {
    if (!*value || !**value)
      continue;
    auto decoded = storage::decode_segment(***value, first);
    return decoded ? std::optional{std::move(*decoded)} : std::nullopt;
  }
  return std::nullopt;
}

std::optional<core::task_entry> shard_facts::known(sequence seq) const {
  std::optional<core::task_entry> entry;
  state->segments.walk(seq, seq + 1, [&](const core::segment& s) {
    entry = s.view(seq);
    return false;
  });
  return entry;
}

bool shard_facts::is_copied(sequence seq) const {
  bool copied = false;
  state->segments.walk(seq, seq + 1, [&](const core::segment& s) {
    copied = s.copied;
    return false;
  });
  return copied;
}

const core::leases_ended* shard_facts::outcome_at(core::log_position position) {
  if (outcome_ && outcome_->position == position)
    return &*outcome_;
  auto value = store->read(storage::outcome_key{id, position}.encode());
  auto decoded = value && *value ? storage::decode_outcome(**value)
                                 : result<core::leases_ended>{error{errc::unavailable, {}}};
  if (!decoded)
    return nullptr;
  outcome_ = std::move(*decoded);
  return &*outcome_;
}

} // namespace codeq::maintenance
