// SPDX-License-Identifier: Apache-2.0
#include "support/fake_etcd.hpp"

#include "etcd/etcd_limits.hpp"

#include <algorithm>
#include <utility>

namespace codeq::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t cluster_id = 77;

bool is_in(const etcd::key_range& range, const std::string& key) {
  return range.end.empty() ? key == range.first : key >= range.first && key < range.end;
}

} // namespace

fake_etcd::fake_etcd(replication::sim::timeline& time, std::uint64_t seed)
  : time_(time), random_(seed) {}

void fake_etcd::cut(std::size_t client, bool is_cut) {
  if (is_cut)
    cut_.insert(client);
  else
    cut_.erase(client);
}

fake_etcd::span fake_etcd::delay() {
  return random_.moment(300, 5'000);
}

void fake_etcd::after(std::size_t client, span delay, std::function<void()> run) {
  time_.after(delay, [this, client, run = std::move(run)] {
    if (!cut_.contains(client))
      run();
  });
}

etcd::decision fake_etcd::apply(const etcd::swap& what) {
  const auto found = keys_.find(what.key);
  const auto current =
    found == keys_.end() ? std::nullopt : std::optional(found->second.value);
  if (current != what.expected) {
    ++counts_.refused;
    return {{cluster_id, revision()}, current == what.next, current};
  }
  // A key is never stored with a lease that has ended.
  if (what.lease != 0 && !leases_.contains(what.lease))
    return {{cluster_id, revision()}, false, current};
  ++counts_.writes;
  change(what.key, what.next, what.lease);
  return {{cluster_id, revision()}, true, what.next};
}

void fake_etcd::change(
  const std::string& key, std::optional<std::string> value, std::uint64_t lease) {
  if (const auto known = keys_.find(key); known != keys_.end())
    if (const auto old = leases_.find(known->second.lease); old != leases_.end())
      old->second.keys.erase(key);
  if (!value && !keys_.contains(key))
    return;
  changes_.push_back({key, value, revision() + 1});
  if (!value) {
    keys_.erase(key);
  } else {
    keys_[key] = {*value, revision(), lease};
    if (const auto holder = leases_.find(lease); holder != leases_.end())
      holder->second.keys.insert(key);
  }
  tell(changes_.back());
}

void fake_etcd::tell(const etcd::entry& changed) {
  if (observer_)
    observer_(changed);
  for (const auto& to : watchers_) {
    if (!is_in(to.what, changed.key) || random_.hits(faults_.lost_changes))
      continue;
    tell_one(to, changed);
    if (random_.hits(faults_.doubled_changes))
      tell_one(to, changed);
    if (random_.hits(faults_.rewound_changes))
      tell_one(to, changes_[random_.below(changes_.size())]);
  }
}

void fake_etcd::tell_one(const watcher& to, const etcd::entry& changed) {
  const auto is_late = random_.hits(faults_.late_changes);
  const auto when = is_late ? random_.moment(100'000, 5'000'000) : delay();
  etcd::watch_line line;
  line.at = {cluster_id, changed.modified};
  line.changes.push_back(changed);
  after(to.client, when, [tell = to.changed, line = std::move(line)] { tell(line); });
}

etcd::range_answer fake_etcd::list(const etcd::key_range& what) const {
  etcd::range_answer all;
  all.at = {cluster_id, revision()};
  for (auto at = keys_.lower_bound(what.first); at != keys_.end(); ++at) {
    if (!is_in(what, at->first))
      break;
    ++all.count;
    if (at->second.modified >= what.modified_since)
      all.found.push_back({at->first, at->second.value, at->second.modified});
  }
  return all;
}

void fake_etcd::decide(
  std::size_t client, etcd::swap what, std::function<void(const etcd::swap_answer&)> done) {
  const auto answer = [this, client, done](const etcd::decision& made, span when) {
    etcd::swap_answer how;
    how.end = made.is_applied ? etcd::swap_end::applied : etcd::swap_end::not_applied;
    how.current = made.current;
    how.revision = made.at.revision;
    after(client, when, [done, how] { done(how); });
  };
  if (what.lease != 0 && !leases_.contains(what.lease)) {
    const auto end = std::chrono::duration_cast<span>(etcd::limits::call);
    return after(client, end, [done] { done({etcd::swap_end::unknown, {}, 0, "no such lease"}); });
  }
  if (random_.hits(faults_.unknown)) {
    if (random_.hits(500))
      after(client, random_.moment(300, 3'000'000), [this, what] { apply(what); });
    const auto end = std::chrono::duration_cast<span>(etcd::limits::call);
    return after(client, end, [done] { done({etcd::swap_end::unknown, {}, 0, "no answer"}); });
  }
  const auto is_lost = random_.hits(faults_.lost_requests);
  const auto is_answer_lost = !is_lost && random_.hits(faults_.lost_answers);
  const auto again = std::chrono::duration_cast<span>(etcd::limits::unanswered);
  if (is_answer_lost)
    after(client, delay(), [this, what] { apply(what); });
  const auto when = is_lost || is_answer_lost ? again + delay() : delay();
  after(client, when, [this, what = std::move(what), answer] { answer(apply(what), delay()); });
}

void fake_etcd::read(
  std::size_t client,
  etcd::key_range what,
  std::function<void(const result<etcd::range_answer>&)> done) {
  ++counts_.reads;
  const auto is_stale = random_.hits(faults_.stale_reads);
  // An answer as of an earlier moment.
  auto stale = is_stale ? list(what) : etcd::range_answer{};
  const auto when = is_stale ? random_.moment(100'000, 1'500'000) : delay();
  after(client, when, [this, client, is_stale, what, stale = std::move(stale), done] {
    after(client, delay(), [done, told = is_stale ? stale : list(what)] { done(told); });
  });
}

void fake_etcd::grant(
  std::size_t client,
  duration length,
  std::function<void(const result<etcd::lease_answer>&)> done) {
  after(client, delay(), [this, client, length, done] {
    ++counts_.leases;
    const auto id = next_lease_++;
    leases_[id] = {length, time_.now() + length, {}};
    check_lease(id);
    if (random_.hits(faults_.early_ends))
      time_.after(random_.moment(100'000, 4'000'000), [this, id] { end_lease(id); });
    const etcd::lease_answer lease{{cluster_id, revision()}, id, length};
    after(client, delay(), [done, lease] { done(lease); });
  });
}

void fake_etcd::check_lease(std::uint64_t lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end())
    return;
  if (time_.now() >= found->second.ends)
    return end_lease(lease);
  time_.after(found->second.ends - time_.now(), [this, lease] { check_lease(lease); });
}

void fake_etcd::end_lease(std::uint64_t lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end())
    return;
  const auto keys = std::move(found->second.keys);
  leases_.erase(found);
  for (const auto& key : keys)
    change(key, std::nullopt, 0);
}

void fake_etcd::keep_alive(
  std::size_t client,
  std::uint64_t lease,
  std::function<void(const result<etcd::lease_answer>&)> done) {
  after(client, delay(), [this, client, lease, done] {
    ++counts_.keep_alives;
    const auto found = leases_.find(lease);
    etcd::lease_answer kept{{cluster_id, revision()}, lease, duration{0}};
    if (found != leases_.end()) {
      found->second.ends = time_.now() + found->second.length;
      kept.remaining = found->second.length;
    } else if (random_.hits(faults_.false_keep_alives)) {
      kept.remaining = duration{5'000};
    }
    after(client, delay(), [done, kept] { done(kept); });
  });
}

void fake_etcd::watch(
  std::size_t client,
  etcd::key_range what,
  std::function<void(const etcd::watch_line&)> changed) {
  watchers_.push_back({client, std::move(what), std::move(changed)});
}

} // namespace codeq::test
