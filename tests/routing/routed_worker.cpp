// SPDX-License-Identifier: Apache-2.0
#include "routing/routed_worker.hpp"

#include "core/state/epoch.hpp"
#include "core/turn/turn.hpp"
#include "protocol/map_convert.hpp"
#include "protocol/peer_messages.hpp"
#include "support/task_bodies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace codeq::test {

namespace {

using namespace std::chrono_literals;

const auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
const queue_address the_queue{.queue = "q"};

std::string name_of(std::size_t node) {
  return "n" + std::to_string(node);
}

} // namespace

/// The map of one coordinator.
class routed_worker::node_places final : public coordinator::map_source {
public:
  node_places(const routed_worker& all, std::size_t node) : all_(all), node_(node) {
    map_.set_shards(all.options_.shards);
  }

  [[nodiscard]] std::optional<replication::epoch_number>
  served_epoch(shard_id shard) const override {
    const auto& at = all_.shards_[value(shard)];
    return at.node == node_ ? std::optional(static_cast<std::uint32_t>(at.version)) : std::nullopt;
  }

  [[nodiscard]] const cluster::cluster_map& map() const override { return map_; }

  void merge(std::uint16_t shard, const cluster::shard_place& place) {
    map_.merge(shard_id{shard}, place);
  }

private:
  const routed_worker& all_;
  std::size_t node_;
  cluster::cluster_map map_;
};

/// Drives the session of one connection; frames arrive in order in both directions.
class routed_worker::peer_session final : public coordinator::session_port {
public:
  peer_session(routed_worker& all, std::size_t link, coordinator::session_options opts)
    : all_(all), link_(link), peer_(opts.peer), session_(std::move(opts), *this) {}

  [[nodiscard]] core::peer_id peer() const { return peer_; }

  [[nodiscard]] std::size_t link() const { return link_; }

  [[nodiscard]] coordinator::session& hosted() { return session_; }

  /// Passes frames in order, each after a short time.
  void pass(std::int64_t& last, std::function<void()> what) {
    last = std::max(last, all_.time_ + static_cast<std::int64_t>(all_.below(2)));
    all_.after(duration{last - all_.time_}, [this, what = std::move(what)] {
      if (!is_over_)
        what();
    });
  }

  void take(const protocol::wire_frame& frame) {
    pass(last_in_, [this, frame] {
      auto request = protocol::read_request(schema::Role::WORKER, frame);
      ASSERT_TRUE(request) << to_string(request.error());
      session_.take(*request);
    });
  }

  void deliver(coordinator::task_delivery tasks) {
    if (!is_over_)
      session_.take(std::move(tasks));
  }

  void end() { is_over_ = true; }

  void hold_up(direction way, duration time) {
    auto& last = way == direction::to_coordinator ? last_in_ : last_out_;
    last = std::max(last, all_.time_ + time.count());
  }

  // A shard decides after the call, and only what reaches it before it leaves.

  void ask_shard(shard_id to, coordinator::peer_request request) override {
    all_.after(duration{0}, [this, to, m = std::move(request.request)] {
      if (all_.shards_[value(to)].peers.contains(this))
        std::visit([&](const auto& one) { ask(to, one); }, m);
    });
  }

  void command_shard(shard_id to, core::command command) override {
    all_.after(duration{0}, [this, to, c = std::move(command)] {
      if (all_.shards_[value(to)].peers.contains(this))
        all_.decide(value(to), c);
    });
  }

  void send(const protocol::wire_frame& frame) override {
    sent_ += frame.body.size();
    ++all_.frames_[frame.type];
    pass(last_out_, [this, frame] { all_.receive(link_, frame); });
  }

  void close(const error& reason) override { ADD_FAILURE() << to_string(reason); }

  void gather_stats(bool) override {}

  void ask_cluster(
    std::uint64_t, const cluster_change&, const core::origin_ptr&) override {}

  void wake_after(duration wait, coordinator::session_wake what) override {
    all_.after(wait, [this, what] {
      if (!is_over_)
        session_.wake(what);
    });
  }

  [[nodiscard]] coordinator::outgoing_bytes outgoing() const override { return {sent_, sent_}; }

  [[nodiscard]] result<void> keep_unread(std::uint64_t) override { return {}; }

  [[nodiscard]] duration
  take_rate(const security::principal&, security::rate_scope, std::uint64_t) override {
    return duration{0};
  }

  [[nodiscard]] timestamp now() override { return all_.now().shard; }

  [[nodiscard]] std::map<std::string, std::int64_t> gauges() const override { return {}; }

  [[nodiscard]] result<backup_status> back_up(const backup_wish&) override {
    return error{errc::unsupported, "no backups"};
  }

  [[nodiscard]] result<std::string> set_log_level(const std::string&) override {
    return error{errc::unsupported, "no log"};
  }

  [[nodiscard]] result<coordinator::drain_outcome>
  drain_worker(const std::string&, bool) override {
    return coordinator::drain_outcome::unknown;
  }

  void mark_drained(std::vector<base::worker_counts>&) const override {}

  [[nodiscard]] result<std::vector<backup_info>> list_backups() const override {
    return std::vector<backup_info>{};
  }

  void note_limit(std::string_view, std::uint64_t) override {}

  void note_goodbye() override {}

  void note_refused(const error& reason) override { ADD_FAILURE() << to_string(reason); }

private:
  void ask(shard_id to, const protocol::result_request& m) {
    decide(to, protocol::to_command(m, peer_, all_.now().shard, {to, all_.options_.shards}));
  }

  void ask(shard_id to, const protocol::heartbeat_request& m) {
    auto command = protocol::to_command(m, peer_);
    if (const auto number = protocol::number_of(m); command && number != 0)
      session_.take(coordinator::shard_reply{to, all_.extended(value(to), number, command->beats)});
    decide(to, std::move(command));
  }

  void ask(shard_id to, const protocol::resume_request& m) {
    decide(to, protocol::to_command(m, peer_, identity));
  }

  template <class S>
  void ask(shard_id, const protocol::frame<S>&) {
    ADD_FAILURE() << "a worker asks for something else";
  }

  template <class Command>
  void decide(shard_id to, result<Command> command) {
    ASSERT_TRUE(command) << to_string(command.error());
    all_.decide(value(to), core::command{std::move(*command)});
  }

  routed_worker& all_;
  std::size_t link_;
  core::peer_id peer_;
  std::uint64_t sent_ = 0;
  std::int64_t last_in_ = 0;
  std::int64_t last_out_ = 0;
  bool is_over_ = false;
  coordinator::session session_;
};

routed_worker::routed_worker(const options& opts) : options_(opts), random_(opts.seed) {
  for (std::uint16_t shard = 0; shard < options_.shards; ++shard)
    shards_.emplace_back(shard);
  const auto nodes = std::max<std::size_t>(options_.nodes, 1);
  for (std::size_t i = 0; i < nodes; ++i)
    nodes_.push_back({std::make_unique<node_places>(*this, i), nullptr});
  for (std::uint16_t shard = 0; shard < options_.shards; ++shard)
    come(shard, shard % nodes);
  for (std::size_t node = 0; node < nodes; ++node)
    for (std::uint16_t shard = 0; shard < options_.shards; ++shard)
      learn(node, shard);
  worker::dispatcher_options made;
  made.queues = {{"q"}};
  made.slots = options_.slots;
  made.prefetch = options_.prefetch;
  made.coordinators = {name_of(0) + ":1"};
  made.wake = std::make_shared<worker::wake_signal>([] {});
  dispatcher_.emplace(made, *this);
  dispatcher_->take_links(1);
  links_.push_back({0});
  connect(0);
}

routed_worker::~routed_worker() = default;

instant routed_worker::now() const {
  return {monotonic_time{duration{time_}}, timestamp{duration{time_}}};
}

std::size_t routed_worker::below(std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
}

void routed_worker::after(duration wait, std::function<void()> what) {
  events_.emplace(std::pair{time_ + wait.count(), ++next_event_}, std::move(what));
}

void routed_worker::run_for(duration time, bool watches_slots) {
  for (const auto end = time_ + time.count(); time_ < end; ++time_) {
    while (!events_.empty() && events_.begin()->first.first <= time_) {
      auto what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
    }
    if (watches_slots)
      watch_slots();
    else
      idle_since_ = time_;
  }
}

std::string routed_worker::describe() const {
  const auto counts = dispatcher_->counts();
  auto text =
    "running " + std::to_string(counts.running) + " waiting " + std::to_string(counts.waiting);
  text += " links " + std::to_string(counts.links_up) + " of " + std::to_string(counts.links);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    text += "\n" + name_of(i)
            + (nodes_[i].session ? " link " + std::to_string(nodes_[i].session->link()) : " down");
  for (std::size_t i = 0; i < shards_.size(); ++i)
    text += "\nshard " + std::to_string(i) + " at "
            + (shards_[i].node ? name_of(*shards_[i].node) : "none") + " ready "
            + std::to_string(shards_[i].ready) + " leases "
            + std::to_string(shards_[i].state.leases.size());
  return text;
}

void routed_worker::watch_slots() {
  const auto counts = dispatcher_->counts();
  most_held_ = std::max<std::size_t>(most_held_, counts.running + counts.waiting);
  const auto any_ready =
    std::any_of(shards_.begin(), shards_.end(), [](const shard& s) { return s.ready > 0; });
  if (counts.running >= options_.slots || !any_ready)
    idle_since_ = time_;
  longest_idle_ = std::max(longest_idle_, duration{time_ - idle_since_});
}

void routed_worker::enqueue(std::uint16_t shard, std::uint32_t tasks) {
  core::enqueue command;
  command.request = {make_producer_id(now().shard, 1, 1), ++last_request_, 1};
  core::enqueue_run run;
  run.queue = the_queue;
  run.tasks = encode_bodies_with_headers(std::vector<std::map<std::string, std::string>>(tasks));
  command.runs.push_back(std::move(run));
  shards_[shard].ready += tasks;
  enqueued_ += tasks;
  decide(shard, command);
}

void routed_worker::decide(std::uint16_t shard, const core::command& command) {
  core::turn turn(shards_[shard].state);
  turn.decide(command, now());
  for (auto& effect : turn.seal(now()).effects)
    carry_out(shard, effect);
}

protocol::leases_extended routed_worker::extended(
  std::uint16_t shard, std::uint64_t number, const std::vector<core::lease_beat>& beats) {
  protocol::leases_extended told{number, {}};
  for (const auto& beat : beats)
    if (shards_[shard].state.leases.find(beat.token) != nullptr)
      told.leases.push_back({beat.seq, beat.token});
  return told;
}

void routed_worker::carry_out(std::uint16_t shard, core::effect& effect) {
  std::visit(
    [&](auto& e) {
      using effect_type = std::decay_t<decltype(e)>;
      if constexpr (requires { e.peer; }) {
        auto& peers = shards_[shard].peers;
        auto to = std::find_if(
          peers.begin(), peers.end(), [&](const auto* one) { return one->peer() == e.peer; });
        if (to == peers.end())
          return;
        auto& session = (*to)->hosted();
        using news = coordinator::credit_news;
        if constexpr (std::is_same_v<effect_type, core::tasks_granted>)
          grant(shard, e, **to);
        else if constexpr (std::is_same_v<effect_type, core::claim_parked>)
          session.take(news{shard_id{shard}, news::kind::drained});
        else if constexpr (std::is_same_v<effect_type, core::work_available>)
          session.take(news{shard_id{shard}, news::kind::has_work});
        else if constexpr (std::is_same_v<effect_type, core::credits_revoked>)
          session.take(news{shard_id{shard}, news::kind::returned, e.credits});
        else if constexpr (std::is_constructible_v<protocol::peer_reply, effect_type>) {
          if constexpr (std::is_same_v<effect_type, core::reports_answered>)
            for (const auto& answer : e.answers)
              completed_ += answer.code == errc::none ? 1 : 0;
          session.take(coordinator::shard_reply{shard_id{shard}, std::move(e)});
        }
      }
    },
    effect);
}

void routed_worker::grant(std::uint16_t shard, core::tasks_granted& granted, peer_session& to) {
  std::vector<core::encoded_tasks> bodies;
  for (const auto& run : granted.runs) {
    bodies.push_back(
      encode_bodies_with_headers(std::vector<std::map<std::string, std::string>>(run.count)));
    if (!granted.redelivered)
      shards_[shard].ready -= run.count;
  }
  const auto more = granted.more;
  // The bodies of tasks that are delivered again are read, which answers may overtake.
  const duration wait{granted.redelivered ? below(30) : 0};
  auto read = std::make_shared<coordinator::task_delivery>(
    coordinator::task_delivery{shard_id{shard}, std::move(granted), std::move(bodies), more});
  if (wait == duration{0})
    return to.deliver(std::move(*read));
  after(wait, [read, &to] { to.deliver(std::move(*read)); });
}

void routed_worker::attach(std::uint16_t shard, peer_session& peer) {
  shards_[shard].peers.insert(&peer);
  decide(shard, core::attach_worker{peer.peer(), identity, {the_queue}});
}

void routed_worker::learn(std::size_t node, std::uint16_t shard) {
  const auto& at = shards_[shard];
  if (!at.node || options_.nodes == 0)
    return;
  nodes_[node].places->merge(
    shard,
    {name_of(*at.node),
     name_of(*at.node) + ":1",
     "",
     static_cast<std::uint32_t>(at.version),
     at.version});
  if (nodes_[node].session)
    nodes_[node].session->hosted().map_changed();
}

void routed_worker::move(std::uint16_t shard, std::size_t to_node, duration gap) {
  auto& at = shards_[shard];
  if (!at.node)
    return;
  at.node.reset();
  for (auto* peer : std::exchange(at.peers, {})) {
    core::turn turn(at.state);
    turn.decide(core::detach_peer{peer->peer()}, now());
    static_cast<void>(turn.seal(now()));
    peer->hosted().shard_left(shard_id{shard});
  }
  after(gap, [this, shard, to_node] { come(shard, to_node); });
}

void routed_worker::come(std::uint16_t shard, std::size_t node) {
  auto& at = shards_[shard];
  at.node = node;
  // The epoch of the place is that of the tokens.
  if (++at.version > at.state.epoch)
    core::begin_epoch(at.state, static_cast<std::uint32_t>(at.version));
  if (auto& session = nodes_[node].session) {
    attach(shard, *session);
    session->hosted().shard_came(shard_id{shard});
  }
  learn(node, shard);
  for (std::size_t other = 0; other < nodes_.size(); ++other)
    if (other != node)
      after(duration{below(100)}, [this, other, shard] { learn(other, shard); });
}

void routed_worker::connect(std::size_t link) {
  after(duration{1 + below(20)}, [this, link] {
    if (!links_[link].is_closed)
      accept(link);
  });
}

void routed_worker::accept(std::size_t link) {
  auto& at = nodes_[links_[link].node];
  // The registrar ends a worker's earlier session.
  if (at.session)
    lose(at.session->link());
  coordinator::session_options made{++last_peer_, identity, nullptr, options_.shards};
  const auto is_cluster = options_.nodes > 0;
  if (is_cluster) {
    made.places =
      std::shared_ptr<const coordinator::map_source>(std::shared_ptr<void>(), at.places.get());
    made.map_changes = at.places->map().changes();
  }
  auto ack = protocol::hello_ack::build([&](auto root) {
    root.setShardCount(options_.shards);
    root.setTakesPrefixes(true);
    if (is_cluster)
      root.setNode(name_of(links_[link].node));
    root.setAnswersHeartbeats(is_cluster);
  });
  at.session = std::make_unique<peer_session>(*this, link, std::move(made));
  dispatcher_->take_link_up(link, ack, now().steady);
  if (is_cluster)
    at.session->send(protocol::make_cluster_map(at.places->map().whole(), {}).to_wire());
  for (std::uint16_t shard = 0; shard < options_.shards; ++shard)
    if (shards_[shard].node == links_[link].node)
      attach(shard, *at.session);
}

void routed_worker::cut(std::size_t node) {
  if (!nodes_[node].session)
    return;
  const auto link = nodes_[node].session->link();
  lose(link);
  dispatcher_->take_link_down(link, {errc::disconnected, "the connection was cut"}, false);
  connect(link);
}

void routed_worker::hold_up(std::size_t node, direction way, duration time) {
  if (nodes_[node].session)
    nodes_[node].session->hold_up(way, time);
}

void routed_worker::lose(std::size_t link) {
  auto& session = nodes_[links_[link].node].session;
  if (!session || session->link() != link)
    return;
  session->end();
  for (std::uint16_t shard = 0; shard < options_.shards; ++shard)
    if (shards_[shard].peers.erase(session.get()) > 0)
      decide(shard, core::detach_peer{session->peer()});
  ended_.push_back(std::move(session));
}

void routed_worker::receive(std::size_t link, const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [&](const auto& m) {
    if constexpr (requires { dispatcher_->take(link, m, now().steady); })
      dispatcher_->take(link, m, now().steady);
    else if constexpr (requires { dispatcher_->take(link, m); })
      dispatcher_->take(link, m);
  });
  ASSERT_TRUE(handled);
}

void routed_worker::to_link(std::size_t link, const protocol::wire_frame& frame) {
  auto& session = nodes_[links_[link].node].session;
  if (session && session->link() == link)
    session->take(frame);
}

void routed_worker::break_link(std::size_t, const error& reason) {
  ADD_FAILURE() << to_string(reason);
}

void routed_worker::open_link(std::size_t link, const std::string& coordinator) {
  ASSERT_EQ(link, links_.size());
  links_.push_back({static_cast<std::size_t>(coordinator[1] - '0')});
  connect(link);
}

void routed_worker::close_link(std::size_t link, const error&) {
  links_[link].is_closed = true;
  lose(link);
  after(duration{1}, [this, link] { dispatcher_->take_link_end(link); });
}

worker::handler_number routed_worker::start_handler(const std::string&, const std::string&) {
  return ++last_handler_;
}

void routed_worker::run(worker::handler_number handler, task&& attempt) {
  doubled_ += started_.emplace(attempt.id.shard, attempt.token).second ? 0 : 1;
  const auto spread = static_cast<std::size_t>((options_.run_max - options_.run_min).count()) + 1;
  after(options_.run_min + duration{below(spread)}, [this, handler] {
    auto done = outcome::completed("done");
    dispatcher_->take_outcomes(handler, {&done, 1}, now().steady);
  });
}

void routed_worker::flush_soon() {
  after(duration{0}, [this] { dispatcher_->flush(); });
}

void routed_worker::wake_after(duration wait, std::uint64_t number) {
  after(wait, [this, number] { dispatcher_->wake(number, now().steady); });
}

} // namespace codeq::test
