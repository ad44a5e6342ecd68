// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/delivery_window.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

delivery_window::delivery_window(std::size_t shard_count, std::uint64_t bytes_max)
  : share_bytes_(std::max<std::uint64_t>(bytes_max / std::max<std::size_t>(shard_count, 1), 1)),
    shares_(shard_count, share{0, share_bytes_}) {
}

std::int64_t delivery_window::take_room(shard_id shard) {
  return static_cast<std::int64_t>(std::exchange(shares_[value(shard)].owed, 0));
}

void delivery_window::sent(shard_id shard, const core::tasks_granted& granted, std::uint64_t end) {
  delivery d{shard, granted.bytes, end, {}};
  d.runs.reserve(granted.runs.size());
  for (const auto& r : granted.runs)
    d.runs.push_back({r.first, r.first_token, r.count});
  shares_[value(shard)].waiting += granted.bytes;
  waiting_.push_back(std::move(d));
}

void delivery_window::forget(shard_id shard) {
  shares_[value(shard)] = {0, share_bytes_};
  std::erase_if(waiting_, [shard](const delivery& d) { return d.shard == shard; });
}

void delivery_window::written(std::uint64_t bytes) {
  while (!waiting_.empty() && waiting_.front().end <= bytes) {
    const auto& d = waiting_.front();
    auto& s = shares_[value(d.shard)];
    s.waiting -= d.bytes;
    s.owed += d.bytes;
    waiting_.pop_front();
  }
}

std::vector<shard_id> delivery_window::owed() const {
  std::vector<shard_id> found;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i].owed >= share_bytes_ / 2)
      found.push_back(static_cast<shard_id>(i));
  }
  return found;
}

bool delivery_window::is_filling() const {
  return std::any_of(shares_.begin(), shares_.end(), [&](const share& s) {
    return s.waiting + s.owed >= share_bytes_ / 2;
  });
}

std::vector<delivery_window::late_tasks> delivery_window::take_late() {
  std::vector<late_tasks> late;
  for (auto& d : waiting_) {
    if (d.how_old == delivery::age::seen) {
      late_tasks tasks{d.shard, {}};
      for (const auto& r : d.runs)
        for (std::uint32_t i = 0; i < r.count; ++i)
          tasks.leases.push_back(
            {r.first + i, static_cast<fencing_token>(value(r.first_token) + i), true});
      late.push_back(std::move(tasks));
    }
    if (d.how_old != delivery::age::late)
      d.how_old = d.how_old == delivery::age::fresh ? delivery::age::seen : delivery::age::late;
  }
  return late;
}

} // namespace codeq::coordinator
