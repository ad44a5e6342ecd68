// SPDX-License-Identifier: Apache-2.0
#include "codeq/worker_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace codeq::test {
namespace {

using testing::HasSubstr;

worker_node_options good_options() {
  worker_node_options options;
  // Nothing listens there; the node keeps trying to connect.
  options.coordinators = {"127.0.0.1:1"};
  options.name = "w1";
  options.handlers.handle("q", [](const task&) { return outcome::completed(); });
  return options;
}

struct refusal {
  std::function<void(worker_node_options&)> spoil;
  const char* said;
};

TEST(WorkerNode, WrongOptionIsNamedWithItsLimit) {
  const std::vector<refusal> refusals = {
    {[](auto& o) { o.coordinators.clear(); }, "coordinators is empty"},
    {[](auto& o) { o.coordinators = {"127.0.0.1:1", "nowhere"}; },
     "coordinators: \"nowhere\" is not host:port"},
    {[](auto& o) { o.coordinators = {"nowhere:0"}; },
     "coordinators: \"nowhere:0\" is not host:port with a port from 1 on"},
    {[](auto& o) { o.queues["q"].run_in = isolation::process; }, "isolation_program is empty"},
    {[](auto& o) { o.name = "a b"; }, "name is `a b`"},
    {[](auto& o) { o.slots = 0; }, "slots is 0; it must be 1..4096"},
    {[](auto& o) { o.slots = 4097; }, "slots is 4097; it must be 1..4096"},
    {[](auto& o) { o.prefetch = 5000; }, "prefetch is 5000; it must be 0..4096"},
    {[](auto& o) { o.handlers = {}; }, "no queue is handled"},
    {[](auto& o) { o.programs = {"q=true"}; },
     "queue `q` has two handlers, from this process and program true; it must have one"},
    {[](auto& o) { o.handlers.handle("a/b", {}); }, "queue: `a/b` is no queue or pattern"},
    {[](auto& o) { o.handlers.handle("e", {}); }, "queue `e`: the handler is empty"},
    {[](auto& o) {
       for (int i = 0; i < 200; ++i)
         o.handlers.handle(
           "queue-" + std::to_string(i), [](const task&) { return outcome::completed(); });
     },
     "it must not pass 4096"},
  };

  for (const auto& [spoil, said] : refusals) {
    auto options = good_options();
    spoil(options);

    auto node = worker_node::start(std::move(options));

    ASSERT_FALSE(node) << said;
    EXPECT_EQ(node.error().code, errc::invalid_argument) << said;
    EXPECT_THAT(node.error().context, HasSubstr(said));
  }
}

TEST(WorkerNode, MissingLibraryProgramAndTokenAreRefused) {
  auto with_library = good_options();
  with_library.libraries = {"/no/such/lib.so"};
  auto with_program = good_options();
  with_program.programs = {"p=no-such-program"};

  auto with_token = good_options();
  with_token.access.token_file = "/no/such/token";

  for (auto* options : {&with_library, &with_program, &with_token}) {
    auto node = worker_node::start(std::move(*options));

    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, errc::invalid_argument);
  }
}

TEST(WorkerNode, DrainsWithoutACoordinator) {
  auto node = worker_node::start(good_options());
  ASSERT_TRUE(node) << to_string(node.error());

  (*node)->drain();

  EXPECT_TRUE((*node)->wait());
}

TEST(WorkerNode, EndsWhenDestroyed) {
  auto node = worker_node::start(good_options());
  ASSERT_TRUE(node);

  node->reset();
}

} // namespace
} // namespace codeq::test
