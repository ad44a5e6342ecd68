// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/node_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

namespace codeq::coordinator {
namespace {

class NodeLog : public testing::Test {
protected:
  NodeLog() { observe::init_log(observe::log_level::info); }

  ~NodeLog() override { observe::init_log(observe::log_level::warn); }

  /// Number of lines that the calls write.
  template <class Calls>
  static std::ptrdiff_t lines_of(Calls calls) {
    testing::internal::CaptureStderr();
    calls();
    observe::flush_log();
    const auto lines = testing::internal::GetCapturedStderr();
    return std::count(lines.begin(), lines.end(), '\n');
  }

  node_log log_;
};

TEST_F(NodeLog, SaysThatWorkersDisconnectAndNotThatToolsDo) {
  EXPECT_EQ(lines_of([&] { log_.disconnected(schema::Role::WORKER, "w"); }), 1);
  EXPECT_EQ(lines_of([&] { log_.disconnected(schema::Role::OPERATOR, "codeqctl"); }), 0);
  EXPECT_EQ(lines_of([&] { log_.disconnected(schema::Role::PRODUCER, "p"); }), 0);
}

TEST_F(NodeLog, SaysOnceAMinuteThatNodesOfOneAddressAreRefusedWhateverTheirPorts) {
  observe::line_pace::time_point now{};
  const auto refuse = [&](const std::string& remote, errc code = errc::unauthorized) {
    return lines_of([&] {
      for (int i = 0; i < 15; ++i)
        log_.refused(
          remote + ":" + std::to_string(1000 + i), {code, std::to_string(i)}, now);
    });
  };

  EXPECT_EQ(refuse("192.0.2.1"), 1);
  EXPECT_EQ(refuse("192.0.2.2"), 1);
  EXPECT_EQ(refuse("192.0.2.1", errc::unsupported), 1);
  now += refusal_line_interval - std::chrono::seconds(1);
  EXPECT_EQ(refuse("192.0.2.1"), 0);
  now += std::chrono::seconds(1);
  EXPECT_EQ(refuse("192.0.2.1"), 1);
}

} // namespace
} // namespace codeq::coordinator
