// SPDX-License-Identifier: Apache-2.0
#include "node/coordinator_options.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace codeq::node {
namespace {

coordinator_node_options some_options() {
  coordinator_node_options options;
  options.data = "data";
  options.development = true;
  options.listen = "127.0.0.1:4711";
  options.cluster.name = "prod";
  options.cluster.etcd = "http://127.0.0.1:2379";
  options.cluster.zone = "rack-1";
  return options;
}

TEST(CoordinatorOptions, WhatOthersCannotReadInEtcdIsRefused) {
  EXPECT_TRUE(check(some_options()));

  auto options = some_options();
  options.cluster.zone = "rack 1";
  auto refused = check(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
    refused.error().context, "zone is rack 1; it must have 1..128 of A-Z a-z 0-9 . _ -");

  options = some_options();
  options.cluster.advertise = std::string(260, 'a') + ":4711";
  refused = check(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().context.find("at most 255 printable"), std::string::npos)
    << refused.error().context;
}

TEST(CoordinatorOptions, NumberOfCopiesIsOneThatAClusterMayHaveOrNone) {
  auto options = some_options();
  for (const std::uint32_t replicas : {0u, 1u, 3u}) {
    options.cluster.replicas = replicas;
    EXPECT_TRUE(check(options)) << replicas;
  }

  options.cluster.replicas = 4;
  const auto refused = check(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context, "replicas is 4; it must be 1..3");
}

} // namespace
} // namespace codeq::node
