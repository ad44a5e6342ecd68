// SPDX-License-Identifier: Apache-2.0
#include "cluster/member_driver.hpp"

#include "cluster/etcd_contact.hpp"
#include "etcd/engine.hpp"
#include "etcd/watcher.hpp"

#include <utility>

namespace codeq::cluster {

namespace {

using namespace std::chrono_literals;

constexpr duration tick_interval = 50ms;

template <class T>
result<void> end_of(const result<T>& answer) {
  return answer ? result<void>{} : answer.error();
}

result<void> end_of(const etcd::swap_answer& answer) {
  const auto is_decided =
    answer.end == etcd::swap_end::applied || answer.end == etcd::swap_end::not_applied;
  return is_decided ? result<void>{} : error{errc::unavailable, answer.words};
}

} // namespace

struct member_driver::impl final : member_port {
  impl(etcd::client::options etcd, member_options options, member_events told)
    : events(std::move(told)),
      self(std::move(options), *this, etcd::steady_now()),
      contact(etcd::steady_now()),
      client(std::move(etcd)) {}

  void start() {
    const auto prefix = self.known().keys().prefix();
    client.watch(
      {etcd::range_of_prefix(prefix),
       [this](const etcd::watch_line& line) { self.watched(line, etcd::steady_now()); },
       [this] { self.watch_missed(); },
       [this](const std::string& why) { events.noted(why); }});
    client.run_after(0ms, [this] { tick(); });
  }

  void tick() {
    const auto now = etcd::steady_now();
    self.tick(now);
    if (!is_ending)
      tell_contact(now);
    client.run_after(tick_interval, [this] { tick(); });
  }

  void tell_contact(monotonic_time now) {
    switch (contact.look(now)) {
    case etcd_contact::news::none:
      return;
    case etcd_contact::news::lost:
      return events.etcd_lost(contact.reason());
    case etcd_contact::news::found:
      return events.etcd_found();
    }
  }

  /// The state of the cluster with what this coordinator knows of etcd.
  [[nodiscard]] cluster_status view() const {
    auto status = self.view();
    for (auto& node : status.nodes)
      if (node.name == status.node)
        node.etcd_silent = contact.silent(etcd::steady_now());
    return status;
  }

  template <class Action>
  void run(Action action) {
    client.run_after(0ms, [this, action = std::move(action)] { action(self); });
  }

  void decide(std::uint64_t number, const etcd::swap& what) override {
    client.decide(what, [this, number](const etcd::swap_answer& how) {
      const auto now = etcd::steady_now();
      contact.note_write(end_of(how), now);
      self.decided(number, how, now);
    });
  }

  void read(const etcd::key_range& what) override {
    client.read(what, [this](const result<etcd::range_answer>& found) {
      const auto now = etcd::steady_now();
      contact.note(end_of(found), now);
      self.polled(found, now);
    });
  }

  void grant(duration length) override {
    client.grant(length, [this](const result<etcd::lease_answer>& lease) {
      const auto now = etcd::steady_now();
      contact.note(end_of(lease), now);
      self.granted(lease, now);
    });
  }

  void keep_alive(std::uint64_t lease) override {
    client.keep_alive(lease, [this](const result<etcd::lease_answer>& kept) {
      const auto now = etcd::steady_now();
      contact.note(end_of(kept), now);
      self.kept(kept, now);
    });
  }

  void revoke(std::uint64_t lease) override {
    client.revoke(lease, [this](const result<etcd::lease_answer>&) { ended(); });
  }

  void note_poll(std::uint64_t modified) override { client.note_poll(modified); }

  void shard_told(shard_id shard, const shard_record& record, bool is_applied) override {
    events.shard_told(shard, record, is_applied);
  }

  void build_replica(shard_id shard) override { events.build_replica(shard); }

  void drop_replica(shard_id shard, replication::replica_id replica) override {
    events.drop_replica(shard, replica);
  }

  void hand_over(shard_id shard, replication::replica_id to) override {
    events.hand_over(shard, to);
  }

  void map_changed() override { events.map_changed(self.map()); }

  void store_format_told(std::uint32_t store_format) override {
    events.store_format_told(store_format);
  }
  void must_end(const std::string& words) override { events.must_end(words); }

  void needs_repair(const std::string& words) override { events.needs_repair(words); }

  void note_record(const std::string& words) override { events.record_noted(words); }

  void ended() {
    if (auto done = std::exchange(at_end, nullptr))
      done();
  }

  member_events events;
  std::function<void()> at_end;
  /// Nothing is asked any more, so a silent etcd is no news.
  bool is_ending = false;
  member self;
  etcd_contact contact;
  // Ends first: its thread calls the member.
  etcd::client client;
};

member_driver::member_driver(
  etcd::client::options etcd, member_options options, member_events events)
  : impl_(std::make_unique<impl>(std::move(etcd), std::move(options), std::move(events))) {
  impl_->start();
}

member_driver::~member_driver() = default;

void member_driver::compare_and_set(
  shard_id shard, replication::membership old, replication::membership next) {
  impl_->run([shard, old = std::move(old), next = std::move(next)](member& self) {
    self.compare_and_set(shard, old, next);
  });
}

void member_driver::replica_built(shard_id shard, replication::replica_id replica) {
  impl_->run([shard, replica](member& self) { self.replica_built(shard, replica); });
}

void member_driver::serves(shard_id shard, replication::epoch_number epoch) {
  impl_->run([shard, epoch](member& self) { self.serves(shard, epoch); });
}

void member_driver::holds(shard_id shard, replication::replica_id replica) {
  impl_->run([shard, replica](member& self) { self.holds(shard, replica); });
}

void member_driver::set_disk(const node_disk& disk) {
  impl_->run([disk](member& self) { self.set_disk(disk); });
}

void member_driver::leave() {
  impl_->run([](member& self) { self.leave(etcd::steady_now()); });
}

void member_driver::end(std::function<void()> done) {
  impl_->client.run_after(0ms, [impl = impl_.get(), done = std::move(done)] {
    impl->at_end = done;
    impl->is_ending = true;
    const auto has_lease = impl->self.has_lease();
    impl->self.end();
    if (!has_lease)
      impl->ended();
  });
}

void member_driver::change(
  const cluster_change& wanted, const std::optional<own_copy>& own, status_told told) {
  impl_->run([wanted, own, told = std::move(told), impl = impl_.get()](member& self) {
    const auto tell = [impl, told](const change_end& end) {
      told(end, end.how ? result<cluster_status>(impl->view()) : end.how.error());
    };
    self.change(wanted, own, tell, etcd::steady_now());
  });
}

void member_driver::look(std::function<void(const member&)> at) {
  impl_->run([at = std::move(at)](member& self) { at(self); });
}

etcd::header member_driver::known_etcd() const {
  return impl_->client.known();
}

} // namespace codeq::cluster
