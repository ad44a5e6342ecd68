// SPDX-License-Identifier: Apache-2.0
#include "sim/operator_process.hpp"

#include "client/operator_replies.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

namespace codeq::sim {

namespace {

protocol::hello make_hello() {
  return protocol::hello::build([](auto r) {
    r.setMinVersion(1);
    r.setMaxVersion(1);
    r.setRole(schema::Role::OPERATOR);
    r.setName("operator");
    r.setIncarnation(1);
  });
}

} // namespace

operator_process::operator_process(world& all, network& net, auditor& audit)
  : world_(all), auditor_(audit), process_(all), link_(all, net, process_) {
  link_.start(
    make_hello(),
    {[](std::size_t, std::uint64_t) {},
     [this] { asked_.clear(); },
     [this](const protocol::wire_frame& frame) { take(frame); },
     [](errc) {}});
}

void operator_process::ask(const task_id& task, task_change what) {
  if (!link_.is_up())
    return;
  auto number = next_number_++;
  world_.say(
    "operator asks for " + std::to_string(static_cast<int>(what)) + " of "
    + std::to_string(value(task.shard)) + "/" + std::to_string(task.seq));
  asked_.emplace(number, std::pair{task, what});
  auditor_.change_asked(task, what);
  link_.send(protocol::change_request::build([&](auto r) {
    r.setNumber(number);
    auto named = r.initTask();
    named.setShard(value(task.shard));
    named.setSeq(task.seq);
    r.setChange(static_cast<schema::TaskChange>(what));
  }));
}

void operator_process::take(const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [this]<class S>(const protocol::frame<S>& m) {
    if constexpr (std::is_same_v<S, schema::ChangeReply>) {
      auto reply = client::read_change(m);
      if (!reply)
        throw std::runtime_error("operator: " + to_string(reply.error()));
      auto number = m.read([](auto r) -> result<std::uint64_t> { return r.getNumber(); });
      auto asked = asked_.extract(*number);
      if (asked && reply->answer)
        auditor_.change_answered(asked.mapped().first, asked.mapped().second, *reply->answer);
    }
  });
  if (!handled)
    throw std::runtime_error("operator: " + to_string(handled.error()));
}

} // namespace codeq::sim
