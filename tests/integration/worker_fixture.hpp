// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "support/channel.hpp"
#include "worker/host/dispatcher_driver.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace codeq::test {

/// One line of a result request, as a coordinator reads it.
struct seen_report {
  sequence seq = 0;
  std::uint64_t token = 0;
  schema::Disposition what = schema::Disposition::ABANDON;
  bool started = true;
  std::string text;
  std::uint32_t checkpoint_number = 0;
  std::string checkpoint{};
};

/// A task that the pretended coordinator grants.
struct grant {
  sequence seq = 1;
  std::uint64_t token = 1;
  std::string queue = "q";
  std::string payload = {};
  duration lease{10'000};
  bool redelivered = false;
  std::string group = {};
  /// What an earlier attempt saved.
  std::string checkpoint = {};
};

/// The dispatcher as it ships and a connection that is the test's: what the dispatcher
/// sends is read from a channel, what a coordinator would send is sent to it.
class worker_fixture : public testing::Test {
protected:
  worker_fixture();
  ~worker_fixture() override;

  /// Starts the dispatcher with the handlers registered so far.
  void start(std::size_t slots = 2, std::size_t prefetch = 2);

  /// The link is up; answers the resume of its one shard unless told not to.
  void connect(bool answer_resume = true);
  void disconnect(bool final = false, error reason = {errc::disconnected, "cut"});

  void send_grant(const grant& task);
  /// In one message.
  void send_grants(const std::vector<grant>& tasks);
  void send_lost(const grant& task);
  void send_cancel(const grant& task);
  void send_answer(
    const grant& task,
    schema::ErrorCode code = schema::ErrorCode::NONE,
    const std::string& context = {});
  /// What the attempt saved up to that number is durable.
  void send_saved(const grant& task, std::uint32_t number);
  void send_resumed();
  void drain(duration limit);

  /// The next frame of that type; frames of other types before it are dropped.
  template <class S>
  protocol::frame<S> await() {
    while (auto wire = frames->pop())
      if (wire->type == protocol::frame_type<S>)
        return protocol::frame<S>::parse(wire->body).value();
    ADD_FAILURE() << "no frame of the type came";
    return {};
  }

  /// The next report; several in one request are given one by one.
  seen_report await_report();
  std::size_t await_credits();
  /// The queues that the worker says it wants from here on.
  std::vector<std::string> await_queues();

  /// The types of what came so far, up to and with the first frame of `last`, without credits.
  std::vector<std::uint16_t> await_types_until(std::uint16_t last);

  handler_registry handlers;
  /// Shared with the pretended connection, which may outlive a test that failed.
  std::shared_ptr<channel<protocol::wire_frame>> frames;
  std::shared_ptr<channel<result<void>>> ends;
  actors::dispatcher_actor dispatcher;

private:
  template <class S>
  void send_frame(protocol::frame<S> message) {
    caf::anon_send(dispatcher, actors::from_link<S>{0, std::move(message)});
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  actors::connection_actor connection_;
  std::vector<seen_report> unread_;
};

} // namespace codeq::test
