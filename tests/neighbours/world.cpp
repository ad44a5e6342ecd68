// SPDX-License-Identifier: Apache-2.0
#include "neighbours/world.hpp"

#include "coordinator/replica/replica_wire.hpp"
#include "coordinator/shared/shared_hold.hpp"

#include <algorithm>

namespace codeq::neighbours {

namespace {

using namespace std::chrono_literals;

constexpr duration disturbed_for = 12s;
/// By then everything that can be handed over has to be.
constexpr duration healed_for = 10s;
constexpr duration step = 25ms;

} // namespace

world::world(std::uint64_t seed, bool with_settings)
  : random_(seed),
    with_settings_(with_settings) {
  const auto mode = below(2) == 0 ? storage::durability::sync : storage::durability::os;
  for (std::uint16_t i = 0; i < shard_node::shard_count; ++i)
    nodes_.push_back(std::make_unique<shard_node>(*this, shard_id{i}, mode));
  if (with_settings_)
    for (auto& node : nodes_)
      node->carry_settings();
}

void world::after(duration wait, std::function<void()> what) {
  due_.emplace(std::pair{now_ + wait, ++order_}, std::move(what));
}

void world::pass(duration time) {
  const auto until = now_ + time;
  while (!due_.empty() && due_.begin()->first.first <= until) {
    auto next = due_.extract(due_.begin());
    now_ = std::max(now_, next.key().first);
    next.mapped()();
  }
  now_ = until;
}

void world::send(shard_id to, const coordinator::neighbour_message& said) {
  coordinator::shard_message out;
  out.shard = to;
  out.content.emplace<coordinator::neighbour_message>(said);
  const auto body = coordinator::encode(out);
  if (is_disturbed_ && below(10) == 0)
    return;
  const auto times = is_disturbed_ && below(10) == 0 ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const auto is_late = is_disturbed_ && below(8) == 0;
    after(duration{below(is_late ? 3000 : 10)}, [this, to, body] {
      const auto came = coordinator::decode_shard_message(body);
      if (!came)
        wrong_ = "a message cannot be read: " + to_string(came.error());
      else
        nodes_[value(to)]->receive(std::get<coordinator::neighbour_message>(came->content));
    });
  }
}

void world::serve(shard_node& node) {
  if (node.is_served())
    return;
  if (auto why = node.serve(); !why.empty())
    wrong_ = why;
  for (auto& other : nodes_) {
    // A node that serves knows the epochs that etcd has.
    if (other->is_served())
      node.note_epoch(other->id(), other->epoch());
    auto tell = [&to = *other, id = node.id(), epoch = node.epoch()] { to.note_epoch(id, epoch); };
    // An operator tells every coordinator before it goes on.
    if (has_forced_)
      tell();
    else
      after(duration{below(1000)}, tell);
  }
}

void world::bring_back(shard_node& node) {
  after(duration{below(3000)}, [this, &node] { serve(node); });
}

void world::note_loss(const shard_node& gone) {
  // The loss that is accepted: what another shard was told that it is here.
  for (auto& [name, entry] : book_.entries()) {
    if (name.to != gone.id() || name.from == gone.id())
      continue;
    entry.may_be_lost =
      entry.may_be_lost || !nodes_[value(name.from)]->has_open(name.to, name.group);
  }
}

void world::disturb() {
  if (with_settings_ && below(10) == 0)
    nodes_[0]->configure("s" + std::to_string(below(3)), below(3));
  auto& node = *nodes_[below(nodes_.size())];
  switch (below(40)) {
  case 0:
    node.kill();
    return bring_back(node);
  case 1:
    node.cut_power();
    return bring_back(node);
  case 2: {
    // Both ends of what crosses shards may lose it at once, so others are served then.
    const auto all_serve = std::all_of(
      nodes_.begin(), nodes_.end(), [](const auto& one) { return one->is_served(); });
    if (!all_serve)
      return;
    note_loss(node);
    node.go_back();
    has_forced_ = true;
    serve(node);
    has_forced_ = false;
    return;
  }
  case 3:
    return node.reconnect(shard_id{static_cast<std::uint16_t>(below(nodes_.size()))});
  default:
    return node.work();
  }
}

std::string world::run() {
  work_under_faults();
  pass(healed_for);
  if (wrong_.empty())
    wrong_ = check_settings();
  return wrong_.empty() ? check() : wrong_;
}

std::string world::run_held() {
  auto hold = std::make_shared<coordinator::shared_hold>(0);
  hold->extend(now() + 1h, now());
  for (auto& node : nodes_)
    node->hold_by(hold);
  work_under_faults();
  pass(healed_for);
  if (wrong_.empty())
    wrong_ = check_held();
  hold->end();
  // All that the faults' time has brought is handed over now.
  pass(2 * healed_for);
  return wrong_.empty() ? check() : wrong_;
}

void world::work_under_faults() {
  for (auto& node : nodes_)
    serve(*node);
  for (duration passed{0}; passed < disturbed_for && wrong_.empty(); passed += step) {
    disturb();
    pass(step);
  }
  is_disturbed_ = false;
  pass(4s);
  for (auto& node : nodes_)
    serve(*node);
}

std::string world::check_held() {
  for (const auto& [name, entry] : book_.entries()) {
    if (name.to == name.from)
      continue;
    if (!entry.may_be_lost && !nodes_[value(name.from)]->has_open(name.to, name.group))
      return "follow-up " + name.group + " was dropped during a hold";
    if (nodes_[value(name.to)]->groups().contains(name.group))
      return "follow-up " + name.group + " was taken during a hold";
  }
  return {};
}

std::string world::check_settings() const {
  const auto wanted = nodes_[0]->settings();
  for (const auto& node : nodes_)
    if (with_settings_ && node->settings() != wanted)
      return "settings of shard 0 are not in force on shard " + std::to_string(value(node->id()));
  return {};
}

std::string world::check() {
  std::vector<std::map<std::string, std::size_t>> found;
  for (const auto& node : nodes_)
    found.push_back(node->groups());
  for (const auto& tasks : found)
    for (const auto& [group, count] : tasks)
      if (count > 1)
        return "follow-up " + group + " was added " + std::to_string(count) + " times";
  for (const auto& [name, entry] : book_.entries()) {
    certain_ += entry.may_be_lost ? 0 : 1;
    if (!entry.may_be_lost && !found[value(name.to)].contains(name.group))
      return "follow-up " + name.group + " of shard " + std::to_string(value(name.from))
             + " is missing on shard " + std::to_string(value(name.to));
    if (nodes_[value(name.from)]->has_open(name.to, name.group))
      return "follow-up " + name.group + " was never confirmed";
  }
  return {};
}

} // namespace codeq::neighbours
