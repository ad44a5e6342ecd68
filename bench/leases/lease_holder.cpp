// SPDX-License-Identifier: Apache-2.0
#include "leases/lease_holder.hpp"

#include "codeq/limits.hpp"

#include "actors/actors.hpp"
#include "transport/configure.hpp"
#include "transport/deliver.hpp"
#include "transport/link.hpp"
#include "worker/node/wire.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace codeq::bench {

namespace {

using steady = lease_holder::steady;

/// Asks the holder for heartbeats of all leases; repeated after `interval`, unless that is zero.
struct beat_all {
  duration interval{0};
};

} // namespace

} // namespace codeq::bench

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::bench::beat_all)

namespace codeq::bench {

namespace {

using holder_actor = caf::typed_actor<
  caf::reacts_to<actors::link_up>,
  caf::reacts_to<actors::link_down>,
  caf::reacts_to<protocol::task_batch>,
  caf::reacts_to<protocol::leases_lost>,
  caf::reacts_to<protocol::resume_reply>,
  caf::reacts_to<beat_all>>;

/// State that the actor publishes to waiting threads.
struct board {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t wanted = 0;
  std::size_t held = 0;
  std::size_t lost = 0;
  steady::time_point full_at;
  std::optional<error> failure;
};

class holder_state {
public:
  static constexpr const char* name = "lease_holder";

  void take_up(const actors::link_up& up) {
    connection_ = up.connection;
    auto shards =
      up.ack.read([](auto ack) -> result<std::size_t> { return std::size_t{ack.getShardCount()}; });
    if (!shards)
      return fail(shards.error());
    for (const auto& resume : worker::make_resumes({}, *shards))
      send(resume);
    unresumed_ = *shards;
  }

  void take_resumed() {
    if (--unresumed_ == 0)
      claim();
  }

  void take_tasks(const protocol::task_batch& batch) {
    auto read = worker::read_task_batch(batch);
    if (!read)
      return fail(read.error());
    for (const auto& attempt : read->tasks)
      leases_.push_back({{0, attempt.id.shard, attempt.token}, attempt.id.seq});
    credits_ -= std::min(credits_, read->tasks.size());
    claim();
    std::lock_guard lock(board_->mutex);
    board_->held = leases_.size();
    if (leases_.size() < board_->wanted)
      return;
    board_->full_at = steady::now();
    board_->changed.notify_all();
  }

  void take_losses(const protocol::leases_lost& lost) {
    auto read = worker::read_leases_lost(0, lost);
    if (!read)
      return fail(read.error());
    std::lock_guard lock(board_->mutex);
    board_->lost += read->size();
  }

  void beat() {
    for (const auto& request : worker::make_heartbeats(leases_))
      send(request);
  }

  void fail(const error& why) {
    std::lock_guard lock(board_->mutex);
    board_->failure = why;
    board_->changed.notify_all();
  }

  void start(holder_actor::pointer self, std::shared_ptr<board> told) {
    self_ = self;
    board_ = std::move(told);
  }

private:
  void claim() {
    constexpr std::size_t credits_max = 2 * limits::slots_max;
    auto missing = board_->wanted - std::min(board_->wanted, leases_.size() + credits_);
    auto more = std::min(missing, credits_max - credits_);
    if (more == 0)
      return;
    credits_ += more;
    send(worker::make_claim(more));
  }

  template <class Frame>
  void send(const Frame& frame) {
    self_->send(connection_, frame.to_wire());
  }

  holder_actor::pointer self_ = nullptr;
  actors::connection_actor connection_;
  std::shared_ptr<board> board_;
  std::vector<worker::beat> leases_;
  std::size_t credits_ = 0;
  std::size_t unresumed_ = 0;
};

holder_actor::behavior_type
hold(holder_actor::stateful_pointer<holder_state> self, const std::shared_ptr<board>& told) {
  self->state.start(self, told);
  return {
    [self](const actors::link_up& up) { self->state.take_up(up); },
    [self](const actors::link_down& down) { self->state.fail(down.reason); },
    [self](const protocol::task_batch& batch) { self->state.take_tasks(batch); },
    [self](const protocol::leases_lost& lost) { self->state.take_losses(lost); },
    [self](const protocol::resume_reply&) { self->state.take_resumed(); },
    [self](const beat_all& wish) {
      self->state.beat();
      if (wish.interval > duration{0})
        self->delayed_send(self, wish.interval, wish);
    }};
}

struct holder_system : caf::actor_system_config {
  holder_system() { transport::configure(*this, 1); }
};

} // namespace

struct lease_holder::impl {
  explicit impl(const lease_holder_options& options) {
    told->wanted = options.leases;
    actor = system.spawn<caf::detached>(hold, told);
    worker_identity self{options.name, 1};
    std::vector<std::string> queues{options.queue};
    transport::link_options how;
    how.coordinator = options.coordinator;
    how.make_hello = [self, queues] { return worker::make_hello(self, "default", queues); };
    how.sink =
      transport::deliver<schema::TaskBatch, schema::LeasesLost, schema::ResumeReply>(actor);
    how.owner = caf::actor_cast<caf::strong_actor_ptr>(actor);
    link = transport::spawn_link(system, std::move(how));
  }

  holder_system config;
  caf::actor_system system{config};
  std::shared_ptr<board> told = std::make_shared<board>();
  holder_actor actor;
  actors::link_actor link;
};

lease_holder::lease_holder(const lease_holder_options& options)
  : impl_(std::make_unique<impl>(options)) {
}

lease_holder::~lease_holder() {
  {
    caf::scoped_actor self{impl_->system};
    self->monitor(impl_->link);
    caf::anon_send(impl_->link, actors::close_link{{errc::going_away, "the measurement is over"}});
    self->receive([](const caf::down_msg&) {});
  }
  caf::anon_send_exit(impl_->actor, caf::exit_reason::user_shutdown);
  impl_->link = nullptr;
  impl_->actor = nullptr;
  transport::finish(impl_->system);
}

result<steady::time_point> lease_holder::wait(duration longest) {
  auto& told = *impl_->told;
  std::unique_lock lock(told.mutex);
  auto done = [&told] { return told.failure || told.held >= told.wanted; };
  if (!told.changed.wait_for(lock, longest, done))
    return error{
      errc::timeout,
      "only " + std::to_string(told.held) + " of " + std::to_string(told.wanted) + " leases came"};
  if (told.failure)
    return *told.failure;
  return told.full_at;
}

result<void> lease_holder::beat(duration interval) {
  caf::anon_send(impl_->actor, beat_all{interval});
  std::lock_guard lock(impl_->told->mutex);
  if (impl_->told->failure)
    return *impl_->told->failure;
  return {};
}

std::size_t lease_holder::held() const {
  std::lock_guard lock(impl_->told->mutex);
  return impl_->told->held;
}

std::size_t lease_holder::lost() const {
  std::lock_guard lock(impl_->told->mutex);
  return impl_->told->lost;
}

} // namespace codeq::bench
