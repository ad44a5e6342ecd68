// SPDX-License-Identifier: Apache-2.0
#include "http/desk/shard_desk.hpp"

#include "codeq/limits.hpp"

#include "base/random.hpp"
#include "base/tuning.hpp"
#include "client/shard_walk.hpp"
#include "coordinator/actors/gather_stats.hpp"
#include "coordinator/session/stats_sum.hpp"
#include "encoding/shared_structs.hpp"
#include "http/server/gateway_limits.hpp"
#include "observe/log.hpp"
#include "protocol/convert.hpp"
#include "protocol/error_code.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

namespace codeq::http {

namespace {

/// Time from the end of a session until enqueues are sent again in the next one.
constexpr duration resume_pause{100};
/// For a list or a body of one shard, whose place is then free for others.
constexpr duration read_wait{5000};

const error& going_away() {
  static const error reason{errc::going_away, "the coordinator is stopping"};
  return reason;
}

error no_such_shard() {
  return {errc::unknown_task, "no such task: its shard is not there"};
}

/// Reads an encoded task body.
std::string text_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

result<void> read_body(const bytes& body, task_detail& to) {
  auto frame = protocol::frame<schema::TaskBody>::parse(body);
  if (!frame)
    return frame.error();
  return frame->read([&](schema::TaskBody::Reader reader) -> result<void> {
    to.payload = protocol::string_of(reader.getPayload());
    for (auto header : reader.getHeaders())
      to.headers.emplace(text_of(header.getName()), text_of(header.getValue()));
    return {};
  });
}

/// A task that was just created: it has neither lease nor outcome.
task_detail detail_of_new(shard_id shard, const core::task_view& view) {
  task_detail detail;
  auto& status = detail.status;
  status.id = {shard, view.seq};
  status.tenant = view.queue.tenant;
  status.queue = view.queue.queue;
  status.priority = view.priority;
  status.state = view.entry.state;
  status.max_attempts = view.max_attempts;
  status.enqueued_at = view.enqueued_at;
  if (view.eligible_at != timestamp{})
    status.eligible_at = view.eligible_at;
  status.group = view.group;
  status.key = view.key;
  status.fairness_key = view.fairness.key;
  status.fairness_weight = view.fairness.weight;
  status.limits = view.limits;
  return detail;
}

result<client::answered<task_detail>> read_detail(const protocol::status_reply& reply) {
  auto status = client::read_status(reply);
  if (!status)
    return status.error();
  if (!status->answer)
    return client::answered<task_detail>{status->answer.error()};
  task_detail detail{std::move(*status->answer)};
  auto read = reply.read([&](auto from) -> result<void> {
    detail.lease_left = duration{static_cast<duration::rep>(from.getLeaseLeftMs())};
    auto body = protocol::share(reply.body(), from.getBody());
    return body.empty() ? result<void>{} : read_body(body, detail);
  });
  if (!read)
    return read.error();
  return client::answered<task_detail>{std::move(detail)};
}

} // namespace

void shard_desk::start(gateway_actor::pointer self, const desk_options& options) {
  self_ = self;
  options_ = options;
  turns_.connect(options.answers);
  connect_stats();
  peer_ = last_peer_ = coordinator::gateway_peers_first;
  attach();
  connect_far();
  auto new_session = [this] {
    return make_producer_id(
      now(), static_cast<std::uint16_t>(base::random_bits()), base::random_bits());
  };
  auto send = [this](
                shard_id shard, const protocol::enqueue_request& m,
                const coordinator::enqueue_share& share) {
    send_frame(value(shard), m.to_wire(), share);
  };
  std::function<bool(shard_id)> reaches;
  if (far_)
    reaches = [this](shard_id shard) { return far_->connection_of(shard) != nullptr; };
  enqueues_.start({new_session, send, store(), options_.meter, options_.shares, reaches});
  connect_watches();
}

client::store_identity shard_desk::store() const {
  return {options_.store_id, shard_count()};
}

void shard_desk::connect_watches() {
  if (far_)
    return watch_list_.connect(
      {[this](shard_id shard, const protocol::await_request& m) {
         send_frame(value(shard), m.to_wire());
       },
       [this](shard_id shard) { return far_->connection_of(shard) != nullptr; }},
      store());
  watch_list_.connect(
    [this](const protocol::await_request& m) { send_frame(0, m.to_wire()); }, store());
}

void shard_desk::attach() {
  coordinator::peer_attached me{peer_};
  me.watches_queues = me.is_gateway = true;
  for (const auto& shard : options_.shards)
    self_->send(shard, coordinator::attach_peer{me, gateway_actor(self_)});
}

core::peer_id shard_desk::next_peer() {
  // After 2^30 ids the first ones are free again, except for the one in use.
  for (bool is_first = true; is_first || last_peer_ == peer_; is_first = false)
    last_peer_ = last_peer_ + 1 < coordinator::claim_peers_first
                   ? last_peer_ + 1
                   : coordinator::gateway_peers_first;
  return last_peer_;
}

void shard_desk::send_frame(
  std::uint16_t shard,
  const protocol::wire_frame& frame,
  const coordinator::enqueue_share& share,
  const core::origin_ptr& origin) {
  if (far_) {
    if (const auto* to = far_->connection_of(shard_id{shard}))
      self_->send(*to, frame);
    return;
  }
  auto sent = protocol::visit_frame(frame, [&]<class S>(protocol::frame<S> message) {
    if constexpr (std::is_constructible_v<protocol::shard_request, protocol::frame<S>>) {
      // Requests built by the client's code name their shard themselves.
      if constexpr (requires(typename S::Reader r) { r.getShard(); }) {
        auto named = protocol::shard_of(message, options_.shards.size());
        shard = named ? value(*named) : shard;
      }
      self_->send(
        options_.shards[shard],
        coordinator::peer_request{peer_, std::move(message), nullptr, share, origin});
    }
  });
  if (!sent)
    CODEQ_LOG_ERROR("gateway cannot send a frame reason=\"{}\"", to_string(sent.error()));
}

void shard_desk::note(core::note_command command) {
  for (std::uint16_t shard = 0; shard < shard_count(); ++shard)
    if (is_here(shard))
      return self_->send(options_.shards[shard], coordinator::shard_command{std::move(command)});
  // A coordinator without shards has its log alone.
}

enqueue_ticket
shard_desk::enqueue(const std::string& tenant, const task_spec& task, then<enqueued_task> done) {
  if (!stopped_)
    return enqueues_.submit(tenant, task, std::move(done));
  done(going_away());
  return {};
}

void shard_desk::give_up(const enqueue_ticket& ticket) {
  if (withdraw_unreached(ticket))
    return;
  const auto away = why_unreached(ticket);
  enqueues_.give_up(
    ticket,
    {errc::timeout,
     "the shard did not answer the enqueue in time; whether the task was added is unknown"
       + (away.empty() ? "" : "; " + away)});
}

void shard_desk::describe(const client::task_address& task, then<task_detail> done) {
  if (value(task.task.shard) >= shard_count())
    return done(no_such_shard());
  ask<task_detail>(value(task.task.shard), client::ask_status(task), &read_detail, std::move(done));
}

void shard_desk::describe_added(const task_id& task, then<task_detail> done) {
  auto is_it = [&](const core::task_view& one) {
    return shown_at_ == task.shard && one.seq == task.seq;
  };
  auto at = std::find_if(shown_.begin(), shown_.end(), is_it);
  if (at != shown_.end())
    return done(detail_of_new(task.shard, *at));
  // A repeated request shows no tasks, and neither does an answer over a connection.
  describe({task, {}}, std::move(done));
}

template <class T, class S>
void shard_desk::ask_in_time(
  bounded_reads& reads,
  std::uint16_t shard,
  const client::question& question,
  result<client::answered<T>> (*read)(const protocol::frame<S>&),
  const then<T>& done) {
  auto timer = std::make_shared<timer_list::id>(0);
  auto finish = [this, &reads, timer, done](result<T>&& found) {
    cancel(*timer);
    done(std::move(found));
    // The next read begins behind the answer to this one.
    reads.ended();
  };
  const auto number = ask<T>(shard, question, read, then<T>(std::move(finish)));
  *timer = after(read_wait, [this, number, shard] {
    fail_question(
      number, {errc::timeout, "shard " + std::to_string(shard) + " has not answered for "
                                + std::to_string(read_wait.count()) + " ms"});
  });
}

void shard_desk::describe_with_body(
  const std::string& owner, const client::task_address& task, then<task_detail> done) {
  if (value(task.task.shard) >= shard_count())
    return done(no_such_shard());
  auto start = [this, task, done] {
    ask_in_time<task_detail>(
      bodies_, value(task.task.shard), client::ask_status(task, true), &read_detail, done);
  };
  add_read(bodies_, {value(task.task.shard), owner, std::move(start), done}, steady_now());
}

void shard_desk::list(
  const std::string& owner,
  std::uint16_t shard,
  const client::question& question,
  then<client::list_part> done) {
  auto max = limits::lists_waiting_max * shard_count();
  if (lists_.waiting(owner) >= max) {
    options_.meter->note({"lists_waiting_max", limits::lists_waiting_max, "tenant", owner});
    return done(error{
      errc::overloaded,
      "tenant " + owner + " has " + std::to_string(limits::lists_waiting_max)
        + " lists waiting for each shard; lists_waiting_max="
        + std::to_string(limits::lists_waiting_max)});
  }
  auto start = [this, shard, question, done] {
    ask_in_time<client::list_part>(lists_, shard, question, &client::read_list, done);
  };
  add_read(lists_, {shard, owner, std::move(start), done}, steady_now());
}

void shard_desk::walk_ready(
  const std::string& tenant,
  std::uint16_t shard,
  std::function<bool(const result<client::list_part>&)> take,
  sequence below) {
  task_filter filter;
  filter.tenant = tenant;
  filter.state = task_state::ready;
  client::walk_position at;
  at.shard = shard;
  at.limit = limits::http_listed_tasks_max;
  at.below = below;
  at.newest_first = true;
  auto go_on =
    [this, tenant, shard, take = std::move(take)](const result<client::list_part>& part) {
      if (take(part) && part && part->more)
        walk_ready(tenant, shard, take, part->after);
    };
  ask<client::list_part>(
    shard,
    client::list_tasks(filter, at),
    &client::read_list,
    then<client::list_part>(std::move(go_on)));
}

void shard_desk::connect_stats() {
  // The sums of a cluster are those of this coordinator and of the others.
  parts_.connect([this](std::function<void(const parts_result&)> done) {
    coordinator::gather_stats(self_, options_.shards, std::move(done));
  });
  workers_.connect([this](std::function<void(const workers_result&)> done) {
    auto gathered = [this, done = std::move(done)](const parts_result& parts) {
      if (!parts)
        return done(parts.error());
      worker_sum own{coordinator::sum_of(*parts).workers};
      options_.drained->mark(own.workers);
      add_others(std::move(own), done);
    };
    coordinator::gather_stats(self_, options_.shards, std::move(gathered), {.with_leases = true});
  });
  stats_.connect([this](std::function<void(const stats_result&)> done) {
    auto count = [this, done = std::move(done)](const stats_result& sum) {
      ++stats_number_;
      done(sum);
    };
    parts_.ask([this, count = std::move(count)](const parts_result& parts) {
      if (parts)
        add_others(coordinator::sum_of(*parts), count);
      else
        count(parts.error());
    });
  });
}

void shard_desk::own_stats(std::function<void(const stats_result&)> done) {
  parts_.ask([done = std::move(done)](const parts_result& parts) {
    done(parts ? stats_result(coordinator::sum_of(*parts)) : stats_result(parts.error()));
  });
}

void shard_desk::take(const coordinator::shard_reply& m) {
  if (const auto* answered = std::get_if<core::reports_answered>(&m.reply))
    return leases_.take(m.shard, *answered);
  if (const auto* lost = std::get_if<core::leases_lost>(&m.reply))
    return leases_.take(m.shard, *lost);
  if (const auto* saved = std::get_if<core::checkpoints_saved>(&m.reply))
    return leases_.take(m.shard, *saved);
  if (const auto* answered = std::get_if<core::enqueue_answered>(&m.reply))
    shown_ = answered->shown;
  shown_at_ = m.shard;
  // The client's code reads frames.
  protocol::write_reply(m.shard, m.reply, [this](const auto& frame) { take_frame(frame); });
  shown_ = {};
}

void shard_desk::take_frame(const protocol::wire_frame& frame) {
  auto read = result<void>{};
  if (frame.type == protocol::frame_type<schema::EnqueueReply>) {
    if (auto reply = protocol::enqueue_reply::parse(frame.body))
      take_enqueued(*reply);
  } else if (frame.type == protocol::frame_type<schema::TasksEnded>) {
    if (auto ended = protocol::tasks_ended::parse(frame.body))
      read = watch_list_.accept(*ended);
    ask_ends_again();
  } else if (!far_ || !take_lease_frame(frame)) {
    take_reply(frame);
  }
  if (!read)
    CODEQ_LOG_ERROR("gateway cannot read ends reason=\"{}\"", to_string(read.error()));
}

void shard_desk::take_reply(const protocol::wire_frame& frame) {
  std::uint64_t number = 0;
  auto code = errc::none;
  auto read = protocol::visit_frame(frame, [&](const auto& typed) {
    using reader = typename std::decay_t<decltype(typed)>::reader_type;
    if constexpr (requires(reader r) { r.getNumber(); }) {
      auto found = typed.read([&code](auto r) -> result<std::uint64_t> {
        if constexpr (requires { r.getCode(); })
          code = protocol::from_schema(r.getCode());
        return r.getNumber();
      });
      number = found ? *found : 0;
    }
  });
  if (far_ && code == errc::not_owner) {
    if (const auto refused = questions_.find(number); refused != questions_.end())
      refused->second.unrefused -= std::min(refused->second.unrefused, 1u);
    return wait_for_shard(number);
  }
  auto open = read ? questions_.extract(number) : decltype(questions_)::node_type{};
  if (!open.empty())
    open.mapped().answered(frame);
}

void shard_desk::take_enqueued(const protocol::enqueue_reply& reply) {
  auto accepted = enqueues_.accept(reply);
  if (!accepted)
    CODEQ_LOG_ERROR("gateway cannot read an answer reason=\"{}\"", to_string(accepted.error()));
  else if (*accepted)
    after(
      (*accepted)->pause, [this, number = (*accepted)->number] { enqueues_.retry_due(number); });
}

void shard_desk::ask_ends_again() {
  bool waits = watch_list_.wants_to_ask_again() && !stopped_;
  if (!waits || std::exchange(will_ask_ends_, true))
    return;
  after(tuning::lookups_retry_after, [this] {
    will_ask_ends_ = false;
    watch_list_.ask_again();
    ask_ends_again();
  });
}

void shard_desk::misbehaved(const error& reason) {
  CODEQ_LOG_WARN("gateway begins a new session reason=\"{}\"", to_string(reason));
  for (const auto& shard : options_.shards)
    self_->send(shard, coordinator::detach_peer{peer_});
  // A callback of `fail_questions` may send its next request at once.
  peer_ = next_peer();
  attach();
  // In a cluster the session has only claims.
  if (far_)
    return;
  fail_questions({errc::overloaded, reason.context});
  if (stopped_ || std::exchange(will_resume_, true))
    return;
  // After a pause, in case that one of them ends the session again. The shards recognise repeated
  // enqueues.
  after(resume_pause, [this] {
    will_resume_ = false;
    if (stopped_)
      return;
    connect_watches();
    enqueues_.send_again();
  });
}

void shard_desk::fail_questions(const error& reason) {
  for (auto& [number, open] : std::exchange(questions_, {})) {
    auto why = reason;
    // Without other coordinators a question is sent as soon as it is asked.
    if (open.origin && (!far_ || open.unrefused > 0))
      why.context += "; whether the request " + std::string(client::unknown_outcome);
    open.failed(why);
  }
  leases_.fail_all(reason);
}

void shard_desk::fail_all(const error& reason) {
  fail_questions(reason);
  watch_list_.fail_all(reason);
  enqueues_.fail_all(reason);
}

void shard_desk::stop() {
  stopped_ = true;
  fail_all(going_away());
  for (auto& [claim, open] : claims_)
    self_->send(open.actor, end_claim{.at_once = true});
  // Every timer runs now, because the requests that wait for one have to be answered.
  timers_.run_due(monotonic_time::max());
}

timer_list::id shard_desk::after(duration wait, std::function<void()> action) {
  if (stopped_) {
    action();
    return 0;
  }
  auto timer = timers_.add(options_.clock->now().steady + wait, std::move(action));
  arm();
  return timer;
}

void shard_desk::run_timers(gateway_tick tick) {
  // One of a timer that a sooner one has replaced; the last tick looks at all.
  if (tick.number != last_tick_)
    return;
  armed_.reset();
  timers_.run_due(options_.clock->now().steady);
  arm();
}

void shard_desk::arm() {
  auto next = timers_.next();
  if (!next || (armed_ && *armed_ <= *next))
    return;
  armed_ = next;
  auto wait = std::max(duration{0}, *next - options_.clock->now().steady);
  self_->delayed_send(self_, wait, gateway_tick{++last_tick_});
}

void add_last_change(shard_desk& desk, task_detail task, std::function<void(task_detail)> done) {
  // A task that was never leased has no history beyond its state.
  auto id = task.status.id;
  auto add = [task = std::move(task),
              done = std::move(done)](const result<task_timeline>& timeline) mutable {
    if (timeline && !timeline->events.empty())
      task.updated_at = timeline->events.back().at;
    done(std::move(task));
  };
  desk.ask<task_timeline>(
    value(id.shard),
    client::ask_events(id),
    &client::read_events,
    shard_desk::then<task_timeline>(std::move(add)));
}

} // namespace codeq::http
