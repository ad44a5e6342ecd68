// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_question.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace codeq::coordinator {
namespace {

/// A question whose answers the test gives.
class SharedQuestion : public testing::Test {
protected:
  SharedQuestion() {
    question_.connect([this](auto done) { open_.push_back(std::move(done)); });
  }

  void ask() {
    question_.ask([this](int answer) { told_.push_back(answer); });
  }

  shared_question<int> question_;
  std::vector<std::function<void(const int&)>> open_;
  std::vector<int> told_;
};

TEST_F(SharedQuestion, ThoseWhoAskWhileItIsOpenShareTheNextAnswer) {
  ask();
  ask();
  ask();
  ASSERT_EQ(1u, open_.size());

  open_[0](7);
  EXPECT_EQ((std::vector<int>{7}), told_);
  ASSERT_EQ(2u, open_.size());
  open_[1](8);

  EXPECT_EQ((std::vector<int>{7, 8, 8}), told_);
  EXPECT_EQ(2u, open_.size());
}

} // namespace
} // namespace codeq::coordinator
