// SPDX-License-Identifier: Apache-2.0
#include "codeq/ids.hpp"

#include "config/access_options.hpp"
#include "config/worker_config.hpp"
#include "unit/config/program_input.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::config {

using codeq::test::program_input;
using codeq::test::refusal;
using namespace std::chrono_literals;

namespace {

worker_config accepted(const program_input& input) {
  auto parsed = parse_worker(input.line());
  EXPECT_EQ(refusal(parsed), "");
  auto* config = std::get_if<worker_config>(&parsed);
  return config != nullptr ? *config : worker_config{};
}

std::string refused(const program_input& input) {
  return refusal(parse_worker(input.line()));
}

} // namespace

TEST(WorkerConfig, DefaultsNameTheWorkerAfterItsHost) {
  auto config = accepted({{"--handlers", "lib.so"}});

  EXPECT_TRUE(is_valid_name(config.name)) << config.name;
  EXPECT_EQ(config.coordinators, std::vector<std::string>{"127.0.0.1:7400"});
  EXPECT_EQ(config.slots, 8u);
  EXPECT_EQ(config.tenant, "default");
  EXPECT_EQ(config.drain, 30s);
}

TEST(WorkerConfig, QueuesAreNamesAndPatternsSeparatedByCommas) {
  auto config = accepted({{"--handlers", "l", "--queues", "mail,print-*", "--only", "*"}});

  EXPECT_EQ(config.only, (std::vector<std::string>{"mail", "print-*", "*"}));
  EXPECT_EQ(accepted({{"--exec", "*=cat"}}).programs, std::vector<std::string>{"*=cat"});
  EXPECT_EQ(
    accepted({{"--exec", "a-*=cat", "--queue", "a-*=slots:2"}}).queues.front().queue, "a-*");
  for (const char* wrong : {"mail,", "a*b", "**", ""})
    EXPECT_NE(refused({{"--handlers", "l", "--queues", wrong}}), "") << wrong;
}

TEST(WorkerConfig, MetricsOutsideOfTheMachineNeedATokenAndACertificate) {
  EXPECT_EQ(accepted({{"--handlers", "l", "--metrics", "127.0.0.1:0"}}).metrics, "127.0.0.1:0");
  EXPECT_EQ(
    refused({{"--handlers", "l", "--metrics", "0.0.0.0:9000"}}),
    "codeq-worker: --metrics: `0.0.0.0:9000` is not a loopback address; others need "
    "--metrics-token-file");
  EXPECT_EQ(
    refused(
      {{"--handlers", "l", "--metrics", "0.0.0.0:9000", "--metrics-token-file", "t"}}),
    "codeq-worker: --metrics: `0.0.0.0:9000` is not a loopback address; others need "
    "--metrics-cert and --metrics-key");
}

TEST(WorkerConfig, LogFormatIsTextOrJson) {
  EXPECT_EQ(accepted({{"--handlers", "l"}}).log_format, "text");
  EXPECT_EQ(accepted({{"--handlers", "l", "--log-format", "json"}}).log_format, "json");
  EXPECT_NE(refused({{"--handlers", "l", "--log-format", "xml"}}), "");
}

TEST(WorkerConfig, PrefetchFollowsTheSlotsUnlessGiven) {
  EXPECT_EQ(accepted({{"--handlers", "l", "--slots", "3"}}).prefetch, 3u);
  EXPECT_EQ(accepted({{"--handlers", "l", "--slots", "3", "--prefetch", "0"}}).prefetch, 0u);
}

TEST(WorkerConfig, HandlersAndProgramsMayBeRepeated) {
  auto config = accepted(
    {{"--handlers", "a.so", "--handlers", "b.so", "--exec", "q=sed s,a,b,", "--exec", "r=[x,y]"}});

  EXPECT_EQ(config.libraries, (std::vector<std::string>{"a.so", "b.so"}));
  EXPECT_EQ(config.programs, (std::vector<std::string>{"q=sed s,a,b,", "r=[x,y]"}));
}

TEST(WorkerConfig, TheEnvironmentGivesOneValuePerLine) {
  auto config = accepted({{}, {{"CODEQ_EXEC", "q=cat\nr=wc -l\n"}}});

  EXPECT_EQ(config.programs, (std::vector<std::string>{"q=cat", "r=wc -l"}));
}

TEST(WorkerConfig, AWorkerWithoutHandlersIsRefused) {
  EXPECT_EQ(
    refused({{}}), "codeq-worker: nothing to do; give --handlers LIB or --exec QUEUE=COMMAND");
}

TEST(WorkerConfig, AProgramNeedsAQueueAndACommand) {
  EXPECT_EQ(
    refused({{"--exec", "cat"}}),
    "codeq-worker: --exec: `cat` is not QUEUE=COMMAND with a queue of "
    "1 to 128 letters, digits, `.`, `_` or `-`, or a pattern such as print-* or *");
  EXPECT_EQ(
    refused({{"--exec", "q= "}}), "codeq-worker: --exec: `q= ` has no command behind the `=`");
}

TEST(WorkerConfig, ErrorsNameOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(
    refused({{"--handlers", "l", "--drain", "13h"}}),
    "codeq-worker: --drain: `13h` is outside 0s to 12h");
  EXPECT_EQ(
    refused({{"--handlers", "l", "--name", "a b"}}),
    "codeq-worker: --name: `a b` is not a name of 1 to 128 letters, digits, `.`, `_` or `-`");
  EXPECT_EQ(
    refused({{"--handlers", "l"}, {{"CODEQ_COORDINATOR", "here"}}}),
    "codeq-worker: CODEQ_COORDINATOR (environment): `here` is not an address and port, for example "
    "127.0.0.1:7400");
}

TEST(WorkerConfig, TokenIsTakenFromAFileOrTheEnvironment) {
  std::map<std::string, std::string> secret{{"CODEQ_TOKEN", "secret"}};
  auto from_environment = accepted({{"--handlers", "lib.so"}, secret});
  auto from_file = accepted({{"--handlers", "lib.so", "--token-file", "f"}, secret});
  secret["CODEQ_TASK_ID"] = "x";
  auto in_a_handler = accepted({{"--handlers", "lib.so"}, secret});

  EXPECT_EQ(from_environment.access.token, "secret");
  EXPECT_EQ(from_file.access.token, "");
  EXPECT_EQ(from_file.access.token_file, "f");
  EXPECT_EQ(in_a_handler.access.token, "");
  EXPECT_NE(refused({{"--handlers", "lib.so", "--token", "secret"}}), "");
}

TEST(WorkerConfig, QueuesAreServedAsTheOperatorSays) {
  auto config = accepted(
    {{"--handlers",
      "l",
      "--queue",
      "mail=slots:2,weight:3,isolation:process",
      "--queue",
      "sms=weight:9",
      "--only",
      "mail"}});

  ASSERT_EQ(config.queues.size(), 2u);
  EXPECT_EQ(config.queues[0].queue, "mail");
  EXPECT_EQ(config.queues[0].slots, 2u);
  EXPECT_EQ(config.queues[0].weight, 3u);
  EXPECT_EQ(config.queues[0].isolation, "process");
  EXPECT_EQ(config.queues[1].slots, 0u);
  EXPECT_EQ(config.queues[1].isolation, "shared");
  EXPECT_EQ(config.only, std::vector<std::string>{"mail"});
}

TEST(WorkerConfig, WrongWishForAQueueIsNamed) {
  auto refusal_of = [](const char* wish) {
    return refused({{"--handlers", "l", "--queue", wish}});
  };

  EXPECT_EQ(
    refusal_of("mail"),
    "codeq-worker: --queue: `mail` is not QUEUE=... with a queue of 1 to 128 letters, digits, `.`, "
    "`_` or `-`, or a pattern such as print-* or *");
  EXPECT_EQ(
    refusal_of("mail=speed:2"),
    "codeq-worker: --queue: queue mail: `speed:2` is not slots:N, weight:N or isolation:WHERE");
  EXPECT_NE(refusal_of("mail=slots:0").find("queue mail: "), std::string::npos);
  EXPECT_NE(refusal_of("mail=weight:1001").find("queue mail: "), std::string::npos);
  EXPECT_NE(refusal_of("mail=isolation:moon").find("queue mail: "), std::string::npos);
}

TEST(AccessOptions, RefusalsForTheTokenNameTheOptionsThatHelp) {
  auto advised = [](errc code, const char* text) { return with_advice({code, text}).context; };

  EXPECT_EQ(
    advised(errc::unauthorized, "no connection to x: this coordinator requires a token"),
    "no connection to x: this coordinator requires a token; give one with --token-file or "
    "CODEQ_TOKEN");
  EXPECT_EQ(
    advised(errc::unauthorized, "the token of w1 does not allow to claim from queue q of tenant t"),
    "the token of w1 does not allow to claim from queue q of tenant t; if the token is for another "
    "tenant, give that with --tenant; if it does not name the queue, serve others with --queues, "
    "or make a token that does");
  EXPECT_EQ(advised(errc::timeout, "requires a token"), "requires a token");
  EXPECT_EQ(advised(errc::unauthorized, "it is not a worker's"), "it is not a worker's");
}

} // namespace codeq::config
