// SPDX-License-Identifier: Apache-2.0
#include "http/desk/lease_requests.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

namespace {

error lease_is_over() {
  return {errc::stale_lease, "the lease is over"};
}

} // namespace

void lease_requests::add_report(const lease_name& lease, then done) {
  reports_.emplace(lease, std::move(done));
}

void lease_requests::add_checkpoint(const lease_name& lease, then done) {
  checkpoints_.emplace(lease, std::move(done));
}

lease_requests::beat lease_requests::add_beat(const lease_name& lease) {
  return beats_.emplace(lease, std::make_shared<result<void>>())->second;
}

result<void> lease_requests::end_beat(const lease_name& lease, const beat& sent) {
  const auto [begin, end] = beats_.equal_range(lease);
  const auto at =
    std::find_if(begin, end, [&](const auto& each) { return each.second == sent; });
  if (at != end)
    beats_.erase(at);
  return *sent;
}

void lease_requests::take(shard_id shard, const core::reports_answered& answered) {
  std::vector<std::pair<then, result<void>>> ended;
  for (const auto& answer : answered.answers) {
    const auto at = reports_.find({shard, answer.seq, answer.token});
    if (at == reports_.end())
      continue;
    auto how = answer.code == errc::none ? result<void>() : error{answer.code, answer.context};
    ended.emplace_back(std::move(at->second), std::move(how));
    reports_.erase(at);
  }
  for (auto& [done, how] : ended)
    done(std::move(how));
}

void lease_requests::take(shard_id shard, const core::leases_lost& lost) {
  std::vector<then> refused;
  for (const auto& lease : lost.leases) {
    const lease_name name{shard, lease.seq, lease.token};
    const auto [begin, end] = beats_.equal_range(name);
    for (auto i = begin; i != end; ++i)
      *i->second = lease_is_over();
    const auto [first, last] = checkpoints_.equal_range(name);
    for (auto i = first; i != last; ++i)
      refused.push_back(std::move(i->second));
    checkpoints_.erase(first, last);
  }
  for (const auto& done : refused)
    done(lease_is_over());
}

void lease_requests::take(shard_id shard, const core::checkpoints_saved& saved) {
  std::vector<then> ended;
  for (const auto& one : saved.checkpoints) {
    const auto at = checkpoints_.find({shard, one.seq, one.mark.token});
    if (at == checkpoints_.end())
      continue;
    ended.push_back(std::move(at->second));
    checkpoints_.erase(at);
  }
  for (const auto& done : ended)
    done({});
}

void lease_requests::take_saved(
  shard_id shard, fencing_token token, const result<void>& how) {
  const auto at = std::find_if(checkpoints_.begin(), checkpoints_.end(), [&](const auto& each) {
    return std::get<shard_id>(each.first) == shard && std::get<fencing_token>(each.first) == token;
  });
  if (at == checkpoints_.end())
    return;
  const auto done = std::move(at->second);
  checkpoints_.erase(at);
  done(how);
}

void lease_requests::fail(std::span<const shard_id> shards, const error& reason) {
  const auto is_of = [&](const auto& request) {
    const auto shard = std::get<shard_id>(request.first);
    return std::binary_search(shards.begin(), shards.end(), shard);
  };
  std::vector<then> failed;
  const auto end_those = [&](auto& requests) {
    for (auto& request : requests)
      if (is_of(request))
        failed.emplace_back(std::move(request.second));
    std::erase_if(requests, is_of);
  };
  end_those(reports_);
  end_those(checkpoints_);
  for (const auto& each : beats_)
    if (is_of(each) && *each.second)
      *each.second = reason;
  for (const auto& done : failed)
    done(reason);
}

void lease_requests::fail_all(const error& reason) {
  for (const auto& [lease, done] : std::exchange(reports_, {}))
    done(reason);
  for (const auto& [lease, done] : std::exchange(checkpoints_, {}))
    done(reason);
  beats_.clear();
}

} // namespace codeq::http
