// SPDX-License-Identifier: Apache-2.0
// A producer's requests to a cluster whose shards move while thousands of them are in flight.
#include "client/enqueue_outbox.hpp"
#include "client/watch_list.hpp"
#include "cluster/shard_routes.hpp"
#include "protocol/error_code.hpp"
#include "protocol/map_convert.hpp"
#include "support/seed.hpp"
#include "unit/client/sent_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::client {
namespace {

constexpr std::uint16_t shard_count = 6;
constexpr std::size_t nodes = 3;
constexpr std::size_t nowhere = nodes;
constexpr store_identity the_store{7, shard_count};

std::string node_name(std::size_t node) {
  return "n" + std::to_string(node);
}

/// The memory that a shard keeps wherever it is served: the first answer to each request, until the
/// producer has got it.
struct shard_memory {
  std::uint64_t next_seq = 1;
  std::uint64_t forgotten_below = 0;
  std::map<std::uint64_t, std::uint64_t> first_seq_of;
};

/// The cluster and its one client, on one thread: frames arrive in order on each connection, after
/// any number of other events.
class moving_cluster {
public:
  explicit moving_cluster(std::uint32_t seed)
    : random_(seed), routes_({"n0:1"}), outbox_({.in_flight_max = 64, .new_session = [this] {
                                                   return producer_id{1, sessions_++};
                                                 }}) {
    links_.push_back({.node = 0});
    for (std::uint16_t shard = 0; shard < shard_count; ++shard)
      place(shard, shard % nodes);
  }

  void submit(std::size_t tasks, bool with_keys) {
    std::vector<task_spec> specs(tasks);
    for (auto& spec : specs) {
      spec.queue = "q";
      if (with_keys)
        spec.key = "k" + std::to_string(submitted_++);
      else
        ++submitted_;
    }
    auto encoded = protocol::encoded_tasks::encode(specs);
    ASSERT_TRUE(encoded);
    outbox_.submit(
      std::make_shared<const protocol::encoded_tasks>(std::move(*encoded)),
      [this](const result<enqueue_answers>& answers) {
        ASSERT_TRUE(answers) << to_string(answers.error());
        for (const auto& answer : *answers) {
          ASSERT_TRUE(answer) << to_string(answer.error());
          EXPECT_TRUE(answered_.insert(answer->id).second);
        }
      });
  }

  /// Lets one random thing happen.
  void step(bool with_faults) {
    switch (below(with_faults ? 60 : 50)) {
    case 50:
      return place(static_cast<std::uint16_t>(below(shard_count)), below(nodes + 1));
    case 51:
      return cut(below(links_.size()));
    case 52:
    case 53:
      return push_news(below(nodes));
    default:
      return move_a_frame();
    }
  }

  /// Ends faults: every shard is served, every map is told.
  void heal() {
    for (std::uint16_t shard = 0; shard < shard_count; ++shard)
      if (owners_[shard] == nowhere)
        place(shard, below(nodes));
    for (std::size_t node = 0; node < nodes; ++node)
      push_news(node);
  }

  [[nodiscard]] std::size_t submitted() const { return submitted_; }

  [[nodiscard]] const std::set<task_id>& answered() const { return answered_; }

  /// Number of tasks that the shards have created.
  [[nodiscard]] std::size_t created() const {
    std::size_t sum = 0;
    for (const auto& shard : memory_)
      sum += shard.next_seq - 1;
    return sum;
  }

private:
  struct link {
    std::size_t node = 0;
    bool is_up = false;
    bool is_closed = false;
    std::deque<protocol::enqueue_request> requests{};
    std::deque<protocol::wire_frame> replies{};
    /// `changes()` of the node's map that was told.
    std::uint64_t told = 0;
  };

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  /// Gives a shard to a node, or to none, and lets some nodes know at once.
  void place(std::uint16_t shard, std::size_t node) {
    owners_[shard] = node;
    if (node == nowhere)
      return;
    ++versions_[shard];
    latest_[shard] = {
      node_name(node),
      node_name(node) + ":1",
      "",
      static_cast<std::uint32_t>(versions_[shard]),
      versions_[shard]};
    learn(node, shard);
  }

  void learn(std::size_t node, std::uint16_t shard) {
    maps_[node].set_shards(shard_count);
    maps_[node].merge(shard_id{shard}, latest_[shard]);
  }

  void push_news(std::size_t node) {
    for (std::uint16_t shard = 0; shard < shard_count; ++shard)
      learn(node, shard);
    for (auto& each : links_)
      if (each.node == node && each.is_up)
        tell(each, {});
  }

  void tell(link& to, const std::vector<shard_id>& not_here) {
    auto& map = maps_[to.node];
    auto news = map.news_after(std::exchange(to.told, map.changes()));
    to.replies.push_back(protocol::make_cluster_map(news, not_here).to_wire());
  }

  void cut(std::size_t number) {
    auto& gone = links_[number];
    if (!gone.is_up)
      return;
    gone.is_up = false;
    gone.requests.clear();
    gone.replies.clear();
    routes_.take_down(number);
  }

  void move_a_frame() {
    auto number = below(links_.size());
    auto& at = links_[number];
    if (at.is_closed)
      return;
    if (!at.is_up)
      return connect(number);
    if (!at.requests.empty() && below(2) == 0)
      return serve(at);
    if (!at.replies.empty())
      return take_reply(number);
    if (retries_ && below(4) == 0) {
      retries_ = false;
      follow(routes_.retry());
    }
    if (paused_ != 0)
      outbox_.retry_due(std::exchange(paused_, 0));
  }

  void connect(std::size_t number) {
    links_[number].is_up = true;
    links_[number].told = 0;
    auto changes = routes_.take_up(number, node_name(links_[number].node));
    if (!std::exchange(is_connected_, true))
      outbox_.connect(
        enqueue_outbox::way{
          [this](shard_id shard, const protocol::enqueue_request& request) {
            links_[*routes_.link_of(shard)].requests.push_back(request);
          },
          [this](shard_id shard) { return routes_.link_of(shard).has_value(); }},
        the_store);
    follow(changes);
    tell(links_[number], {});
  }

  void follow(const cluster::shard_routes::changes& changes) {
    for (const auto& address : changes.dial)
      links_.push_back({.node = static_cast<std::size_t>(address[1] - '0')});
    for (auto closed : changes.close)
      links_[closed] = {.node = links_[closed].node, .is_closed = true};
    if (!changes.resend.empty())
      outbox_.resend(changes.resend);
    retries_ = retries_ || changes.retries;
  }

  void serve(link& at) {
    auto request = read_sent(at.requests.front());
    at.requests.pop_front();
    const shard_id shard{request.shard};
    if (owners_[request.shard] != at.node) {
      tell(at, {shard});
      return reply(at, request, 0, errc::not_owner);
    }
    auto& memory = memory_[request.shard];
    // A late copy of a request that was answered elsewhere.
    if (request.number < memory.forgotten_below)
      return reply(at, request, 0, errc::session_expired);
    auto [known, is_new] = memory.first_seq_of.try_emplace(request.number, memory.next_seq);
    if (is_new) {
      memory.next_seq += request.tasks;
      EXPECT_TRUE(executed_.emplace(request.number).second) << "on two shards";
    }
    const auto first = known->second;
    memory.first_seq_of.erase(
      memory.first_seq_of.begin(), memory.first_seq_of.lower_bound(request.answered_below));
    memory.forgotten_below = std::max(memory.forgotten_below, request.answered_below);
    reply(at, request, first, errc::none);
  }

  static void reply(link& at, const sent_request& to, std::uint64_t first, errc code) {
    at.replies.push_back(protocol::enqueue_reply::build([&](auto root) {
                           root.setNumber(to.number);
                           root.setShard(to.shard);
                           root.setCode(protocol::to_schema(code));
                           if (code != errc::none)
                             return;
                           auto runs = root.initTasks(1);
                           runs[0].setFirst(first);
                           runs[0].setCount(to.tasks);
                         }).to_wire());
  }

  void take_reply(std::size_t number) {
    auto frame = links_[number].replies.front();
    links_[number].replies.pop_front();
    if (frame.type == protocol::frame_type<schema::ClusterMap>) {
      auto told = protocol::read_cluster_map(*protocol::cluster_map_news::parse(frame.body));
      ASSERT_TRUE(told);
      auto changes = routes_.take_places(number, told->news, told->not_here);
      ASSERT_TRUE(changes);
      return follow(*changes);
    }
    auto taken = outbox_.accept(*protocol::enqueue_reply::parse(frame.body));
    ASSERT_TRUE(taken) << to_string(taken.error());
    if (*taken)
      paused_ = (*taken)->number;
  }

  std::mt19937 random_;
  cluster::shard_routes routes_;
  std::uint64_t sessions_ = 1;
  enqueue_outbox outbox_;
  std::deque<link> links_;
  std::array<cluster::cluster_map, nodes> maps_;
  std::array<shard_memory, shard_count> memory_;
  std::array<std::size_t, shard_count> owners_{};
  std::array<std::uint64_t, shard_count> versions_{};
  std::array<cluster::shard_place, shard_count> latest_{};
  std::set<std::uint64_t> executed_;
  std::set<task_id> answered_;
  std::size_t submitted_ = 0;
  std::uint64_t paused_ = 0;
  bool retries_ = false;
  bool is_connected_ = false;
};

void run(std::uint32_t seed) {
  SCOPED_TRACE("seed=" + std::to_string(seed));
  moving_cluster cluster(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000 && !testing::Test::HasFailure(); ++round) {
    if (round % 4 == 0)
      cluster.submit(1 + random() % 4, random() % 3 == 0);
    for (int i = 0; i < 10; ++i)
      cluster.step(true);
  }
  cluster.heal();
  for (int i = 0; i < 1'000'000 && cluster.answered().size() < cluster.submitted(); ++i)
    cluster.step(false);

  EXPECT_EQ(cluster.answered().size(), cluster.submitted());
  EXPECT_EQ(cluster.created(), cluster.submitted());
}

TEST(ClusterRequests, NoneIsLostOrDoubledWhileShardsMove) {
  const auto first = static_cast<std::uint32_t>(test::choose_seed());
  for (std::uint32_t seed = first; seed < first + 40 && !HasFailure(); ++seed)
    run(seed);
}

} // namespace
} // namespace codeq::client
