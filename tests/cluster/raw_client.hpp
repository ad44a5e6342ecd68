// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "protocol/messages.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace codeq::test {

/// A leased task.
struct leased_task {
  shard_id shard{};
  sequence seq = 0;
  std::uint64_t token = 0;
};

/// One connection to one coordinator, which sends and receives frames. It follows no map. Calls
/// that wait return nothing when the connection ends or time is up.
class raw_client {
public:
  using limit = std::chrono::milliseconds;

  /// Connects and says hello; `is_up` says whether that worked.
  raw_client(
    const std::string& host,
    std::uint16_t port,
    schema::Role role,
    const std::string& name,
    limit within = limit(2000));
  ~raw_client();
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  [[nodiscard]] bool is_up() const { return socket_ >= 0; }

  /// Enqueues tasks into queue `q` of that shard; the ids when they are acknowledged.
  std::optional<std::vector<sequence>> enqueue(
    shard_id shard,
    producer_id producer,
    std::uint64_t number,
    std::size_t tasks,
    limit within = limit(1000));

  /// Gives the coordinator credits for tasks of queue `q`.
  void give_credits(std::uint32_t credits);

  /// The tasks that arrive until there are so many or time is up.
  std::vector<leased_task> receive_tasks(std::size_t count, limit within);

  /// Completes a task; whether that was acknowledged, now or before.
  bool complete(const leased_task& task, const std::string& result, limit within = limit(1000));

  /// The result of a task that has ended.
  std::optional<std::string> result_of(shard_id shard, sequence seq, limit within = limit(1000));

private:
  using time_point = std::chrono::steady_clock::time_point;

  void send(const protocol::wire_frame& frame);
  /// The next frame, after answers to pings.
  std::optional<protocol::wire_frame> receive(time_point end);
  template <class S>
  std::optional<protocol::frame<S>> receive_a(time_point end);
  bool read_bytes(char* to, std::size_t count, time_point end);
  void close();

  int socket_ = -1;
};

} // namespace codeq::test
