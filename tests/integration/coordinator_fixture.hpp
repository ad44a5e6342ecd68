// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/journal_driver.hpp"
#include "coordinator/actors/log_syncer.hpp"
#include "coordinator/actors/reader_driver.hpp"
#include "coordinator/actors/shard_driver.hpp"
#include "storage/memory/memory_store.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace codeq::test {

/// The messages that a fake session received, in words.
struct session_log {
  static constexpr const char* name = "pretended session";
  std::shared_ptr<std::vector<std::string>> lines;
};

/// A clock that shows the virtual time of the actor system.
class virtual_clock final : public base::clock {
public:
  explicit virtual_clock(const deterministic_system& system) : system_(system) {}

  [[nodiscard]] instant now() override {
    auto since = std::chrono::duration_cast<duration>(system_.now().time_since_epoch());
    return {monotonic_time{since}, timestamp{since}};
  }

private:
  const deterministic_system& system_;
};

/// One shard's actor with its journal and reader on a store in memory, under virtual time, and
/// sessions that record the messages they are sent.
class coordinator_fixture : public testing::Test {
protected:
  coordinator_fixture();

  /// Starts the shard. With `held` the journal commits only when `commit_all` is called.
  void start(bool held = false);

  /// Starts the shard with `numbers` numbers left of its epoch.
  void start_near_the_end(std::uint64_t numbers, bool held = false);

  /// Sends the shard the reply of a held journal to a request for an epoch.
  void raise_epoch(std::uint32_t epoch);

  /// Attaches a session; an empty `name` means a producer.
  core::peer_id attach(
    const std::string& name,
    std::uint64_t incarnation = 1,
    std::shared_ptr<const security::principal> bearer = nullptr);

  /// Sends a frame as a session does, for the bearer of a token.
  template <class S>
  void send(
    core::peer_id peer,
    const protocol::frame<S>& message,
    std::shared_ptr<const security::principal> bearer) {
    caf::anon_send(shard_, coordinator::peer_request{peer, message, std::move(bearer)});
    system_.run();
  }

  void enqueue(
    core::peer_id peer,
    std::uint64_t number,
    std::size_t tasks,
    duration lease,
    coordinator::enqueue_share share = nullptr);
  void detach(core::peer_id peer);
  void add_credits(core::peer_id peer, std::uint32_t credits);
  void complete(core::peer_id peer, sequence seq, std::uint64_t token);
  /// Completes with one follow-up in that group.
  void complete_with(core::peer_id peer, sequence seq, std::uint64_t token, std::string group);

  /// Introduces the shard, number 0 of 2, to a fake shard 1.
  void meet_neighbour();

  /// The messages that the fake shard was sent since the last call.
  std::vector<std::string> take_of_neighbour() { return std::exchange(*neighbour_log_, {}); }

  void beat(core::peer_id peer, sequence seq, std::uint64_t token);

  /// Commits the writes that a held journal has gathered.
  void commit_all();

  void advance(duration by) { system_.advance(by); }

  [[nodiscard]] std::int64_t gauge(const std::string& name);

  /// The messages that the session was sent since the last call.
  std::vector<std::string> take(core::peer_id peer);

  deterministic_system system_;
  std::shared_ptr<storage::memory_store> store_ = std::make_shared<storage::memory_store>();
  std::shared_ptr<storage::retention_horizons> horizons_ =
    std::make_shared<storage::retention_horizons>();
  storage::durability mode_ = storage::durability::sync;
  coordinator::shard_internal_actor shard_;
  /// The state of the shard's actor.
  std::shared_ptr<core::shard_state> state_;
  /// Number of epochs requested from a held journal.
  std::shared_ptr<int> epochs_asked_ = std::make_shared<int>(0);

private:
  void spawn_shard(bool held);

  [[nodiscard]] coordinator::journal_actor hold_journal();

  std::map<core::peer_id, std::shared_ptr<std::vector<std::string>>> logs_;
  std::shared_ptr<std::deque<coordinator::commit_request>> held_ =
    std::make_shared<std::deque<coordinator::commit_request>>();
  std::shared_ptr<std::vector<std::string>> neighbour_log_ =
    std::make_shared<std::vector<std::string>>();
  core::peer_id last_peer_ = 0;
};

} // namespace codeq::test
