// SPDX-License-Identifier: Apache-2.0
#include "cluster/raw_client.hpp"

#include "protocol/shared_data.hpp"
#include "protocol/task_convert.hpp"
#include "protocol/version.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::test {

namespace {

constexpr const char* queue = "q";

protocol::hello make_hello(schema::Role role, const std::string& name) {
  return protocol::hello::build([&](auto r) {
    r.setMinVersion(protocol::version);
    r.setMaxVersion(protocol::version);
    r.setRole(role);
    r.setName(name);
    r.setIncarnation(1);
    r.setTakesMap(true);
    if (role != schema::Role::WORKER)
      return;
    auto address = r.initQueues(1)[0];
    address.setTenant("default");
    address.setQueue(queue);
  });
}

std::uint32_t read_u32(const char* from) {
  std::uint32_t number = 0;
  std::memcpy(&number, from, sizeof number);
  return number;
}

} // namespace

raw_client::raw_client(
  const std::string& host,
  std::uint16_t port,
  schema::Role role,
  const std::string& name,
  limit within) {
  const auto end = std::chrono::steady_clock::now() + within;
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
    send(make_hello(role, name).to_wire());
  else
    close();
  if (!receive_a<schema::HelloAck>(end))
    close();
}

raw_client::~raw_client() {
  close();
}

void raw_client::close() {
  if (socket_ >= 0)
    ::close(socket_);
  socket_ = -1;
}

void raw_client::send(const protocol::wire_frame& frame) {
  if (!is_up())
    return;
  std::string out(protocol::frame_header_bytes, '\0');
  const auto size = static_cast<std::uint32_t>(frame.body.size());
  std::memcpy(out.data(), &size, sizeof size);
  std::memcpy(out.data() + sizeof size, &frame.type, sizeof frame.type);
  out += frame.body.view();
  for (std::size_t sent = 0; sent < out.size();) {
    const auto count = ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (count <= 0)
      return close();
    sent += static_cast<std::size_t>(count);
  }
}

bool raw_client::read_bytes(char* to, std::size_t count, time_point end) {
  while (count > 0 && is_up()) {
    const auto left = std::chrono::duration_cast<limit>(end - std::chrono::steady_clock::now());
    pollfd ready{socket_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
      return false;
    const auto got = ::recv(socket_, to, count, 0);
    if (got <= 0)
      close();
    else {
      to += got;
      count -= static_cast<std::size_t>(got);
    }
  }
  return is_up();
}

std::optional<protocol::wire_frame> raw_client::receive(time_point end) {
  for (;;) {
    char header[protocol::frame_header_bytes];
    if (!read_bytes(header, sizeof header, end))
      return std::nullopt;
    std::string body(read_u32(header), '\0');
    // A frame that has begun to arrive is read to its end.
    const auto body_end = std::max(end, std::chrono::steady_clock::now() + limit(500));
    if (!read_bytes(body.data(), body.size(), body_end))
      return std::nullopt;
    protocol::wire_frame frame;
    std::memcpy(&frame.type, header + sizeof(std::uint32_t), sizeof frame.type);
    frame.body = bytes(std::move(body));
    if (frame.type != protocol::frame_type<schema::Ping>)
      return frame;
    send({protocol::frame_type<schema::Pong>, frame.body});
  }
}

template <class S>
std::optional<protocol::frame<S>> raw_client::receive_a(time_point end) {
  while (auto frame = receive(end))
    if (frame->type == protocol::frame_type<S>)
      return protocol::frame<S>::parse(frame->body).value();
  return std::nullopt;
}

std::optional<std::vector<sequence>> raw_client::enqueue(
  shard_id shard,
  producer_id producer,
  std::uint64_t number,
  std::size_t tasks,
  limit within) {
  const auto end = std::chrono::steady_clock::now() + within;
  std::vector<task_spec> specs(tasks);
  for (auto& spec : specs)
    spec.queue = std::string(queue);
  auto encoded = protocol::encoded_tasks::encode(specs).value();
  send(encoded.to_request({producer, number, 0, shard}).to_wire());
  while (auto reply = receive_a<schema::EnqueueReply>(end)) {
    std::optional<std::vector<sequence>> seqs;
    auto ok = reply->read([&](auto r) -> result<void> {
      if (r.getNumber() != number || r.getCode() != schema::ErrorCode::NONE)
        return {};
      seqs.emplace();
      for (auto run : r.getTasks())
        for (std::uint32_t i = 0; i < run.getCount(); ++i)
          seqs->push_back(run.getFirst() + i);
      return {};
    });
    return seqs;
  }
  return std::nullopt;
}

void raw_client::give_credits(std::uint32_t credits) {
  send(protocol::claim_request::build([&](auto r) { r.setCredits(credits); }).to_wire());
}

std::vector<leased_task> raw_client::receive_tasks(std::size_t count, limit within) {
  const auto end = std::chrono::steady_clock::now() + within;
  std::vector<leased_task> tasks;
  while (tasks.size() < count) {
    auto batch = receive_a<schema::TaskBatch>(end);
    if (!batch)
      break;
    auto ok = batch->read([&](auto r) -> result<void> {
      for (auto run : r.getRuns())
        for (std::uint32_t i = 0; i < run.getCount(); ++i)
          tasks.push_back(
            {shard_id{r.getShard()}, run.getFirst() + i, run.getFirstToken() + i});
      return {};
    });
  }
  return tasks;
}

bool raw_client::complete(const leased_task& task, const std::string& text, limit within) {
  const auto end = std::chrono::steady_clock::now() + within;
  send(protocol::result_request::build([&](auto r) {
         r.setShard(value(task.shard));
         auto report = r.initReports(1)[0];
         report.setSeq(task.seq);
         report.setToken(task.token);
         auto texts = r.initTexts();
         texts.initEnds(1).set(0, static_cast<std::uint32_t>(text.size()));
         texts.setBytes(protocol::data_of(text));
       }).to_wire());
  while (auto reply = receive_a<schema::ResultReply>(end)) {
    bool is_taken = false;
    bool is_this = false;
    auto ok = reply->read([&](auto r) -> result<void> {
      for (auto answer : r.getAnswers()) {
        if (answer.getSeq() != task.seq || shard_id{r.getShard()} != task.shard)
          continue;
        is_this = true;
        is_taken = answer.getCode() == schema::ErrorCode::NONE
                   || answer.getCode() == schema::ErrorCode::ALREADY;
      }
      return {};
    });
    if (is_this)
      return is_taken;
  }
  return false;
}

std::optional<std::string> raw_client::result_of(shard_id shard, sequence seq, limit within) {
  const auto end = std::chrono::steady_clock::now() + within;
  send(protocol::await_request::build([&](auto r) {
         r.setShard(value(shard));
         r.initSeqs(1).set(0, seq);
       }).to_wire());
  while (auto told = receive_a<schema::TasksEnded>(end)) {
    std::optional<std::string> found;
    auto ok = told->read([&](auto r) -> result<void> {
      std::uint32_t begin = 0;
      for (capnp::uint i = 0; i < r.getTasks().size(); ++i) {
        const auto until = r.getTexts().getEnds()[i];
        const auto one = r.getTasks()[i];
        const auto text = protocol::string_of(r.getTexts().getBytes()).substr(begin, until - begin);
        if (one.getSeq() == seq && one.getCode() == schema::ErrorCode::NONE)
          found = text;
        begin = until;
      }
      return {};
    });
    if (found)
      return found;
  }
  return std::nullopt;
}

} // namespace codeq::test
