// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::observe {
namespace {

class Log : public testing::Test {
protected:
  ~Log() override { init_log(log_level::warn); }

  /// The lines that the calls write, without the time at the beginning.
  template <class Calls>
  static std::string written(Calls calls) {
    testing::internal::CaptureStderr();
    calls();
    flush_log();
    auto text = testing::internal::GetCapturedStderr();
    auto begin = text.find(log_is_json() ? ',' : ' ');
    return begin == std::string::npos ? "" : text.substr(begin + 1);
  }
};

TEST(LogDeathTest, EnvironmentDecidesTheLevelOfAProgramThatSetsNone) {
  // A program of its own, because the level is read once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
    {
      ::setenv("CODEQ_LOG_LEVEL", "info", 1);
      CODEQ_LOG_INFO("producer says hello");
      std::exit(0);
    },
    ::testing::ExitedWithCode(0),
    "producer says hello");
}

TEST_F(Log, TextIsOneLineWithKeysAndValues) {
  init_log(log_level::info);

  EXPECT_EQ(
    written([] { CODEQ_LOG_INFO("task fails queue={} reason=\"{}\"", "mail", "no\nroute"); }),
    "info task fails queue=mail reason=\"no?route\"\n");
}

TEST_F(Log, QuotesInAQuotedValueAreEscaped) {
  init_log(log_level::info);

  EXPECT_EQ(
    written([] {
      CODEQ_LOG_INFO("task fails reason=\"{}\" queue={}", R"(a "b" in C:\dir)", "mail");
    }),
    R"(info task fails reason="a \"b\" in C:\\dir" queue=mail)"
    "\n");
}

TEST_F(Log, JsonHasAMemberForEachKey) {
  init_log(log_level::info, log_format::json);

  EXPECT_EQ(
    written([] {
      CODEQ_LOG_WARN(
        "task fails queue={} attempt={} last={} token={} reason=\"{}\" advice=\"look at it\"",
        "mail",
        3,
        true,
        std::uint64_t{1} << 60,
        "no route");
    }),
    R"("level":"warn","message":"task fails","queue":"mail","attempt":3,"last":true,)"
    R"("token":"1152921504606846976","reason":"no route","advice":"look at it"})"
    "\n");
}

TEST_F(Log, TextOfAPeerForgesNoMember) {
  init_log(log_level::info, log_format::json);

  EXPECT_EQ(
    written([] { CODEQ_LOG_INFO("{} connects name={}", "worker", "x\" admin=\"yes\xff\n"); }),
    R"("level":"info","message":"worker connects","name":"x\" admin=\"yes?\n"})"
    "\n");
}

TEST_F(Log, KeyOfAMemberMayBeAnArgument) {
  init_log(log_level::info, log_format::json);

  EXPECT_EQ(
    written([] { CODEQ_LOG_INFO("limit is reached {}={} times={}", "tenant", "shop", 2u); }),
    R"("level":"info","message":"limit is reached","tenant":"shop","times":2})"
    "\n");
}

TEST_F(Log, LevelIsChangedWhileTheProcessRuns) {
  init_log(log_level::warn);
  EXPECT_EQ(change_log_level("", "ops").value(), "warn");

  auto said = written([] { EXPECT_EQ(change_log_level("debug", "ops").value(), "debug"); });
  EXPECT_EQ(said, "warning log changes its level from=warn to=debug by=ops\n");
  EXPECT_TRUE(log_enabled(log_level::debug));

  said = written([] { EXPECT_EQ(change_log_level("off", "ops").value(), "off"); });
  EXPECT_EQ(said, "warning log changes its level from=debug to=off by=ops\n");
  said = written([] { EXPECT_EQ(change_log_level("info", "ops").value(), "info"); });
  EXPECT_EQ(said, "warning log changes its level from=off to=info by=ops\n");
}

TEST_F(Log, UnknownLevelAndFormatAreRefusedByName) {
  EXPECT_EQ(
    change_log_level("loud", "ops").error().context,
    "log level \"loud\" is none of trace, debug, info, warn, error, off");
  EXPECT_EQ(
    parse_log_format("xml").error().context, "log format \"xml\" is neither text nor json");
}

} // namespace
} // namespace codeq::observe
