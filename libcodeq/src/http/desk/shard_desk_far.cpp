// SPDX-License-Identifier: Apache-2.0
// The desk's functions for the shards of a cluster, which it reaches over connections.
#include "client/cluster_questions.hpp"
#include "client/cluster_sums.hpp"
#include "client/shard_walk.hpp"
#include "http/desk/shard_desk.hpp"
#include "observe/log.hpp"
#include "protocol/cluster_convert.hpp"
#include "worker/node/wire.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

namespace {

/// How long a request waits for a shard that no coordinator serves at present: a little longer than
/// a fail-over takes.
constexpr duration shard_wait{4000};

/// The pause between two looks whether the shard of a read is reached.
constexpr duration reach_pause{100};

/// Maximum time for the answers of the other coordinators to a question to all.
constexpr duration others_wait{3000};

/// Each time that claims are told of shards that no coordinator serves yet, each of them attaches
/// to each of these shards. A shard that comes is told by its coordinator at once.
constexpr duration claims_pause{1000};

/// How long a change waits for its refusal, once it is known that its shard has moved.
constexpr duration refusal_wait{100};

/// Whether a request may be executed twice.
bool is_repeatable(const protocol::wire_frame& frame) {
  return frame.type != protocol::frame_type<schema::ChangeRequest>
         && frame.type != protocol::frame_type<schema::ForceRequest>
         && frame.type != protocol::frame_type<schema::BulkRequest>
         && frame.type != protocol::frame_type<schema::ScheduleRequest>;
}

} // namespace

error moved_away() {
  return {
    errc::disconnected,
    "the shard has moved to another coordinator; whether the request "
      + std::string(client::unknown_outcome)};
}

void shard_desk::take(const coordinator::shard_moved& m) {
  // A host may tell the same twice.
  const auto is_news = m.is_here ? away_.erase(m.shard) == 1 : away_.insert(m.shard).second;
  if (is_news)
    tell_claims(shard_found{m.shard, m.is_here});
  if (!is_news || stopped_)
    return;
  for (const auto& tell : followers_)
    tell(m.shard, m.is_here);
}

void shard_desk::follow_shards(shard_follower tell) {
  for (std::uint16_t i = 0; i < shard_count(); ++i)
    if (is_here(i))
      tell(shard_id{i}, true);
  followers_.push_back(std::move(tell));
}

void shard_desk::connect_far() {
  if (!options_.cluster)
    return;
  // The hosts tell which shards are here.
  for (std::uint16_t i = 0; i < shard_count(); ++i)
    away_.insert(shard_id{i});
  far_.emplace();
  far_->start(
    self_,
    *options_.cluster,
    {[this](const std::vector<shard_id>& shards) { send_moved(shards); },
     [this](const std::vector<shard_id>& shards) {
       tell_claims_later(shards);
       send_again(shards);
     },
     [this](const actors::connection_actor& connection) { send_lost(connection); },
     [this](duration wait, std::function<void()> action) { after(wait, std::move(action)); }});
}

std::string shard_desk::node_of(std::uint16_t shard) const {
  if (!far_)
    return {};
  return is_here(shard) ? options_.cluster->node : far_->node_of(shard_id{shard});
}

std::string shard_desk::why_unreached(std::uint16_t shard) const {
  const auto is_reached = !far_ || far_->connection_of(shard_id{shard});
  return is_reached ? std::string() : far_->unreached(shard_id{shard}).context;
}

std::string shard_desk::why_unreached(const enqueue_ticket& ticket) const {
  return ticket.shard ? why_unreached(value(*ticket.shard)) : std::string();
}

bool shard_desk::withdraw_unreached(const enqueue_ticket& ticket) {
  const auto away = why_unreached(ticket);
  return !away.empty()
         && enqueues_.withdraw(ticket, {errc::disconnected, away + "; the task was not added"});
}

void shard_desk::await_shard(const enqueue_ticket& ticket) {
  if (why_unreached(ticket).empty())
    return;
  after(shard_wait, [this, ticket] {
    if (!stopped_)
      withdraw_unreached(ticket);
  });
}

void shard_desk::take(const frame_arrived& m) {
  if (m.frame.type == protocol::frame_type<schema::ClaimNews>)
    take_claim_news(m.frame);
  // With a goodbye the connection has said all that it will.
  else if (m.frame.type != protocol::frame_type<schema::Goodbye>)
    take_frame(m.frame);
}

template <class Message>
void shard_desk::tell_claims(const Message& m) {
  for (const auto& [name, open] : claims_)
    self_->send(open.actor, m);
}

void shard_desk::tell_claims(const std::vector<shard_id>& shards) {
  far_shards_found found;
  for (auto shard : shards)
    found.shards.emplace_back(shard, far_->claims_connection_of(shard));
  tell_claims(found);
}

void shard_desk::tell_claims_later(const std::vector<shard_id>& shards) {
  const auto is_due = !untold_.empty();
  untold_.insert(shards.begin(), shards.end());
  if (is_due)
    return;
  after(claims_pause, [this] {
    const auto untold = std::exchange(untold_, {});
    if (!untold.empty())
      tell_claims(std::vector(untold.begin(), untold.end()));
  });
}

void shard_desk::take_claim_news(const protocol::wire_frame& frame) {
  auto news = protocol::claim_news::parse(frame.body);
  auto claim = news ? news->read([](auto reader) -> result<std::uint64_t> {
    return reader.getClaim();
  })
                    : result<std::uint64_t>(news.error());
  if (!claim)
    CODEQ_LOG_ERROR("gateway cannot read news of a claim reason=\"{}\"", to_string(claim.error()));
  else if (const auto open = claims_.find(*claim); open != claims_.end())
    self_->send(open->second.actor, claim_news_arrived{std::move(*news)});
  else
    give_back_late(*news);
}

void shard_desk::give_back_late(const protocol::claim_news& news) {
  // The proxy gives them back, too, unless its shard has left.
  const auto read = coordinator::read_claim_news(news);
  const auto* late = read ? std::get_if<coordinator::claim_tasks>(&read->second) : nullptr;
  if (!late)
    return;
  if (const auto tasks = read_claimed_tasks(late->batch))
    give_back(leases_of(*tasks));
  else
    CODEQ_LOG_ERROR("claim cannot read its tasks reason=\"{}\"", to_string(tasks.error()));
}

void shard_desk::add_read(bounded_reads& reads, shard_read read, monotonic_time began) {
  auto owner = read.owner;
  reads.add(owner, [this, &reads, began, read = std::move(read)] {
    if (!far_ || far_->connection_of(shard_id{read.shard}))
      return read.start();
    reads.ended();
    after(reach_pause, [this, &reads, began, read] {
      if (stopped_ || steady_now() - began >= shard_wait)
        return read.fail(far_->unreached(shard_id{read.shard}));
      add_read(reads, read, began);
    });
  });
}

void shard_desk::ask_number(std::uint64_t number) {
  auto& open = questions_.at(number);
  if (!far_)
    return send_frame(open.shard, open.frame, {}, open.origin);
  const auto* to = far_->connection_of(shard_id{open.shard});
  if (!to)
    return wait_for_shard(number);
  open.sent_to = *to;
  ++open.unrefused;
  if (open.origin)
    self_->send(*to, protocol::make_acting_for(*open.origin).to_wire());
  self_->send(*to, open.frame);
}

void shard_desk::wait_for_shard(std::uint64_t number) {
  const auto at = questions_.find(number);
  if (at == questions_.end())
    return;
  auto& open = at->second;
  const auto* to = far_->connection_of(shard_id{open.shard});
  const auto has_moved = to && open.sent_to && *to != open.sent_to;
  open.sent_to = nullptr;
  if (has_moved)
    return ask_number(number);
  after(shard_wait, [this, number] {
    const auto waiting = questions_.find(number);
    if (waiting == questions_.end() || waiting->second.sent_to)
      return;
    auto why = far_->unreached(shard_id{waiting->second.shard});
    if (waiting->second.origin && waiting->second.unrefused > 0)
      why.context += std::string(client::sent_unanswered) + std::string(client::unknown_outcome);
    fail_question(number, why);
  });
}

void shard_desk::fail_question(std::uint64_t number, const error& reason) {
  auto open = questions_.extract(number);
  if (!open.empty())
    open.mapped().failed(reason);
}

void shard_desk::send_moved(const std::vector<shard_id>& shards) {
  for (auto shard : shards)
    untold_.erase(shard);
  tell_claims(shards);
  send_again(shards);
}

void shard_desk::send_again(const std::vector<shard_id>& shards) {
  enqueues_.resend(shards);
  watch_list_.resend(shards);
  leases_.fail(shards, moved_away());
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, open] : questions_)
    if (!open.is_for_node
        && std::binary_search(shards.begin(), shards.end(), shard_id{open.shard}))
      numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  for (auto number : numbers) {
    auto& open = questions_.at(number);
    if (!open.sent_to || is_repeatable(open.frame)) {
      ask_number(number);
      continue;
    }
    after(refusal_wait, [this, number, before = open.sent_to] {
      const auto waiting = questions_.find(number);
      if (waiting != questions_.end() && waiting->second.sent_to == before)
        fail_question(number, moved_away());
    });
  }
}

void shard_desk::send_lost(const actors::connection_actor& connection) {
  tell_claims(far_shards_lost{connection});
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, open] : questions_)
    if (open.sent_to == connection)
      numbers.push_back(number);
  for (auto number : numbers) {
    // Another coordinator would answer for itself, and be counted twice.
    const auto& open = questions_.at(number);
    if (is_repeatable(open.frame) && !open.is_for_node)
      wait_for_shard(number);
    else
      fail_question(number, moved_away());
  }
  std::vector<shard_id> shards;
  for (std::uint16_t i = 0; i < shard_count(); ++i)
    if (!far_->connection_of(shard_id{i}))
      shards.push_back(shard_id{i});
  leases_.fail(shards, moved_away());
  for (const auto& tell : loss_followers_)
    tell();
}

// Leases.

result<void> shard_desk::send_lease(
  shard_id shard, const protocol::wire_frame& frame, const coordinator::enqueue_share& share) {
  if (far_ && !far_->connection_of(shard))
    return far_->unreached(shard);
  send_frame(value(shard), frame, share);
  return {};
}

bool shard_desk::take_lease_frame(const protocol::wire_frame& frame) {
  // The answers name their shard; there is one store.
  constexpr std::size_t store = 0;
  auto take = [&]<class S>(const protocol::frame<S>& typed) {
    if constexpr (std::is_same_v<S, schema::ResultReply>) {
      const auto answers = worker::read_result_reply(store, typed);
      core::reports_answered told;
      for (const auto& one : answers ? *answers : std::vector<worker::report_answer>())
        told.answers.push_back({one.seq, one.key.token, one.code, one.context});
      if (!told.answers.empty())
        leases_.take(answers->front().key.shard, told);
    } else if constexpr (std::is_same_v<S, schema::LeasesLost>) {
      const auto lost = worker::read_leases_lost(store, typed);
      core::leases_lost told;
      for (const auto& one : lost ? *lost : std::vector<worker::lease_ref>())
        told.leases.push_back({one.seq, one.key.token});
      if (!told.leases.empty())
        leases_.take(lost->front().key.shard, told);
    } else if constexpr (std::is_same_v<S, schema::CheckpointsSaved>) {
      const auto saved = worker::read_checkpoints_saved(store, typed);
      for (const auto& line : saved ? *saved : std::vector<worker::saved_line>())
        leases_.take_saved(line.key.shard, line.key.token);
      const auto postponed = worker::read_checkpoints_postponed(store, typed);
      const error no_room{
        errc::overloaded, "another coordinator has no room for the checkpoint at present"};
      for (const auto& line : postponed ? *postponed : std::vector<worker::saved_line>())
        leases_.take_saved(line.key.shard, line.key.token, no_room);
    }
  };
  return protocol::visit_one_of<
           schema::ResultReply,
           schema::LeasesLost,
           schema::CheckpointsSaved,
           schema::CancelNotice>(frame, take)
    .has_value();
}

// Sums over the cluster.

template <class T, class S>
void shard_desk::ask_others(
  const client::question& question,
  result<client::answered<T>> (*read)(const protocol::frame<S>&),
  std::function<void(T)> take,
  std::function<void(const actors::missing_answers&)> done,
  const core::origin_ptr& origin) {
  auto others = far_->others();
  struct round {
    std::size_t open = 0;
    std::size_t missing = 0;
    std::function<void(const actors::missing_answers&)> done;
    std::vector<actors::connection_actor> silent{};
  };
  auto asked = std::make_shared<round>(
    round{others.connections.size(), others.missing, std::move(done)});
  auto finish = [this, asked] { asked->done({asked->missing, shards_without(asked->silent)}); };
  if (asked->open == 0)
    return finish();
  for (const auto& connection : others.connections) {
    const auto number = ++last_number_;
    auto end_one = [asked, finish, connection](bool is_missing) {
      if (is_missing) {
        ++asked->missing;
        asked->silent.push_back(connection);
      }
      if (--asked->open == 0)
        finish();
    };
    auto answered = [read, take, end_one](const protocol::wire_frame& wire) {
      auto frame = protocol::frame<S>::parse(wire.body);
      auto told = frame ? read(*frame) : result<client::answered<T>>(frame.error());
      const auto is_there = told && told->answer;
      if (is_there)
        take(std::move(*told->answer));
      end_one(!is_there);
    };
    questions_.emplace(
      number,
      question_open{
        std::move(answered), [end_one](const error&) { end_one(true); }, 0, question(number), {},
        connection, true});
    if (origin)
      self_->send(connection, protocol::make_acting_for(*origin).to_wire());
    self_->send(connection, questions_.at(number).frame);
    after(others_wait, [this, number] {
      fail_question(number, {errc::timeout, "a coordinator does not answer"});
    });
  }
}

std::vector<shard_id>
shard_desk::shards_without(const std::vector<actors::connection_actor>& silent) const {
  std::vector<shard_id> missing;
  for (std::uint16_t i = 0; i < shard_count(); ++i) {
    const auto* to = far_->connection_of(shard_id{i});
    const auto is_told = to && far_->node_of(shard_id{i}) != options_.cluster->node
                         && std::find(silent.begin(), silent.end(), *to) == silent.end();
    if (!is_here(i) && !is_told)
      missing.push_back(shard_id{i});
  }
  return missing;
}

void shard_desk::add_others(
  base::coordinator_counts sum, std::function<void(const stats_result&)> done) {
  if (!far_)
    return done(std::move(sum));
  auto all = std::make_shared<base::coordinator_counts>(std::move(sum));
  auto are_shards_known = std::make_shared<bool>(true);
  auto take = [all, are_shards_known](const coordinator_stats& part) {
    client::add(all->queues, part.queues);
    all->shards += part.shards;
    *are_shards_known = *are_shards_known && part.are_shards_known;
  };
  ask_others<coordinator_stats>(
    client::ask_stats(), &client::read_stats, std::function<void(coordinator_stats)>(take),
    [this, all, are_shards_known, done = std::move(done)](const actors::missing_answers& missing) {
      const auto shards = *are_shards_known ? std::optional{all->shards} : std::nullopt;
      client::set_missing(all->gauges, missing.coordinators, shards, shard_count());
      done(std::move(*all));
    });
}

void shard_desk::add_others(worker_sum sum, std::function<void(const workers_result&)> done) {
  if (!far_)
    return done(std::move(sum));
  auto all = std::make_shared<worker_sum>(std::move(sum));
  auto take = [all](const std::vector<worker_info>& part) { client::add(all->workers, part); };
  ask_others<std::vector<worker_info>>(
    client::ask_workers(), &client::read_workers,
    std::function<void(std::vector<worker_info>)>(take),
    [all, done = std::move(done)](const actors::missing_answers& missing) {
      all->missing = missing;
      done(std::move(*all));
    });
}

void shard_desk::audit(const audit_filter& filter, then<audit_page> done) {
  if (!far_) {
    ask<client::audit_part>(
      0, client::ask_audit(filter), &client::read_audit,
      [done = std::move(done)](result<client::audit_part> part) {
        done(part ? result<audit_page>(std::move(*part)) : part.error());
      });
    return;
  }
  struct reading {
    audit_page page{};
    std::size_t open = 0;
    std::optional<error> refusal{};
    then<audit_page> done;
  };
  auto all = std::make_shared<reading>();
  all->open = shard_count();
  all->done = std::move(done);
  auto take = [all, limit = filter.limit, shards = shard_count()](
                shard_id shard, result<client::audit_part> part) {
    if (part) {
      client::add(all->page, std::move(*part), limit);
    } else {
      all->page.missing.push_back(shard);
      const auto is_first = !all->refusal || !is_retryable(part.error().code);
      all->refusal = is_first ? part.error() : all->refusal;
    }
    if (--all->open > 0)
      return;
    auto& missing = all->page.missing;
    std::sort(missing.begin(), missing.end());
    const auto is_refused =
      all->refusal && (missing.size() == shards || !is_retryable(all->refusal->code));
    all->done(is_refused ? result<audit_page>(*all->refusal) : std::move(all->page));
  };
  for (std::uint16_t i = 0; i < shard_count(); ++i) {
    const auto number = ask<client::audit_part>(
      i, client::ask_audit(filter, i), &client::read_audit,
      [take, i](result<client::audit_part> part) { take(shard_id{i}, std::move(part)); });
    after(others_wait, [this, number] {
      fail_question(number, {errc::timeout, "a coordinator does not answer"});
    });
  }
}

std::size_t shard_desk::nodes_of(const std::vector<shard_id>& shards) const {
  std::set<std::string> nodes;
  for (auto shard : shards)
    nodes.insert(node_of(value(shard)));
  return nodes.size();
}

void shard_desk::drain_worker(
  const std::string& name, bool is_drained, const core::origin_ptr& origin, then<void> done) {
  const auto here = options_.drained->set(name, is_drained);
  if (!here)
    return done(here.error());
  auto all = std::make_shared<std::vector<worker_info>>();
  if (*here != coordinator::drain_outcome::unknown) {
    all->emplace_back().name = name;
    all->back().is_draining = is_drained;
  }
  const auto is_news = *here != coordinator::drain_outcome::unchanged;
  auto finish = [this, name, is_drained, is_news, origin, all, done = std::move(done)](
                  std::size_t missing) {
    const auto action =
      is_drained ? operator_action::worker_drain : operator_action::worker_resume;
    if (is_news && !all->empty())
      note({origin, action, name, coordinator::tenant_of_worker(name)});
    done(client::check_drained(name, is_drained, *all, missing));
  };
  if (!far_)
    return finish(0);
  auto take = [all](std::vector<worker_info> part) { client::add(*all, std::move(part)); };
  // The command is in the audit log once, by this coordinator.
  auto elsewhere = *origin;
  elsewhere.is_audited = false;
  ask_others<std::vector<worker_info>>(
    client::ask_drain(name, is_drained), &client::read_workers,
    std::function<void(std::vector<worker_info>)>(take),
    [finish = std::move(finish)](const actors::missing_answers& missing) {
      finish(missing.coordinators);
    },
    std::make_shared<const core::command_origin>(std::move(elsewhere)));
}

void shard_desk::gather_cluster(
  cluster_status own, std::function<void(const cluster_status&)> done) {
  for (auto& node : own.nodes)
    node.has_answered = node.name == own.node;
  auto all = std::make_shared<cluster_status>(std::move(own));
  auto take = [all](cluster_status part) { client::add(*all, std::move(part)); };
  ask_others<cluster_status>(
    client::ask_cluster({}), &client::read_cluster, std::function<void(cluster_status)>(take),
    [all, done = std::move(done)](const actors::missing_answers&) { done(*all); });
}

} // namespace codeq::http
