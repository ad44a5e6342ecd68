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

/// One report of a result request.
struct seen_report {
  sequence seq = 0;
  std::uint64_t token = 0;
  schema::Disposition what = schema::Disposition::ABANDON;
  bool started = true;
  std::string text;
  std::uint32_t checkpoint_number = 0;
  std::string checkpoint{};
};

/// A task that the fake coordinator grants.
struct grant {
  sequence seq = 1;
  std::uint64_t token = 1;
  std::string queue = "q";
  std::string payload = {};
  duration lease{10'000};
  bool redelivered = false;
  std::string group = {};
  /// Checkpoint of an earlier attempt.
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

  /// Connects the link, and answers the resume request of its one shard unless told otherwise.
  void connect(bool answer_resume = true);
  void disconnect(bool is_refused = false, error reason = {errc::disconnected, "cut"});

  void send_grant(const grant& task);
  /// Grants all tasks in one message.
  void send_grants(const std::vector<grant>& tasks);
  void send_lost(const grant& task);
  void send_cancel(const grant& task);
  void send_answer(
    const grant& task,
    schema::ErrorCode code = schema::ErrorCode::NONE,
    const std::string& context = {});
  /// Confirms that the attempt's checkpoints up to `number` are durable.
  void send_saved(const grant& task, std::uint32_t number);
  /// There is no room for the attempt's checkpoint of that number.
  void send_postponed(const grant& task, std::uint32_t number);
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

  /// The next report; several reports in one request are returned one by one.
  seen_report await_report();
  std::size_t await_credits();
  /// The queues of which the worker wants tasks, by its next change of its queues.
  std::vector<std::string> await_queues();

  /// The types of the frames received so far, up to and including the first of type `last`, without
  /// credits.
  std::vector<std::uint16_t> await_types_until(std::uint16_t last);

  handler_registry handlers;
  /// Shared with the fake connection, which may outlive a test that failed.
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
