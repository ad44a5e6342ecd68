// SPDX-License-Identifier: Apache-2.0
// A client that keeps none of the bounds of the libraries; prints a line for each event. Usage:
//   e2e_flood ADDRESS TENANT enqueue REQUESTS PAYLOAD_BYTES
// sends so many requests of one task at once, and the refused ones again and again.
//   e2e_flood ADDRESS TENANT await TASKS
// adds tasks, and awaits them until the coordinator closes the connection.
//   e2e_flood ADDRESS TENANT look-up CONNECTIONS REQUESTS PAYLOAD_BYTES
// asks each connection so many times for a task with its payload, and reads the answers after a
// SIGHUP.
//   e2e_flood ADDRESS TENANT resume TASKS REQUESTS
// is a worker that leases tasks, and then pretends so many times to have none of them.
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "client/peer.hpp"
#include "protocol/error_code.hpp"
#include "protocol/task_convert.hpp"
#include "transport/framing.hpp"
#include "transport/socket.hpp"
#include "worker/node/wire.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace {

using namespace codeq;
using namespace std::chrono_literals;

template <class T>
T value_of(result<T> from) {
  if (!from)
    throw std::runtime_error(to_string(from.error()));
  return std::move(*from);
}

void print(const std::string& line) {
  std::cout << line << '\n' << std::flush;
}

/// A connection whose outgoing bytes have no bound. It sends and receives in turns, so that neither
/// side waits for the other.
class flood_connection {
public:
  explicit flood_connection(const std::string& address)
    : socket_(value_of(
      transport::dial(value_of(transport::parse_endpoint(address)), 5s, [] { return false; }))) {}

  template <class S>
  void send(const protocol::frame<S>& message) {
    transport::append_frame(message.to_wire(), out_);
  }

  /// The next frame; empty once the connection is closed.
  std::optional<protocol::wire_frame> receive() {
    for (;;) {
      if (auto frame = take_frame())
        return frame;
      if (!move_bytes())
        return std::nullopt;
    }
  }

  /// Sends everything and receives nothing.
  void send_all() {
    while (sent_ < out_.size()) {
      pollfd ready{socket_.get(), POLLOUT, 0};
      ::poll(&ready, 1, -1);
      if ((ready.revents & (POLLHUP | POLLERR)) != 0)
        return;
      send_some();
    }
  }

  /// Moves what can be moved within a moment; false once the connection is closed.
  bool move_bytes() {
    pollfd ready{
      socket_.get(), static_cast<short>(sent_ < out_.size() ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&ready, 1, 10);
    if ((ready.revents & POLLOUT) != 0)
      send_some();
    return (ready.revents & (POLLIN | POLLHUP | POLLERR)) == 0 || receive_some();
  }

private:
  void send_some() {
    auto count = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    sent_ += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    if (sent_ < out_.size())
      return;
    out_.clear();
    sent_ = 0;
  }

  bool receive_some() {
    auto size = in_.size();
    in_.resize(size + (64u << 10));
    auto count = ::recv(socket_.get(), in_.data() + size, in_.size() - size, 0);
    in_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0;
  }

  std::optional<protocol::wire_frame> take_frame() {
    constexpr auto header_bytes = protocol::frame_header_bytes;
    if (in_.size() < header_bytes)
      return std::nullopt;
    auto header =
      value_of(transport::parse_header({in_.data(), header_bytes}, tuning::frame_bytes_max));
    if (in_.size() < header_bytes + header.length)
      return std::nullopt;
    auto body = in_.begin() + header_bytes;
    std::vector<char> bytes(body, body + header.length);
    in_.erase(in_.begin(), body + header.length);
    return protocol::wire_frame{header.type, transport::take_body(std::move(bytes))};
  }

  transport::socket_owner socket_;
  std::vector<char> out_;
  std::size_t sent_ = 0;
  std::vector<char> in_;
};

/// An answer to an enqueue.
struct enqueue_answer {
  std::uint64_t number = 0;
  error refusal{};
  std::uint32_t retry_after_ms = 0;
  std::vector<sequence> tasks;
};

enqueue_answer read(const protocol::enqueue_reply& reply) {
  return value_of(reply.read([](auto from) -> result<enqueue_answer> {
    enqueue_answer answer{from.getNumber(), {}, from.getRetryAfterMs(), {}};
    answer.refusal = {protocol::from_schema(from.getCode()), from.getContext().cStr()};
    for (auto run : from.getTasks())
      for (std::uint32_t i = 0; i < run.getCount(); ++i)
        answer.tasks.push_back(run.getFirst() + i);
    return answer;
  }));
}

std::string token() {
  const char* given = std::getenv("CODEQ_TOKEN");
  return given ? given : "";
}

class flood {
public:
  flood(const std::string& address, std::string tenant)
    : flood(
      address,
      std::move(tenant),
      client::make_hello({schema::Role::PRODUCER, "flood", std::random_device()(), token})) {}

  flood(const std::string& address, std::string tenant, const protocol::hello& hello)
    : peer_(address), tenant_(std::move(tenant)) {
    peer_.send(hello);
    auto ack = value_of(protocol::hello_ack::parse(next(protocol::frame_type<schema::HelloAck>)));
    producer_ = make_producer_id(client::shard_time_of(ack), 1, random_());
    shards_ = value_of(
      ack.read([](auto from) -> result<std::size_t> { return std::size_t{from.getShardCount()}; }));
  }

  void enqueue(std::size_t requests, std::size_t payload_bytes) {
    auto tasks = make_tasks(1, payload_bytes);
    for (std::size_t number = 1; number <= requests; ++number)
      send(tasks, number, 1);
    auto refused = answers_to(requests, "answered");
    for (; !refused.empty(); refused = answers_to(refused.size(), "again"))
      // A repeated request acknowledges the answers to earlier ones.
      for (auto number : refused)
        send(tasks, number, *refused.begin());
  }

  void await(std::size_t count) {
    constexpr std::size_t open_max = 16;
    auto tasks = make_tasks(limits::enqueue_tasks_max, 1);
    auto requests = count / limits::enqueue_tasks_max;
    std::vector<sequence> added;
    for (std::size_t sent = 0, answered = 0; answered < requests; ++answered) {
      for (; sent < requests && sent - answered < open_max; ++sent)
        send(tasks, sent + 1, answered + 1);
      auto answer = next_answer();
      added.insert(added.end(), answer.tasks.begin(), answer.tasks.end());
    }
    print("added " + std::to_string(added.size()));
    auto left = std::span<const sequence>(added);
    for (; !left.empty(); left = left.subspan(std::min(left.size(), part)))
      await_part(left.first(std::min(left.size(), part)));
    print("awaited");
    // It counts what was decided before, so the end comes with a later request.
    while (peer_.move_bytes())
      await_part(std::span(added).first(1));
    next(protocol::frame_type<schema::EnqueueReply>);
  }

  /// Adds a task and asks for it, without reading the answers.
  void look_up(std::size_t requests, std::size_t payload_bytes) {
    send(make_tasks(1, payload_bytes), 1, 1);
    auto task = next_answer().tasks.at(0);
    for (std::size_t number = 0; number < requests; ++number)
      peer_.send(protocol::status_request::build([&](auto request) {
        request.setNumber(number);
        request.initTask().setSeq(task);
        request.setWithBody(true);
      }));
    peer_.send_all();
  }

  /// Leases tasks, and resumes without any of them, without reading what is delivered.
  void resume(std::size_t tasks, std::size_t requests) {
    peer_.send(worker::make_claim(tasks));
    for (std::size_t leased = 0; leased < tasks;) {
      auto batch =
        value_of(protocol::task_batch::parse(next(protocol::frame_type<schema::TaskBatch>)));
      leased += value_of(worker::read_task_batch(batch)).tasks.size();
    }
    print("leased");
    for (std::size_t i = 0; i < requests; ++i)
      for (const auto& request : worker::make_resumes({}, shards_))
        peer_.send(request);
    peer_.send_all();
    print("resumed");
    next(protocol::frame_type<schema::Refused>);
  }

  /// Reads the answers to look-ups; returns the reasons of those that were refused.
  std::vector<std::string> refused_lookups(std::size_t requests) {
    std::vector<std::string> refused;
    for (std::size_t i = 0; i < requests; ++i) {
      auto reply =
        value_of(protocol::status_reply::parse(next(protocol::frame_type<schema::StatusReply>)));
      auto allowed = reply.read([](auto from) -> result<void> {
        return error{protocol::from_schema(from.getCode()), from.getContext().cStr()};
      });
      if (allowed.error().code != errc::none)
        refused.push_back(to_string(allowed.error()));
    }
    return refused;
  }

private:
  static constexpr auto part = tuning::awaited_tasks_per_request_max;

  protocol::encoded_tasks make_tasks(std::size_t count, std::size_t payload_bytes) const {
    task_spec task;
    task.tenant = tenant_;
    task.queue = "flood";
    task.payload = std::string(payload_bytes, 'x');
    return value_of(protocol::encoded_tasks::encode(std::vector(count, task)));
  }

  void send(const protocol::encoded_tasks& tasks, std::uint64_t number, std::uint64_t below) {
    peer_.send(tasks.to_request({producer_, number, below, shard_id{}}));
  }

  void await_part(std::span<const sequence> tasks) {
    peer_.send(protocol::await_request::build(
      [&](auto request) {
        auto seqs = request.initSeqs(static_cast<capnp::uint>(tasks.size()));
        for (std::size_t i = 0; i < tasks.size(); ++i)
          seqs.set(static_cast<capnp::uint>(i), tasks[i]);
      },
      tasks.size() + 16));
  }

  /// The body of the next frame of that type. Says why when the connection is closed.
  bytes next(std::uint16_t type) {
    while (auto frame = peer_.receive()) {
      if (frame->type == type)
        return frame->body;
      static_cast<void>(protocol::visit_one_of<schema::Refused, schema::Ping>(
        *frame, [this](const auto& message) { hear(message); }));
    }
    print("closed");
    std::exit(0);
  }

  void hear(const protocol::refused& message) {
    auto reason = message.read([](auto from) -> result<void> {
      return error{protocol::from_schema(from.getCode()), from.getContext().cStr()};
    });
    print("closed " + to_string(reason.error()));
    std::exit(0);
  }

  void hear(const protocol::ping& message) {
    auto number =
      value_of(message.read([](auto from) -> result<std::uint64_t> { return from.getNumber(); }));
    peer_.send(protocol::pong::build([number](auto pong) { pong.setNumber(number); }));
  }

  enqueue_answer next_answer() {
    return read(
      value_of(protocol::enqueue_reply::parse(next(protocol::frame_type<schema::EnqueueReply>))));
  }

  /// Reads so many answers; the numbers of the refused requests.
  std::set<std::uint64_t> answers_to(std::size_t requests, std::string_view what) {
    std::set<std::uint64_t> refused;
    for (std::size_t i = 0; i < requests; ++i) {
      auto answer = next_answer();
      if (answer.refusal.code == errc::none)
        continue;
      if (refused.empty())
        print(
          "refused " + to_string(answer.refusal)
          + " retry_after_ms=" + std::to_string(answer.retry_after_ms));
      refused.insert(answer.number);
    }
    print(
      std::string(what) + " accepted=" + std::to_string(requests - refused.size())
      + " refused=" + std::to_string(refused.size()));
    return refused;
  }

  std::random_device random_;
  flood_connection peer_;
  std::string tenant_;
  producer_id producer_{};
  std::size_t shards_ = 0;
};

void flood_with_lookups(
  const std::string& address,
  const std::string& tenant,
  std::size_t connections,
  std::size_t requests,
  std::size_t payload_bytes) {
  std::vector<std::unique_ptr<flood>> floods;
  for (std::size_t i = 0; i < connections; ++i) {
    floods.push_back(std::make_unique<flood>(address, tenant));
    floods.back()->look_up(requests, payload_bytes);
  }
  print("asked");
  sigset_t wake{};
  sigemptyset(&wake);
  sigaddset(&wake, SIGHUP);
  int number = 0;
  sigwait(&wake, &number);
  std::vector<std::string> refused;
  for (auto& one : floods)
    for (auto& reason : one->refused_lookups(requests))
      refused.push_back(std::move(reason));
  if (!refused.empty())
    print("refused " + refused.front());
  auto answered = connections * requests - refused.size();
  print(
    "looked up answered=" + std::to_string(answered)
    + " refused=" + std::to_string(refused.size()));
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 5 && words[2] == "enqueue") {
      flood(words[0], words[1]).enqueue(std::stoul(words[3]), std::stoul(words[4]));
    } else if (words.size() == 4 && words[2] == "await") {
      flood(words[0], words[1]).await(std::stoul(words[3]));
    } else if (words.size() == 5 && words[2] == "resume") {
      auto hello = worker::make_hello(
        {"flood", std::random_device()()}, words[1], std::vector<std::string>{"q"}, token());
      flood(words[0], words[1], hello).resume(std::stoul(words[3]), std::stoul(words[4]));
    } else if (words.size() == 6 && words[2] == "look-up") {
      sigset_t blocked{};
      sigemptyset(&blocked);
      sigaddset(&blocked, SIGHUP);
      sigprocmask(SIG_BLOCK, &blocked, nullptr);
      flood_with_lookups(
        words[0], words[1], std::stoul(words[3]), std::stoul(words[4]), std::stoul(words[5]));
    } else {
      std::cerr << "usage: e2e_flood ADDRESS TENANT enqueue REQUESTS PAYLOAD_BYTES | await TASKS"
                   " | look-up CONNECTIONS REQUESTS PAYLOAD_BYTES | resume TASKS REQUESTS\n";
      return 2;
    }
  } catch (const std::exception& e) {
    std::cerr << "e2e_flood: " << e.what() << '\n';
    return 1;
  }
  return 0;
}
