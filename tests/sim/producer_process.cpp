// SPDX-License-Identifier: Apache-2.0
#include "sim/producer_process.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace codeq::sim {

namespace {

protocol::hello make_hello(const std::string& name) {
  return protocol::hello::build([&](auto r) {
    r.setMinVersion(1);
    r.setMaxVersion(1);
    r.setRole(schema::Role::PRODUCER);
    r.setName(name);
    r.setIncarnation(1);
  });
}

client::enqueue_outbox::options
outbox_options(chance& random, const std::function<timestamp()>& shard_now) {
  client::enqueue_outbox::options options;
  options.in_flight_max = static_cast<std::size_t>(random.between(1, 8));
  options.new_session = [&random, shard_now] {
    return make_producer_id(shard_now(), static_cast<std::uint16_t>(random.next()), random.next());
  };
  return options;
}

} // namespace

producer_process::producer_process(world& all, network& net, parts made)
  : world_(all),
    parts_(std::move(made)),
    process_(all),
    link_(all, net, process_),
    outbox_(outbox_options(all.random.workload, parts_.shard_now)),
    workload_(all) {
  link_.start(
    make_hello(parts_.name),
    {[this](std::size_t shards, std::uint64_t store) {
       client::store_identity identity{store, static_cast<std::uint16_t>(shards)};
       auto send = [this](const auto& frame) { link_.send(frame); };
       outbox_.connect(send, identity);
       watches_.connect(send, identity);
     },
     [this] {
       outbox_.disconnect();
       watches_.disconnect();
     },
     [this](const protocol::wire_frame& frame) { take(frame); },
     [](errc) {}});
}

void producer_process::crash() {
  world_.say("producer dies " + parts_.name);
  process_.kill();
  if (auto link = link_.current())
    link->cut(world_.random.faults.hits(300));
  for (const auto& name : unanswered_)
    parts_.audit->given_up(name);
}

void producer_process::submit() {
  submit(workload_.some_request());
}

void producer_process::submit_keyed() {
  for (auto& task : workload_.all_keys())
    submit({std::move(task)});
}

void producer_process::submit(std::vector<task_spec> tasks) {
  auto request = ++submitted_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    names.push_back(parts_.name + "." + std::to_string(request) + "." + std::to_string(i));
    tasks[i].payload = names.back();
    unanswered_.insert(names.back());
    parts_.audit->submitted(names.back(), tasks[i], parts_.shard_now());
  }
  world_.say(
    parts_.name + " enqueues " + std::to_string(tasks.size()) + " in " + std::to_string(request));
  auto encoded = protocol::encoded_tasks::encode(tasks);
  if (!encoded)
    throw std::runtime_error(to_string(encoded.error()));
  auto done = [this, names](const result<enqueue_answers>& answers) { answered(names, answers); };
  outbox_.submit(
    std::make_shared<const protocol::encoded_tasks>(std::move(*encoded)), std::move(done));
}

void producer_process::answered(
  const std::vector<std::string>& names, const result<enqueue_answers>& answers) {
  world_.say("enqueued " + names.front() + " and on");
  std::vector<task_id> ids;
  for (std::size_t i = 0; i < names.size(); ++i) {
    unanswered_.erase(names[i]);
    // Tasks that may go to any shard are refused together.
    result<enqueued_task> how = answers ? (*answers)[i] : answers.error();
    parts_.audit->enqueued(names[i], how);
    if (how)
      ids.push_back(how->id);
  }
  look_again(ids);
}

void producer_process::look_again(const std::vector<task_id>& tasks) {
  for (const auto& id : tasks) {
    open_tasks_.insert(id);
    watches_.add(1, {id}, [this, id](const result<ended_task>& how) {
      open_tasks_.erase(id);
      world_.say(
        "told of " + std::to_string(value(id.shard)) + "/" + std::to_string(id.seq) + " "
        + std::string(how ? to_string(how->state) : to_string(how.error().code)));
      parts_.audit->ended(id, how);
    });
  }
}

void producer_process::take(const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [this]<class S>(const protocol::frame<S>& m) {
    if constexpr (std::is_same_v<S, schema::EnqueueReply>) {
      auto accepted = outbox_.accept(m);
      if (!accepted)
        throw std::runtime_error(to_string(accepted.error()));
      if (*accepted)
        process_.after(
          (*accepted)->pause, [this, number = (*accepted)->number] { outbox_.retry_due(number); });
    } else if constexpr (std::is_same_v<S, schema::TasksEnded>) {
      if (auto accepted = watches_.accept(m); !accepted)
        throw std::runtime_error(to_string(accepted.error()));
    }
  });
  if (!handled)
    throw std::runtime_error(to_string(handled.error()));
}

} // namespace codeq::sim
