// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/hosted_replica.hpp"

#include "coordinator/hub/replica_hub.hpp"
#include "observe/log.hpp"
#include "replication/bounds.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace bounds = replication::bounds;
using replication::copy_id;
using replication::entry;
using replication::epoch_number;
using replication::membership;
using replication::position;
using replication::replica_id;

/// The shard may outlive its leadership by the messages that it had before.
class hosted_replica::authority final : public shard_authority {
public:
  authority(replica_hub& hub, const replica_driver& driver) : hub_(hub), driver_(&driver) {}

  [[nodiscard]] bool accepts_writes() const override {
    return driver_ != nullptr && driver_->accepts_writes();
  }

  [[nodiscard]] bool may_answer() const override {
    return driver_ != nullptr && driver_->may_answer(hub_.now());
  }

  void end() { driver_ = nullptr; }

private:
  replica_hub& hub_;
  const replica_driver* driver_;
};

hosted_replica::hosted_replica(
  replica_hub& hub, replica_driver_options options, ring_memory& memory)
  : hub_(hub), shard_(options.shard), id_(options.stored.record.id) {
  spool_ = std::make_shared<storage::delta_spool>(
    storage::delta_spool_options{spool_directory(), shard_});
  driver_.emplace(std::move(options), *this, memory, hub_.now());
}

hosted_replica::~hosted_replica() {
  if (served_)
    end_shard();
}

void hosted_replica::end_shard() {
  authority_->end();
  caf::anon_send_exit(served_, caf::exit_reason::kill);
  served_ = nullptr;
  clock_.reset();
}

std::filesystem::path hosted_replica::spool_directory() const {
  return hub_.options().spools
         / (std::to_string(value(shard_)) + "-" + std::to_string(static_cast<std::uint64_t>(id_)));
}

void hosted_replica::hand_over(replica_id to) {
  if (!driver_->replica().may_hand_over(to))
    return;
  if (!served_)
    return driver_->hand_over(to);
  if (std::exchange(is_draining_, true))
    return;
  CODEQ_LOG_INFO("hand-over of the shard begins shard={}", value(shard_));
  hub_.end_hosting(shard_);
  hub_.drain(*this, served_, to);
}

void hosted_replica::drained(const shard_internal_actor& shard, replica_id to) {
  // Another epoch may have begun meanwhile.
  if (shard == served_)
    driver_->hand_over(to);
}

void hosted_replica::propose(const committer_actor& from, turn_commit turn) {
  const auto is_current =
    served_ && caf::actor_cast<caf::actor_addr>(from) == caf::actor_cast<caf::actor_addr>(served_);
  if (is_current)
    (void)driver_->propose(std::move(turn), hub_.now());
}

void hosted_replica::send(replica_id to, const replication::message& what) {
  hub_.send({shard_, id_, to, what}, false);
}

void hosted_replica::send(replica_id to, const copy_message& what) {
  // A question comes behind the parts.
  hub_.send({shard_, id_, to, what}, !std::holds_alternative<copy_answer>(what));
}

void hosted_replica::gather(turn_commit turn) {
  hub_.write(std::move(turn));
}

void hosted_replica::compare_and_set(const membership& old, const membership& next) {
  hub_.compare_and_set(shard_, old, next);
}

void hosted_replica::spool(const entry& e) {
  hub_.work(hub_.options().spooler, *this, [spool = spool_, e] {
    spool->append(e);
    return replica_hub::replica_end{};
  });
}

void hosted_replica::read_spool(replica_id to, position after) {
  hub_.work(hub_.options().spooler, *this, [spool = spool_, to, after] {
    auto found = spool->read_after(after, bounds::message_bytes);
    return [to, after, found = std::move(found)](hosted_replica& self, monotonic_time now) {
      self.driver().spool_read(to, after, found, now);
    };
  });
}

void hosted_replica::keep_spool(std::optional<std::uint64_t> from) {
  hub_.work(hub_.options().spooler, *this, [spool = spool_, from] {
    spool->keep_from(from);
    return replica_hub::replica_end{};
  });
}

void hosted_replica::open_copy(const copy_id& id) {
  hub_.work(hub_.options().copier, *this, [store = hub_.options().store, shard = shard_, id] {
    auto begun = storage::shard_copy::begin(*store, shard);
    std::shared_ptr<storage::shard_copy> copy;
    result<replication::epoch_index> log = begun ? begun->log() : replication::epoch_index{};
    if (begun)
      copy = std::make_shared<storage::shard_copy>(std::move(*begun));
    else
      log = begun.error();
    return [id, copy, log](hosted_replica& self, monotonic_time) {
      if (copy)
        self.copies_.emplace(id, copy);
      self.driver().copy_opened(id, log);
    };
  });
}

void hosted_replica::read_part(const copy_id& id) {
  const auto found = copies_.find(id);
  if (found == copies_.end())
    return;
  hub_.work(hub_.options().copier, *this, [copy = found->second, id] {
    return [id, part = copy->next(bounds::copy_part_bytes)](hosted_replica& self, monotonic_time) {
      self.driver().part_read(id, part);
    };
  });
}

void hosted_replica::close_copy(const copy_id& id) {
  copies_.erase(id);
}

void hosted_replica::read_removals(const copy_id& id) {
  if (!sweep_ || swept_for_ != id)
    sweep_ = std::make_shared<storage::shard_sweep>(*hub_.options().store, shard_);
  swept_for_ = id;
  hub_.work(
    hub_.options().copier, *this, [sweep = sweep_, store = hub_.options().store, id] {
      auto found = sweep->next(bounds::swept_keys);
      return [id, found](hosted_replica& self, monotonic_time) {
        if (found && found->empty())
          self.sweep_.reset();
        self.driver().removals_read(id, found);
      };
    });
}

bool hosted_replica::takes_copies() const {
  return hub_.has_room();
}

void hosted_replica::recover(epoch_number epoch, timestamp shard_time) {
  recovery_began_ = hub_.now();
  const auto number = ++recoveries_;
  hub_.work(
    hub_.options().recoverer,
    *this,
    [store = hub_.options().store, shard = shard_, seed = hub_.options().name_seed, epoch,
     shard_time, number] {
      auto steady = base::system_clock(timestamp{}).now().steady;
      auto found = storage::recover(*store, shard, epoch, steady, seed);
      auto recovered = found ? result<std::shared_ptr<core::shard_state>>(std::move(*found))
                             : found.error();
      if (recovered)
        (*recovered)->at = std::max((*recovered)->at, shard_time);
      return [number, epoch, recovered](hosted_replica& self, monotonic_time now) {
        if (number != self.recoveries_)
          return;
        if (!recovered) {
          CODEQ_LOG_ERROR(
            "shard cannot be recovered shard={} epoch={} reason=\"{}\"", value(self.shard_), epoch,
            to_string(recovered.error()));
          // No other replica can lead the shard. The next process may succeed in reading the store,
          // but not a malformed record: its end would only stop the other shards.
          const auto is_only_copy = self.driver().replica().value().in_sync.size() < 2;
          if (is_only_copy && recovered.error().code != errc::corruption)
            self.hub_.options().end_on_failure(recovered.error());
          return self.driver().recovery_failed(now);
        }
        self.recovered_ = *recovered;
        self.driver().recovered(epoch, now);
      };
    });
}

void hosted_replica::drop_recovery() {
  ++recoveries_;
  recovered_.reset();
}

void hosted_replica::serve(epoch_number epoch) {
  auto state = std::exchange(recovered_, nullptr);
  CODEQ_LOG_INFO(
    "shard is served here shard={} epoch={} leases={} recovery_ms={}",
    value(shard_),
    epoch,
    state->leases.size(),
    (hub_.now() - recovery_began_).count());
  // A format that is raised later counts from the next time on that the shard is served.
  state->segments.set_block_version(
    storage::block_version_of(hub_.options().places->store_format()));
  clock_ = std::make_shared<base::system_clock>(state->at);
  authority_ = std::make_shared<authority>(hub_, *driver_);
  served_ = hub_.options().start_shard(
    {std::move(state), clock_, hub_.journal(), authority_, hub_.neighbours(), epoch});
  hub_.host(shard_, served_, epoch);
}

void hosted_replica::tell_moved(const neighbours_moved& m) const {
  if (served_)
    caf::anon_send(served_, m);
}

void hosted_replica::stop_serving() {
  drop_recovery();
  is_draining_ = false;
  if (!served_)
    return;
  CODEQ_LOG_INFO("shard is not served here any more shard={}", value(shard_));
  hub_.end_hosting(shard_);
  end_shard();
}

void hosted_replica::acknowledged(std::uint64_t number) {
  if (served_)
    caf::anon_send(served_, batch_committed{number, shard_});
}

timestamp hosted_replica::shard_time() {
  return clock_ ? clock_->now().shard : timestamp{};
}

bool hosted_replica::reaches_etcd() const {
  return hub_.options().places->etcd_answers();
}

} // namespace codeq::coordinator
