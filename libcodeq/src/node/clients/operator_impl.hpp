// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"

#include "base/random.hpp"
#include "client/answer_slot.hpp"
#include "client/inquiry/inquiry_actor.hpp"
#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "client/shard_walk.hpp"
#include "cluster/backup/backup_run.hpp"
#include "node/clients/connection_watch.hpp"
#include "node/link_security.hpp"
#include "node/clients/operator_errors.hpp"
#include "transport/configure.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace codeq {

namespace node {

/// The actor system of an operator's client.
struct operator_system : caf::actor_system_config {
  operator_system() { transport::configure(*this, 1); }
};

/// A number for a command that has a part on each shard.
inline client::operation new_operation() {
  return static_cast<client::operation>(base::random_bits() | 1);
}

} // namespace node

/// The connection of an operator's client, and how it asks; the requests are in `operator*.cpp`.
struct operator_client::impl {
  impl(operator_options opts, node::link_security access)
    : options(std::move(opts)), system(config) {
    auto tell = [this](const client::connection_news& news) { watch.tell(news); };
    client::client_identity identity{
      schema::Role::OPERATOR, "codeqctl", base::random_bits(), access.token};
    actor = system.spawn(
      client::inquiry, client::inquiry_settings{options.coordinators, identity, tell, access.tls});
  }

  ~impl() {
    {
      caf::scoped_actor self{system};
      caf::anon_send(actor, actors::stop_client{});
      self->wait_for(actor);
    }
    actor = nullptr;
    transport::finish(system);
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  /// Waits for a connection. Errors: `disconnected`, or the reason why all coordinators refuse.
  result<void> connected();

  /// Sends a request and waits for the reply, which `read` parses.
  template <class T, class S>
  result<T> ask(
    client::question question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    bool repeatable = true) {
    return ask_for(options.timeout, std::move(question), read, repeatable);
  }

  /// The same with another limit for the wait.
  template <class T, class S>
  result<T> ask_for(
    duration most,
    client::question question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    bool repeatable = true) {
    return ask_until(client::deadline_after(most), std::move(question), read, repeatable);
  }

  /// The same with another end of the wait.
  template <class T, class S>
  result<T> ask_until(
    std::chrono::steady_clock::time_point end,
    client::question question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    bool repeatable = true);

  /// The end of a wait for the answer to the request that is open: why there is none, if it has not
  /// come by then.
  template <class T>
  result<T> give_up(const std::shared_ptr<client::answer_slot<T>>& slot, duration waited);

  /// Calls `options.waits` if the open request waits for a shard that is not reached.
  void tell_wait();

  /// A request that every shard gets.
  enum class shard_request : std::uint8_t {
    read,          ///< A shard that does not answer is left out.
    read_settings, ///< The same, but shard 0 has to answer, whose settings are the cluster's.
    change,        ///< As `read_settings`; an error says which shards have made the change.
  };

  /// Asks shard 0 and then the others; `ask_one` sends the request and waits for its answer. Error:
  /// that of the first shard when none answers, and of a shard that refuses or may not be missing.
  template <class T, class Ask>
  result<client::told_parts<T>> ask_shards(shard_request what, Ask ask_one);

  /// Sends a request to every coordinator and sums the replies; `missing`: those whose part is not
  /// in the sum.
  template <class T, class S>
  result<T> ask_all(
    client::question question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    actors::missing_answers& missing);

  /// The state of the cluster, of which each coordinator tells its part.
  result<cluster_status> whole_cluster();

  /// Does what is wished at every coordinator of the cluster, and returns their backups, by node.
  /// Errors: `unsupported`, `already`, `going_away`; `unavailable` when one has not answered.
  result<cluster::told_backups> backups_of_all(const backup_wish& wish);

  /// Starts the backups while nothing is handed over, and returns once their contents are fixed.
  result<cluster_status>
  begin_cluster_backup(const cluster::told_backups& held, std::uint64_t run);

  /// The backup of the whole cluster, once it is made.
  result<cluster_backup> make_cluster_backup();

  /// Sends a request for a queue to every shard; `of` creates the request.
  template <class Of>
  result<queue_info> ask_each_shard(shard_request what, const queue_address& queue, Of of);

  template <class Of>
  result<client::told_parts<client::queue_part>> ask_parts(shard_request what, Of of);

  /// Asks each shard for these fairness keys.
  result<client::told_parts<client::queue_part>>
  ask_fairness(const queue_address& queue, const core::fairness_part& part);

  /// A page of a list; `silence` says why the first of the shards that it lacks did not answer.
  result<task_page>
  list_page(const task_filter& filter, const page_request& page, error& silence);

  /// Errors: `unknown_queue`.
  result<void> check_exists(const queue_address& queue);

  /// Changes the tasks that match a filter, shard by shard.
  result<std::uint64_t>
  change_many(core::bulk_kind what, const queue_address& of, client::bulk_pace pace);

  /// Calls `take` with the tasks of one shard that match the filter, part by part, at most `limit`.
  template <class Take>
  result<void> list_shard(
    std::uint16_t shard, const task_filter& filter, std::uint64_t limit, const Take& take);

  /// Adds the tasks of the other shards that wait for a key to the answer of its owner.
  result<limit_key_info>
  with_waiting(const limit_address& limit, result<limit_key_info> owned);

  /// Sends a request for one schedule. Errors: `protocol_error` for an answer without it.
  result<client::schedules_part> ask_schedule(client::question question, bool repeatable = true);

  /// The parts of all shards; that of a shard that does not have the limit is empty.
  template <class Of>
  result<client::told_parts<client::limits_part>> ask_limit_parts(shard_request what, Of of);

  /// The same for one limit, added up. Errors: `unknown_limit`.
  template <class Of>
  result<limit_info> ask_limit(shard_request what, const limit_address& limit, Of of);

  /// Adds to an explanation what the shard that owns the key of the limit knows of it, if that
  /// answers soon. @pre the reason is `limited`
  void add_owned(task_explanation& to);

  /// Adds what the shards that own the keys know of them, if they answer soon.
  void add_owned(queue_explanation& to);

  /// Asks the shard that owns a key, which has to answer soon.
  result<client::limits_part> ask_owner(const limit_address& limit, const std::string& key);

  /// Number of shards of the connected store. @pre connected()
  std::uint16_t shard_count() { return watch.shard_count(); }

  operator_options options;
  node::operator_system config;
  node::connection_watch watch;
  caf::actor_system system;
  actors::inquiry_actor actor;
  bool has_told_wait = false;
};

template <class T, class Ask>
result<client::told_parts<T>>
operator_client::impl::ask_shards(shard_request what, Ask ask_one) {
  client::told_parts<T> told;
  client::change_places places;
  const auto shards = shard_count();
  auto most = options.timeout;
  for (std::uint16_t shard = 0; shard < shards; ++shard) {
    auto part = ask_one(shard, most);
    const auto may_be_missing = shard > 0 || what == shard_request::read;
    if (part) {
      told.parts.push_back(std::move(*part));
      places.done.push_back(shard_id{shard});
    } else if (may_be_missing && client::is_silence(part.error())) {
      if (told.missing.empty())
        told.silence = part.error();
      told.missing.push_back(shard_id{shard});
      auto& place = client::is_outcome_known(part.error()) ? places.undone : places.silent;
      place.push_back(shard_id{shard});
      // One that is away is seldom alone.
      most = std::min(most, node::next_silence);
    } else if (what == shard_request::change) {
      return node::not_changed(part.error(), std::move(places), shard, shards);
    } else {
      return part.error();
    }
  }
  if (told.parts.empty() && !told.missing.empty())
    return told.silence;
  return told;
}

template <class T, class S>
result<T> operator_client::impl::ask_until(
  std::chrono::steady_clock::time_point end,
  client::question question,
  result<client::answered<T>> (*read)(const protocol::frame<S>&),
  bool repeatable) {
  const auto most = std::chrono::ceil<duration>(end - std::chrono::steady_clock::now());
  auto slot = std::make_shared<client::answer_slot<T>>();
  actors::ask_coordinator wish;
  wish.question = std::move(question);
  wish.answered = [slot, read](const protocol::wire_frame& frame) -> result<void> {
    if (frame.type != protocol::frame_type<S>)
      return error{errc::protocol_error, "a reply of another type than was asked for"};
    auto parsed = protocol::frame<S>::parse(frame.body);
    if (!parsed)
      return parsed.error();
    auto told = read(*parsed);
    if (!told)
      return told.error();
    slot->put(std::move(told->answer));
    return {};
  };
  wish.failed = [slot](const error& reason) { slot->put(reason); };
  wish.repeatable = repeatable;
  caf::anon_send(actor, std::move(wish));
  if (auto answer = slot->wait(std::min(end, client::deadline_after(node::quiet_wait))))
    return std::move(*answer);
  if (std::chrono::steady_clock::now() < end)
    tell_wait();
  if (auto answer = slot->wait(end))
    return std::move(*answer);
  return give_up(slot, most);
}

template <class T>
result<T> operator_client::impl::give_up(
  const std::shared_ptr<client::answer_slot<T>>& slot, duration waited) {
  auto told = [slot, waited](const std::optional<error>& why) {
    slot->put(why.value_or(node::no_answer(waited)));
  };
  caf::anon_send(actor, actors::give_up_question{waited, std::move(told)});
  if (auto answer = slot->wait(client::deadline_after(node::give_up_wait)))
    return std::move(*answer);
  return node::no_answer(waited);
}

} // namespace codeq
