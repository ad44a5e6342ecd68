// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "protocol/peer_messages.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace codeq::protocol {
namespace {

/// Number of tasks in a frame.
std::size_t tasks_in(const wire_frame& frame) {
  auto count = task_batch::parse(frame.body)->read([](auto batch) -> result<std::size_t> {
    std::size_t sum = 0;
    for (auto run : batch.getRuns())
      sum += run.getCount();
    return sum;
  });
  return *count;
}

/// One task per run, as tasks come that were given back.
std::vector<wire_frame> pack(std::size_t runs, std::size_t body_size) {
  core::tasks_granted granted;
  granted.redelivered = true;
  std::vector<core::encoded_tasks> bodies;
  for (std::size_t i = 0; i < runs; ++i) {
    core::granted_run run;
    run.first = i + 1;
    run.count = 1;
    run.attempts = {2};
    run.queue = {
      std::string(limits::name_bytes_max, 't'), std::string(limits::name_bytes_max, 'q')};
    granted.runs.push_back(std::move(run));
    bodies.push_back(test::encode_bodies(1, body_size));
  }
  std::vector<wire_frame> written;
  write_tasks(shard_id{3}, granted, bodies, [&](const wire_frame& f) { written.push_back(f); });
  return written;
}

TEST(WriteTasks, EachFitsAFrame) {
  for (std::size_t body_size : {std::size_t{8}, tuning::segment_bytes_max, std::size_t{1} << 20}) {
    auto runs = body_size == 8 ? std::size_t{50'000} : std::size_t{100};

    auto sent = pack(runs, body_size);

    std::size_t count = 0;
    std::size_t largest = 0;
    for (const auto& frame : sent) {
      count += tasks_in(frame);
      largest = std::max(largest, frame.body.size());
    }
    EXPECT_EQ(count, runs);
    EXPECT_LE(largest, tuning::frame_bytes_max) << "bodies of " << body_size;
  }
}

TEST(WriteTasks, FewTasksShareOneFrame) {
  auto sent = pack(10, 100);

  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(tasks_in(sent[0]), 10u);
}

TEST(WriteTasks, NothingIsWrittenForNothing) {
  EXPECT_TRUE(pack(0, 0).empty());
}

TEST(ReadRequest, GatewaySendsForLeasesAndOperatorsAndPassesClaimsOn) {
  const auto may = [](schema::Role role, const wire_frame& frame) {
    return read_request(role, frame).has_value();
  };
  const auto acting = acting_for::build([](auto r) { r.setSubject("ann"); }).to_wire();
  const auto passed_on = claim_at::build([](auto r) { r.setDetach(); }).to_wire();
  const auto results = result_request::build([](auto) {}).to_wire();
  const auto claims = claim_request::build([](auto) {}).to_wire();
  const auto status = status_request::build([](auto) {}).to_wire();

  for (const auto& frame : {acting, passed_on, results, status})
    EXPECT_TRUE(may(schema::Role::GATEWAY, frame));
  EXPECT_FALSE(may(schema::Role::GATEWAY, claims));
  EXPECT_FALSE(may(schema::Role::OPERATOR, acting));
  EXPECT_FALSE(may(schema::Role::WORKER, acting));
  EXPECT_FALSE(may(schema::Role::OPERATOR, passed_on));
  EXPECT_FALSE(may(schema::Role::WORKER, passed_on));
  EXPECT_FALSE(may(schema::Role::PRODUCER, passed_on));
  EXPECT_FALSE(may(schema::Role::OPERATOR, results));
}

} // namespace
} // namespace codeq::protocol
