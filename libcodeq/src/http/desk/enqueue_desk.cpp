// SPDX-License-Identifier: Apache-2.0
#include "http/desk/enqueue_desk.hpp"

#include "codeq/limits.hpp"

#include "base/fair_share.hpp"
#include "base/tuning.hpp"
#include "core/commands/routing.hpp"
#include "http/server/gateway_limits.hpp"
#include "protocol/task_validation.hpp"

#include <utility>

namespace codeq::http {

namespace {

/// A reply names its request only by number. The low bits of the number, this many, count the
/// requests of a lane, and the high bits are the lane's index.
constexpr unsigned number_bits = 40;

std::size_t lane_of_number(std::uint64_t number) {
  return static_cast<std::size_t>(number >> number_bits);
}

error no_place_left(const std::string& tenant) {
  return {
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(limits::http_enqueues_open_max)
      + " enqueues at the gateway that are not answered yet; the limit is "
      + std::to_string(limits::http_enqueues_open_max)};
}

error no_place_left(const std::string& tenant, shard_id shard, std::size_t own, std::size_t all) {
  return {
    errc::overloaded,
    "shard " + std::to_string(value(shard)) + " has " + std::to_string(own) + " of "
      + std::to_string(all) + " enqueues of tenant " + tenant
      + " at the gateway that are not answered yet; the shards share http_enqueues_open_max="
      + std::to_string(limits::http_enqueues_open_max)};
}

/// Why there are no bytes left, with those that the shard has.
error with_shard(error why, std::optional<shard_id> shard, std::uint64_t own) {
  if (shard && own > 0)
    why.context +=
      "; shard " + std::to_string(value(*shard)) + " has " + std::to_string(own) + " of them";
  return why;
}

} // namespace

void enqueue_desk::lane::enter(std::optional<shard_id> shard, std::uint64_t bytes) {
  ++open;
  if (!shard)
    return;
  auto& own = open_at[*shard];
  ++own.count;
  own.bytes += bytes;
}

void enqueue_desk::lane::leave(std::optional<shard_id> shard, std::uint64_t bytes) {
  --open;
  if (!shard)
    return;
  auto& own = open_at[*shard];
  own.bytes -= bytes;
  if (--own.count == 0)
    open_at.erase(*shard);
}

enqueue_desk::lane::part enqueue_desk::lane::part_of(std::optional<shard_id> shard) const {
  const auto found = shard ? open_at.find(*shard) : open_at.end();
  return found == open_at.end() ? part{} : found->second;
}

std::size_t enqueue_desk::lane_of(const std::string& tenant) {
  auto [at, is_new] = by_tenant_.try_emplace(tenant, lanes_.size());
  if (is_new) {
    client::enqueue_outbox::options opts;
    opts.in_flight_max = tuning::http_enqueues_in_flight_max;
    opts.new_session = options_.new_session;
    opts.first_number = (static_cast<std::uint64_t>(lanes_.size()) << number_bits) + 1;
    auto& fresh = lanes_.emplace_back(std::make_unique<lane>(std::move(opts)));
    connect(*fresh, tenant);
  }
  return at->second;
}

void enqueue_desk::connect(lane& to, const std::string& tenant) {
  // A frame is a copy of tasks that already passed admission, so that its share is forced.
  auto send = [this, tenant](shard_id shard, const protocol::enqueue_request& m) {
    options_.send(shard, m, options_.shares->force(tenant, m.body().size()));
  };
  if (options_.reaches)
    to.outbox.connect({std::move(send), options_.reaches}, options_.store);
  else
    to.outbox.connect(
      [send](const protocol::enqueue_request& m) { send(shard_id{0}, m); }, options_.store);
}

void enqueue_desk::send_again() {
  for (const auto& [tenant, index] : by_tenant_)
    connect(*lanes_[index], tenant);
}

void enqueue_desk::resend(std::span<const shard_id> shards) {
  for (const auto& lane : lanes_)
    lane->outbox.resend(shards);
}

std::optional<shard_id> enqueue_desk::owner_of(const task_spec& task) const {
  if (!options_.reaches)
    return std::nullopt;
  const queue_address queue{protocol::tenant_of(task), task.queue};
  const auto& name = task.group.empty() ? task.key : task.group;
  return core::shard_of_task(queue, name, task.limits, options_.store.shard_count);
}

result<void> enqueue_desk::check_place(
  const lane& at, const std::string& tenant, std::optional<shard_id> shard) const {
  const auto own = at.part_of(shard).count;
  const auto is_first = shard && own == 0;
  const base::shared_places places{
    .total = limits::http_enqueues_open_max, .used = at.open, .own = own};
  if (is_first || places.has_room())
    return {};
  options_.meter->note(
    {"http_enqueues_open_max", limits::http_enqueues_open_max, "tenant", tenant});
  return shard ? no_place_left(tenant, *shard, own, at.open) : no_place_left(tenant);
}

enqueue_ticket
enqueue_desk::submit(const std::string& tenant, const task_spec& task, done_function done) {
  auto number = lane_of(tenant);
  auto& to = *lanes_[number];
  const auto shard = owner_of(task);
  if (auto ok = check_place(to, tenant, shard); !ok) {
    done(ok.error());
    return {};
  }
  auto encoded = protocol::encoded_tasks::encode({&task, 1});
  if (!encoded) {
    done(encoded.error());
    return {};
  }
  const auto bytes = encoded->request_bytes() + tuning::enqueue_overhead_bytes;
  const auto own = to.part_of(shard).bytes;
  auto share = options_.shares->take(tenant, bytes, own);
  if (!share) {
    done(with_shard(share.error(), shard, own));
    return {};
  }
  auto tasks = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
  to.enter(shard, bytes);
  auto end = [&to, shard, bytes, done = std::move(done), held = std::move(*share)](
               result<enqueue_answers> answers) {
    to.leave(shard, bytes);
    if (answers)
      done(std::move(answers->front()));
    else
      done(answers.error());
  };
  return {number, to.outbox.submit(std::move(tasks), std::move(end)), shard};
}

void enqueue_desk::give_up(const enqueue_ticket& ticket, const error& reason) {
  if (ticket.submission != 0)
    lanes_[ticket.lane]->outbox.give_up(ticket.submission, reason);
}

bool enqueue_desk::withdraw(const enqueue_ticket& ticket, const error& reason) {
  return ticket.submission != 0
         && lanes_[ticket.lane]->outbox.withdraw(ticket.submission, reason);
}

result<std::optional<client::enqueue_outbox::retry>>
enqueue_desk::accept(const protocol::enqueue_reply& reply) {
  auto number = reply.read([](auto r) -> result<std::uint64_t> { return r.getNumber(); });
  if (!number)
    return number.error();
  if (lane_of_number(*number) >= lanes_.size())
    return error{errc::protocol_error, "no tenant has request " + std::to_string(*number)};
  return lanes_[lane_of_number(*number)]->outbox.accept(reply);
}

void enqueue_desk::retry_due(std::uint64_t number) {
  lanes_[lane_of_number(number)]->outbox.retry_due(number);
}

void enqueue_desk::fail_all(const error& reason) {
  // A callback may enqueue another task, also for a tenant that has no lane yet, so that the loop
  // cannot use iterators.
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i]->outbox.fail_all(reason);
}

} // namespace codeq::http
