// SPDX-License-Identifier: Apache-2.0
#include "cluster/placement.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace codeq::cluster {

namespace {

using names = std::vector<std::string>;

bool has(const names& list, const std::string& name) {
  return std::binary_search(list.begin(), list.end(), name);
}

void add(names& list, const std::string& name) {
  list.insert(std::upper_bound(list.begin(), list.end(), name), name);
}

/// Nodes that hold a replica that is in sync, sorted.
names in_sync_nodes(const shard_record& shard) {
  names nodes;
  for (auto replica : shard.value.in_sync)
    nodes.push_back(node_of(shard, replica));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

/// Spreads nodes of equal load differently for each shard.
std::uint64_t mix(shard_id shard, const std::string& name) {
  std::uint64_t x = codeq::value(shard) + 1;
  for (char c : name)
    x = (x ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  x *= 0x9E3779B97F4A7C15ull;
  return x ^ (x >> 31);
}

class planner {
public:
  planner(const placement_view& view, const placement_bounds& bounds);

  std::map<shard_id, shard_record> plan();

private:
  [[nodiscard]] node_state state_of(const std::string& node) const;
  [[nodiscard]] const std::string& zone_of(const std::string& node) const;

  [[nodiscard]] bool stays(const std::string& node) const {
    const auto state = state_of(node);
    return state != node_state::drained && state != node_state::gone;
  }

  [[nodiscard]] bool refuses_tasks(const std::string& node) const {
    const auto found = view_.nodes.find(node);
    return found != view_.nodes.end() && found->second.refuses_tasks;
  }

  [[nodiscard]] bool is_away(const std::string& node) const {
    const auto state = state_of(node);
    return state == node_state::missing || state == node_state::gone;
  }

  /// Whether a copy can be made: a node with one that is in sync is there.
  [[nodiscard]] bool has_source(const shard_record& shard) const {
    const auto held = in_sync_nodes(shard);
    return !std::all_of(
      held.begin(), held.end(), [this](const auto& node) { return is_away(node); });
  }

  /// Its copy is replaced where another node has room for it. A move of an operator's goes first.
  [[nodiscard]] bool is_cramped(const shard_record& shard, const std::string& node) const {
    return refuses_tasks(node) && node != shard.pinned;
  }

  /// Its copy is not in sync, and cannot become so: the node is gone, or its disk takes no copy.
  /// After a restart that of any other node may be in sync again in a moment, so while too few are
  /// in sync none of these is given up.
  [[nodiscard]] bool
  is_vain(const shard_record& shard, const names& held, const std::string& node) const {
    const auto has_enough = held.size() >= view_.copies;
    return !has(held, node)
           && (state_of(node) == node_state::gone || (has_enough && is_cramped(shard, node)));
  }

  /// Whether another copy may be wanted beside those that are.
  [[nodiscard]] static bool has_place(const shard_record& shard) {
    return shard.wanted.size() < replicas_max;
  }

  [[nodiscard]] bool may_lead(const shard_record& shard, const std::string& node) const {
    const auto state = state_of(node);
    return (state == node_state::serving || state == node_state::full) && has(shard.wanted, node);
  }

  /// A copy of it is to be built, or to be removed.
  [[nodiscard]] bool is_moving(const shard_record& shard) const {
    return shard.wanted != in_sync_nodes(shard);
  }

  /// How many of the nodes share their zone with an earlier one of the list.
  [[nodiscard]] std::size_t zone_doubles(const names& nodes) const;
  [[nodiscard]] names staying(const names& nodes) const;
  /// The node of the primary gives its copy away.
  [[nodiscard]] bool has_to_go(const shard_record& shard) const;
  /// The primary is to move to the node that it is asked to move to.
  [[nodiscard]] bool is_move_of_use(const shard_record& shard) const;
  [[nodiscard]] std::optional<std::string> best_new(shard_id id, const names& beside) const;

  void start_move(shard_id id, const std::string& to);
  void fill(shard_id id);
  void remove_surplus(shard_id id);
  [[nodiscard]] std::string
  most_dispensable(const shard_record& shard, const names& held) const;
  void separate_zones(shard_id id);
  void balance_copies();
  bool move_from(const std::string& crowded);
  [[nodiscard]] std::optional<std::string>
  lighter_place(shard_id id, const std::string& crowded) const;
  void drop_pin(shard_record& shard) const;
  void balance_primaries();
  void prefer(shard_id id, const std::map<std::string, std::size_t>& primaries);

  const placement_view& view_;
  const placement_bounds& bounds_;
  std::map<shard_id, shard_record> shards_;
  std::size_t targets_ = 0;
  /// Node -> shards that want it.
  std::map<std::string, std::size_t> copies_;
  /// Node -> copies that it receives.
  std::map<std::string, std::size_t> arriving_;
  std::size_t moves_ = 0;
};

planner::planner(const placement_view& view, const placement_bounds& bounds)
  : view_(view),
    bounds_(bounds),
    shards_(view.shards) {
  std::size_t possible = 0;
  for (const auto& [name, node] : view.nodes) {
    copies_[name] = 0;
    possible += stays(name) ? 1 : 0;
  }
  targets_ = std::min<std::size_t>(view.copies, possible);
  for (const auto& [id, shard] : shards_) {
    const auto held = in_sync_nodes(shard);
    // A copy that cannot arrive holds up no other one.
    const auto can_build = has_source(shard);
    bool is_building = false;
    for (const auto& node : shard.wanted) {
      ++copies_[node];
      if (!can_build || has(held, node) || is_away(node))
        continue;
      ++arriving_[node];
      is_building = true;
    }
    moves_ += is_building ? 1 : 0;
  }
}

node_state planner::state_of(const std::string& node) const {
  const auto found = view_.nodes.find(node);
  return found == view_.nodes.end() ? node_state::gone : found->second.state;
}

const std::string& planner::zone_of(const std::string& node) const {
  static const std::string none;
  const auto found = view_.nodes.find(node);
  return found == view_.nodes.end() ? none : found->second.zone;
}

std::size_t planner::zone_doubles(const names& nodes) const {
  std::set<std::string> zones;
  for (const auto& node : nodes)
    zones.insert(zone_of(node));
  return nodes.size() - zones.size();
}

names planner::staying(const names& nodes) const {
  names rest;
  for (const auto& node : nodes)
    if (stays(node))
      rest.push_back(node);
  return rest;
}

/// The node that a further copy goes to; none when no node is free.
std::optional<std::string> planner::best_new(shard_id id, const names& beside) const {
  std::set<std::string> zones;
  for (const auto& node : beside)
    zones.insert(zone_of(node));
  std::optional<std::tuple<bool, std::size_t, std::uint64_t, std::string>> best;
  for (const auto& [name, node] : view_.nodes) {
    const auto arriving = arriving_.find(name);
    const auto is_busy =
      arriving != arriving_.end() && arriving->second >= bounds_.moves_to_node_max;
    if (node.state != node_state::serving || is_busy || has(shards_.at(id).wanted, name))
      continue;
    const std::tuple rank{zones.contains(node.zone), copies_.at(name), mix(id, name), name};
    if (!best || rank < *best)
      best = rank;
  }
  return best ? std::optional(std::get<3>(*best)) : std::nullopt;
}

void planner::start_move(shard_id id, const std::string& to) {
  add(shards_.at(id).wanted, to);
  ++copies_[to];
  ++arriving_[to];
  ++moves_;
}

/// Adds copies while there are too few that stay, not counting those on disks that refuse tasks.
void planner::fill(shard_id id) {
  const auto& shard = shards_.at(id);
  if (!has_source(shard))
    return;
  auto stay = staying(shard.wanted);
  std::erase_if(stay, [&](const auto& node) { return is_cramped(shard, node); });
  while (stay.size() < targets_ && moves_ < bounds_.moves_max && has_place(shard)) {
    const auto node = best_new(id, stay);
    if (!node)
      return;
    start_move(id, *node);
    add(stay, *node);
  }
}

/// The copy to give up first: one that cannot get in sync, then one on a node that does not stay,
/// then on one that refuses tasks, then in a zone that has another one, then on the node with most
/// copies.
std::string planner::most_dispensable(const shard_record& shard, const names& held) const {
  std::tuple<bool, int, std::size_t, std::size_t, std::string> worst{false, -1, 0, 0, ""};
  for (const auto& node : shard.wanted) {
    const auto state = state_of(node);
    const auto urgency = state == node_state::gone      ? 3
                         : state == node_state::drained ? 2
                         : is_cramped(shard, node)      ? 1
                                                        : 0;
    auto others = shard.wanted;
    std::erase(others, node);
    const auto relief = zone_doubles(shard.wanted) - zone_doubles(others);
    worst = std::max(
      worst, std::tuple(is_vain(shard, held, node), urgency, relief, copies_.at(node), node));
  }
  return std::get<4>(worst);
}

/// Gives up copies once as many others as there should be are in sync, also those of nodes that do
/// not stay: while no other node takes its place, a copy is better than none. One that cannot get
/// in sync goes at once.
void planner::remove_surplus(shard_id id) {
  auto& shard = shards_.at(id);
  const auto held = in_sync_nodes(shard);
  while (shard.wanted.size() > view_.copies) {
    auto kept = shard.wanted;
    const auto gone = most_dispensable(shard, held);
    std::erase(kept, gone);
    const auto in_sync = static_cast<std::size_t>(
      std::count_if(kept.begin(), kept.end(), [&](const auto& node) { return has(held, node); }));
    const auto is_lost = is_vain(shard, held, gone);
    if (in_sync < view_.copies && !is_lost)
      return;
    shard.wanted = std::move(kept);
    --copies_[gone];
  }
}

/// Starts to move a copy to a zone that the shard does not use yet.
void planner::separate_zones(shard_id id) {
  const auto& shard = shards_.at(id);
  if (moves_ >= bounds_.moves_max || is_moving(shard) || !has_source(shard) || !has_place(shard))
    return;
  if (zone_doubles(shard.wanted) == 0)
    return;
  const auto node = best_new(id, shard.wanted);
  if (!node)
    return;
  auto with = shard.wanted;
  add(with, *node);
  if (zone_doubles(with) == zone_doubles(shard.wanted))
    start_move(id, *node);
}

/// A node with at least two copies less than `crowded`, to which the shard's copy can move without
/// sharing more zones.
std::optional<std::string>
planner::lighter_place(shard_id id, const std::string& crowded) const {
  auto others = shards_.at(id).wanted;
  const auto before = zone_doubles(others);
  std::erase(others, crowded);
  std::optional<std::tuple<std::size_t, std::uint64_t, std::string>> best;
  for (const auto& [name, node] : view_.nodes) {
    const auto arriving = arriving_.find(name);
    const auto is_busy =
      arriving != arriving_.end() && arriving->second >= bounds_.moves_to_node_max;
    const auto is_lighter = copies_.at(name) + 2 <= copies_.at(crowded);
    if (node.state != node_state::serving || is_busy || !is_lighter || has(others, name))
      continue;
    auto with = others;
    add(with, name);
    if (zone_doubles(with) > before)
      continue;
    const std::tuple rank{copies_.at(name), mix(id, name), name};
    if (!best || rank < *best)
      best = rank;
  }
  return best ? std::optional(std::get<2>(*best)) : std::nullopt;
}

bool planner::move_from(const std::string& crowded) {
  for (const auto& [id, shard] : shards_) {
    if (!has(shard.wanted, crowded) || is_moving(shard) || !has_place(shard))
      continue;
    if (const auto node = lighter_place(id, crowded)) {
      start_move(id, *node);
      // The crowded node loses a copy at the end of the move; then it is the most dispensable one.
      return true;
    }
  }
  return false;
}

void planner::balance_copies() {
  while (moves_ < bounds_.moves_max) {
    std::vector<std::pair<std::size_t, std::string>> crowded;
    for (const auto& [name, count] : copies_)
      if (state_of(name) == node_state::serving || state_of(name) == node_state::full)
        crowded.emplace_back(count, name);
    std::sort(crowded.rbegin(), crowded.rend());
    // Nodes with about as few copies as the one with fewest have none to give.
    std::erase_if(crowded, [fewest = crowded.empty() ? 0 : crowded.back().first](const auto& one) {
      return one.first < fewest + 2;
    });
    const auto moved = std::any_of(
      crowded.begin(), crowded.end(), [this](const auto& one) { return move_from(one.second); });
    if (!moved)
      return;
  }
}

/// Chooses the primary of one shard among the nodes that are in sync.
void planner::prefer(shard_id id, const std::map<std::string, std::size_t>& primaries) {
  auto& shard = shards_.at(id);
  const auto current = node_of(shard, shard.value.primary);
  if (has(in_sync_nodes(shard), shard.pinned) && may_lead(shard, shard.pinned)) {
    shard.preferred = shard.pinned == current ? std::string() : shard.pinned;
    return;
  }
  std::optional<std::tuple<bool, std::size_t, std::string>> best;
  for (const auto& node : in_sync_nodes(shard)) {
    if (!may_lead(shard, node))
      continue;
    const std::tuple rank{refuses_tasks(node), primaries.at(node), node};
    if (!best || rank < *best)
      best = rank;
  }
  shard.preferred.clear();
  if (!best)
    return;
  const auto& [refuses, load, node] = *best;
  const auto is_better =
    !refuses && (refuses_tasks(current) || load + 2 <= primaries.at(current));
  if (has_to_go(shard) || is_better)
    shard.preferred = node;
}

bool planner::has_to_go(const shard_record& shard) const {
  const auto current = node_of(shard, shard.value.primary);
  return !stays(current) || !has(shard.wanted, current);
}

bool planner::is_move_of_use(const shard_record& shard) const {
  const auto& next = shard.preferred;
  const auto is_possible = has(in_sync_nodes(shard), next) && may_lead(shard, next);
  if (!is_possible || next == node_of(shard, shard.value.primary))
    return false;
  return !refuses_tasks(next) || next == shard.pinned || has_to_go(shard);
}

/// A node that is drained, or whose copy was replaced while it was gone, may come back much later;
/// an operator's move to it would then take the shard from where it is by now.
void planner::drop_pin(shard_record& shard) const {
  if (shard.pinned.empty() || stays(shard.pinned))
    return;
  if (state_of(shard.pinned) == node_state::drained || !has(shard.wanted, shard.pinned))
    shard.pinned.clear();
}

void planner::balance_primaries() {
  // A primary counts for the node that it is asked to move to.
  std::map<std::string, std::size_t> primaries;
  for (const auto& [name, count] : copies_)
    primaries[name] = 0;
  std::size_t handovers = 0;
  for (auto& [id, shard] : shards_) {
    const auto current = node_of(shard, shard.value.primary);
    if (!is_move_of_use(shard))
      shard.preferred.clear();
    ++primaries[shard.preferred.empty() ? current : shard.preferred];
    handovers += shard.preferred.empty() ? 0 : 1;
  }
  for (auto& [id, shard] : shards_) {
    if (handovers >= bounds_.handovers_max)
      return;
    // Only a primary that is there can hand over; others are replaced by an election.
    const auto current = node_of(shard, shard.value.primary);
    if (!shard.preferred.empty() || is_away(current))
      continue;
    prefer(id, primaries);
    if (shard.preferred.empty())
      continue;
    --primaries[current];
    ++primaries[shard.preferred];
    ++handovers;
  }
}

std::map<shard_id, shard_record> planner::plan() {
  // Shards with the fewest copies that stay are served first.
  std::vector<std::pair<std::size_t, shard_id>> order;
  for (const auto& [id, shard] : shards_)
    order.emplace_back(staying(in_sync_nodes(shard)).size(), id);
  std::sort(order.begin(), order.end());
  for (const auto& [count, id] : order) {
    fill(id);
    remove_surplus(id);
  }
  for (const auto& [count, id] : order)
    separate_zones(id);
  balance_copies();
  for (auto& [id, shard] : shards_)
    drop_pin(shard);
  balance_primaries();
  std::map<shard_id, shard_record> changed;
  for (auto& [id, shard] : shards_) {
    const auto& old = view_.shards.at(id);
    const auto is_same = shard.wanted == old.wanted && shard.preferred == old.preferred
                         && shard.pinned == old.pinned;
    if (is_same)
      continue;
    ++shard.value.version;
    changed.emplace(id, std::move(shard));
  }
  return changed;
}

} // namespace

std::map<shard_id, shard_record>
place(const placement_view& view, const placement_bounds& bounds) {
  return planner(view, bounds).plan();
}

} // namespace codeq::cluster
