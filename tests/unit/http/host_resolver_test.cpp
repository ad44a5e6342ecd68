// SPDX-License-Identifier: Apache-2.0
#include "http/server/host_resolver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

namespace codeq::http {
namespace {

using namespace std::chrono_literals;

/// A resolver whose look-ups of `slow` hosts block until the test releases them.
class HostResolver : public testing::Test {
protected:
  ~HostResolver() override { let_go_.set_value(); }

  std::future<result<host_addresses>>
  ask(const std::string& tenant, const std::string& host, duration timeout = 10s) {
    auto found = std::make_shared<std::promise<result<host_addresses>>>();
    resolver_.resolve({tenant, host, timeout}, [found](const result<host_addresses>& all) {
      found->set_value(all);
    });
    return found->get_future();
  }

  std::promise<void> let_go_;
  std::shared_ptr<std::atomic<int>> look_ups_ = std::make_shared<std::atomic<int>>(0);
  host_resolver resolver_{
    [count = look_ups_,
     gate = let_go_.get_future().share()](const std::string& host) -> result<host_addresses> {
      ++*count;
      if (host.starts_with("slow"))
        gate.wait();
      return host_addresses{"192.0.2.1"};
    }};
};

TEST_F(HostResolver, SlowHostsOfOneTenantDelayNoOther) {
  std::vector<std::future<result<host_addresses>>> slow;
  for (int i = 0; i < 200; ++i)
    slow.push_back(ask("mallory", "slow" + std::to_string(i)));

  auto fast = ask("acme", "fast");

  ASSERT_EQ(std::future_status::ready, fast.wait_for(5s));
  EXPECT_EQ(host_addresses{"192.0.2.1"}, *fast.get());
}

TEST_F(HostResolver, AHostIsLookedUpOnceForAllWhoAsk) {
  auto first = ask("acme", "slow");
  auto second = ask("acme", "slow");
  let_go_.set_value();
  let_go_ = {};

  ASSERT_EQ(std::future_status::ready, first.wait_for(5s));
  ASSERT_EQ(std::future_status::ready, second.wait_for(5s));

  EXPECT_EQ(1, *look_ups_);
}

TEST_F(HostResolver, ALookUpThatDoesNotBeginInTimeIsOver) {
  for (int i = 0; i < 20; ++i)
    ask("mallory", "slow" + std::to_string(i));
  auto late = ask("mallory", "fast", 0s);
  let_go_.set_value();
  let_go_ = {};

  ASSERT_EQ(std::future_status::ready, late.wait_for(5s));

  EXPECT_EQ(errc::timeout, late.get().error().code);
}

} // namespace
} // namespace codeq::http
