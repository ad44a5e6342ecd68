// SPDX-License-Identifier: Apache-2.0
#include "replication/world.hpp"

#include "replication/bounds.hpp"

#include <algorithm>
#include <variant>

namespace codeq::replication::sim {

using namespace std::chrono_literals;

namespace {

constexpr span disturbed = 20s;
/// How soon a shard serves again after everything has healed.
constexpr span serves_again = 5s;
constexpr span is_whole_again = 20s;

membership first_value() {
  membership value;
  value.version = 1;
  value.epoch = 1;
  value.replicas = {replica_id{11}, replica_id{22}, replica_id{33}};
  value.in_sync = value.replicas;
  value.primary = value.replicas.front();
  return value;
}

std::size_t index_of(replica_id id) {
  return static_cast<std::size_t>(id) / 11 - 1;
}

std::size_t deltas_of(const message& what) {
  if (const auto* appended = std::get_if<append>(&what))
    return appended->entries.size();
  const auto* fetched = std::get_if<collected>(&what);
  return fetched ? fetched->entries.size() : 0;
}

} // namespace

scenario::scenario(std::uint64_t from) : seed(from) {
  codeq::sim::chance random(from * 2 + 1);
  is_os = random.hits(400);
  has_power_cuts = random.hits(600);
  loss_permille = random.hits(500) ? random.below(100) : 0;
  late_permille = random.hits(500) ? random.below(300) : 10;
  double_permille = random.hits(500) ? random.below(200) : 0;
  unknown_permille = random.hits(700) ? random.below(400) : 0;
  stale_permille = random.hits(500) ? random.below(500) : 0;
  fault_pause_ms = random.between(200, 3'000);
}

world::world(std::uint64_t seed) : surroundings(seed), scenario_(seed) {
  values_.push_back(first_value());
  for (std::size_t i = 0; i < nodes_count; ++i) {
    const auto rate = 1.0 + static_cast<double>(random_.below(250)) / 1000;
    const auto& value = values_.back();
    nodes_[i] =
      std::make_unique<node>(*this, node_start{value.replicas[i], std::to_string(i), rate, value});
  }
}

world::~world() = default;

void world::send(const node& sender, replica_id to, envelope what) {
  if (deltas_of(what.content) > bounds::message_entries)
    audit_.fail("a message has more deltas than its receiver takes");
  const auto from = index_of(sender.id());
  const auto index = index_of(to);
  const auto copies = 1u + (random_.hits(scenario_.double_permille) ? 1u : 0u);
  for (unsigned i = 0; i < copies; ++i) {
    if (is_cut_[from][index] || (!is_healed_ && random_.hits(scenario_.loss_permille)))
      continue;
    const auto is_late = !is_healed_ && random_.hits(scenario_.late_permille);
    const auto delay = is_late ? random_.moment(1'000, 2'000'000) : random_.moment(50, 3'000);
    time_.after(delay, [this, from, index, what] {
      if (is_cut_[from][index] || !nodes_[index]->is_up())
        return;
      nodes_[index]->run(0us, [what](shard_replica& process, monotonic_time now) {
        process.receive(what, now);
      });
    });
  }
}

void world::compare_and_set(
  const node& asker, const membership& old, const membership& next) {
  const auto from = index_of(asker.id());
  if (is_etcd_cut_[from])
    return;
  const auto is_late = !is_healed_ && random_.hits(50);
  const auto delay = is_late ? random_.moment(1'000, 2'000'000) : random_.moment(500, 20'000);
  if (!is_healed_ && random_.hits(scenario_.unknown_permille / 2))
    return;
  time_.after(delay, [this, from, old, next] {
    const auto applied = values_.back() == old;
    if (applied) {
      values_.push_back(next);
      std::string set;
      for (auto member : next.in_sync)
        set += " " + std::to_string(index_of(member));
      note("etcd: version " + std::to_string(next.version) + " epoch "
           + std::to_string(next.epoch) + " primary "
           + std::to_string(index_of(next.primary)) + " set" + set);
      if (next.condition == shard_condition::loss_accepted)
        audit_.accept_loss(next.epoch);
    }
    if (is_healed_ || !random_.hits(scenario_.unknown_permille))
      answer(from, values_.back(), applied);
  });
}

void world::answer(std::size_t to, membership current, bool applied) {
  if (is_etcd_cut_[to])
    return;
  nodes_[to]->run(
    random_.moment(500, 20'000), [current, applied](shard_replica& process, monotonic_time now) {
      process.etcd_answered(current, applied, now);
    });
}

void world::poll(std::size_t index) {
  // A poll may be answered with an old value, and a watch tell it late or twice.
  const auto is_stale = !is_healed_ && random_.hits(scenario_.stale_permille);
  answer(index, is_stale ? values_[random_.below(values_.size())] : values_.back(), false);
  time_.after(random_.moment(500'000, 1'000'000), [this, index] { poll(index); });
}

void world::make_load() {
  for (auto& n : nodes_)
    n->run(0us, [this](shard_replica& process, monotonic_time now) {
      if (process.accepts_writes())
        process.propose(std::make_shared<text_body>(std::to_string(++deltas_)), now);
    });
  time_.after(random_.moment(2'000, 60'000), [this] { make_load(); });
}

void world::ended(const node& gone) {
  for (auto& n : nodes_)
    if (n->id() != gone.id() && random_.hits(500))
      n->run(
        random_.moment(1'000, 150'000),
        [gone = gone.id()](shard_replica& process, monotonic_time now) {
          process.note_gone(gone, now);
        });
}

void world::check_answers() {
  for (auto& n : nodes_)
    if (n->is_up() && n->process().may_answer(n->now()))
      audit_.may_answer(n->process().value().epoch);
}

void world::crash(std::size_t index, span length) {
  if (scenario_.has_power_cuts && random_.hits(500))
    nodes_[index]->cut_power();
  else
    nodes_[index]->kill();
  time_.after(length, [this, index] {
    if (!nodes_[index]->is_up())
      nodes_[index]->start();
  });
}

void world::isolate(std::size_t index, span length) {
  note("isolate " + std::to_string(index));
  const auto set = [this, index](bool is_cut) {
    for (std::size_t i = 0; i < nodes_count; ++i)
      is_cut_[index][i] = is_cut_[i][index] = is_cut;
  };
  set(true);
  time_.after(length, [set] { set(false); });
}

void world::disturb(std::size_t index) {
  auto& victim = *nodes_[index];
  const auto length = random_.moment(10'000, random_.hits(300) ? 5'000'000 : 2'000'000);
  const auto other = (index + 1 + random_.below(nodes_count - 1)) % nodes_count;
  switch (random_.below(10)) {
  case 0:
  case 1:
    crash(index, length);
    break;
  case 2:
    note("pause " + std::to_string(index));
    victim.pause(length);
    break;
  case 3:
  case 4: {
    const auto is_both = random_.hits(500);
    note("cut " + std::to_string(index) + " to " + std::to_string(other));
    is_cut_[index][other] = true;
    is_cut_[other][index] = is_cut_[other][index] || is_both;
    time_.after(length, [this, index, other] {
      is_cut_[index][other] = is_cut_[other][index] = false;
    });
    break;
  }
  case 5:
    isolate(index, length);
    break;
  case 6:
    isolate(index, length);
    crash(other, random_.moment(1'000, 100'000));
    break;
  case 7: {
    const auto is_all = random_.hits(300);
    note("etcd away from " + (is_all ? "all" : std::to_string(index)));
    for (std::size_t i = 0; i < nodes_count; ++i)
      is_etcd_cut_[i] = is_etcd_cut_[i] || is_all || i == index;
    time_.after(length, [this] { is_etcd_cut_ = {}; });
    break;
  }
  case 8:
    note("disk hangs " + std::to_string(index));
    victim.hang_disk(length);
    break;
  default:
    victim.run(0us, [to = nodes_[other]->id()](shard_replica& process, monotonic_time) {
      process.hand_over(to);
    });
  }
}

void world::make_fault() {
  if (is_healed_)
    return;
  disturb(random_.below(nodes_count));
  time_.after(random_.moment(10'000, scenario_.fault_pause_ms * 1000), [this] { make_fault(); });
}

void world::heal() {
  note("heal");
  is_healed_ = true;
  is_cut_ = {};
  is_etcd_cut_ = {};
  for (auto& n : nodes_) {
    n->pause(-1s);
    if (!n->is_up())
      n->start();
  }
}

std::string world::run() {
  for (std::size_t i = 0; i < nodes_count; ++i) {
    nodes_[i]->start();
    poll(i);
  }
  make_load();
  time_.after(random_.moment(0, 5'000'000), [this] { make_fault(); });
  const auto step = 10ms;
  while (time_.now() < disturbed && audit_.violation().empty()) {
    time_.run_until(time_.now() + step);
    check_answers();
  }
  heal();
  // Pauses, hung disks and late messages end within this time.
  time_.run_until(time_.now() + 5s + serves_again);
  const auto is_served = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
    return n->process().is_serving();
  });
  if (!is_served && audit_.violation().empty())
    return "the shard is not served after everything has healed";
  time_.run_until(time_.now() + is_whole_again);
  const auto& value = values_.back();
  if (value.in_sync.size() != nodes_count && audit_.violation().empty())
    return "not all replicas are in sync after everything has healed";
  for (auto& n : nodes_)
    audit_.check_log(n->log());
  return audit_.violation();
}

} // namespace codeq::replication::sim
