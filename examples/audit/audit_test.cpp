// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Audit, EveryTaskBecomesALine) {
  auto file = testing::TempDir() + "audit_test.log";
  std::remove(file.c_str());
  setenv("CODEQ_AUDIT_FILE", file.c_str(), 1);
  codeq::testing::testbed bed(codeq::testing::registered_handlers());

  auto first = bed.enqueue({.queue = "audit", .payload = "Ada came"}).value();
  auto second = bed.enqueue({.queue = "audit", .payload = "Ada left"}).value();

  EXPECT_EQ(
    content_of(file),
    to_string(first.id) + " 1 Ada came\n" + to_string(second.id) + " 1 Ada left\n");
}

TEST(Audit, FileThatCannotBeWrittenIsTriedAgainLater) {
  setenv("CODEQ_AUDIT_FILE", "/no/such/folder/audit.log", 1);
  codeq::testing::testbed bed(codeq::testing::registered_handlers());
  auto task = bed.enqueue({.queue = "audit", .payload = "Ada came"}).value().id;
  EXPECT_EQ(bed.status(task).value().state, codeq::task_state::scheduled);

  auto file = testing::TempDir() + "audit_test_later.log";
  setenv("CODEQ_AUDIT_FILE", file.c_str(), 1);
  bed.advance(std::chrono::minutes(1));

  EXPECT_EQ(bed.status(task).value().state, codeq::task_state::completed);
}

} // namespace
