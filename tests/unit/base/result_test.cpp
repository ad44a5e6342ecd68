// SPDX-License-Identifier: Apache-2.0
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq {
namespace {

template <class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(Result, ValueOfARefusalThrowsItsText) {
  result<std::string> refused = error{errc::queue_full, "queue `mail` holds 10 tasks"};
  result<void> failed = error{errc::timeout, "no answer in 5 s"};

  EXPECT_EQ(
    thrown_by([&] { static_cast<void>(refused.value()); }),
    "queue_full: queue `mail` holds 10 tasks");
  EXPECT_EQ(
    thrown_by([&] { static_cast<void>(refused->size()); }),
    "queue_full: queue `mail` holds 10 tasks");
  EXPECT_EQ(thrown_by([&] { failed.value(); }), "timeout: no answer in 5 s");
  EXPECT_THROW(static_cast<void>(*refused), bad_result_access);
}

TEST(Result, ThrownExceptionHasTheError) {
  result<int> refused = error{errc::queue_full, "full"};

  try {
    static_cast<void>(refused.value());
    FAIL();
  } catch (const bad_result_access& e) {
    EXPECT_EQ(e.error(), refused.error());
  }
}

TEST(Result, ValueOrTakesTheOtherInPlaceOfAnError) {
  result<std::string> refused = error{errc::queue_full, "full"};

  EXPECT_EQ(refused.value_or("none"), "none");
  EXPECT_EQ(result<std::string>("some").value_or("none"), "some");
}

TEST(Result, ErrorOfAValueThrows) {
  result<int> seven = 7;

  EXPECT_EQ(seven.value(), 7);
  EXPECT_EQ(
    thrown_by([&] { static_cast<void>(seven.error()); }),
    "this codeq::result has a value and no error");
}

// Each of these has to compile without a warning about members that are left out.
TEST(TaskSpec, MembersMayBeLeftOut) {
  EXPECT_EQ(task_spec{.queue = "q"}.payload.size(), 0u);
  EXPECT_EQ(task_spec{.payload = "x"}.queue, "");
  EXPECT_EQ(retry_policy{.base = duration{5}}.kind, retry_kind::exponential_jitter);
}

} // namespace
} // namespace codeq
