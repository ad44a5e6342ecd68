// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "support/temporary_directory.hpp"
#include "worker/process/exec_handler.hpp"
#include "worker/process/process_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

namespace codeq::worker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class ExecHandler : public testing::Test {
protected:
  ExecHandler() {
    attempt.id = {shard_id{3}, 42};
    attempt.queue = "thumbs";
    attempt.attempt = 2;
    attempt.max_attempts = 5;
    attempt.token = fencing_token{77};
    attempt.cancel = std::make_shared<cancellation>();
  }

  outcome run(const std::string& script) {
    exec_command command{"thumbs", "/bin/sh", {"sh", "-c", script, "sh", fifo()}};
    return make_exec_handler(command, kill_grace)(attempt);
  }

  /// A named pipe. The script writes to it when it has reached the point that the test waits for,
  /// so that no test sleeps.
  std::string fifo() {
    auto path = (directory.path() / "fifo").string();
    mkfifo(path.c_str(), 0600);
    return path;
  }

  std::string read_fifo() {
    std::ifstream pipe(fifo());
    std::string line;
    std::getline(pipe, line);
    return line;
  }

  test::temporary_directory directory;
  task attempt;
  duration kill_grace = 10s;
};

TEST_F(ExecHandler, PayloadGoesInAndOutputIsTheResult) {
  attempt.payload = bytes(std::string("a\0b", 3));

  auto ended = run("cat; printf x");

  EXPECT_EQ(ended.what(), disposition::completed);
  EXPECT_EQ(ended.text(), std::string("a\0bx", 4));
}

TEST_F(ExecHandler, LinesOfStandardErrorGoToTheLogWithTheTask) {
  observe::init_log(observe::log_level::info);
  testing::internal::CaptureStderr();

  auto ended = run("echo one >&2; printf 'two\\r\\n\\nthree' >&2; exit 1");

  auto log = testing::internal::GetCapturedStderr();
  observe::init_log(observe::log_level::warn);
  auto id = to_string(attempt.id);
  for (const char* line : {"one", "two", "three"})
    EXPECT_THAT(
      log,
      HasSubstr(
        "info program says task=" + id + " queue=thumbs attempt=2 left_out=0 text=\"" + line
        + "\"\n"));
  EXPECT_EQ(ended.text(), "exit status 1: one\ntwo\r\n\nthree");
}

TEST_F(ExecHandler, LogLinesOfAProgramAreBounded) {
  observe::init_log(observe::log_level::info);
  testing::internal::CaptureStderr();

  static_cast<void>(run("for i in $(seq 1000); do echo $i >&2; done"));
  static_cast<void>(run("head -c 3000 /dev/zero | tr '\\0' x >&2"));

  auto log = testing::internal::GetCapturedStderr();
  observe::init_log(observe::log_level::warn);
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 200);
}

TEST(LineReader, LongLineIsCutWithAMark) {
  std::vector<std::string> lines;
  line_reader reader(4, [&](std::string_view line) { lines.emplace_back(line); });

  reader.append("ab");
  reader.append("cdef\n\ng");
  reader.append("h\n");
  reader.append("end");
  reader.finish();

  EXPECT_THAT(lines, testing::ElementsAre("abcd... [cut from 6 bytes]", "gh", "end"));
}

TEST_F(ExecHandler, LargePayloadAndResultFlowAtOnce) {
  std::string payload(limits::payload_bytes_max, 'x');
  attempt.payload = bytes(payload);

  auto ended = run("cat");

  EXPECT_EQ(ended.what(), disposition::completed);
  EXPECT_EQ(ended.text(), payload);
}

TEST_F(ExecHandler, ProgramNeedNotReadItsInput) {
  attempt.payload = bytes(std::string(limits::payload_bytes_max, 'x'));

  auto ended = run("exec <&-; echo done");

  EXPECT_EQ(ended.what(), disposition::completed);
  EXPECT_EQ(ended.text(), "done\n");
}

TEST_F(ExecHandler, EnvironmentSaysWhatItWorksOnAndHidesTheWorkersSettings) {
  setenv("CODEQ_SECRET", "hidden", 1);

  auto ended =
    run("echo $CODEQ_TASK_ID $CODEQ_QUEUE $CODEQ_ATTEMPT $CODEQ_MAX_ATTEMPTS $CODEQ_TOKEN "
        "${CODEQ_SECRET-unset}");

  unsetenv("CODEQ_SECRET");
  EXPECT_EQ(ended.text(), to_string(attempt.id) + " thumbs 2 5 77 unset\n");
}

TEST_F(ExecHandler, OtherExitStatusIsAFailureWithTheErrorText) {
  auto ended = run("echo ignored; echo bad input >&2; exit 3");

  EXPECT_EQ(ended.what(), disposition::failed);
  EXPECT_EQ(ended.text(), "exit status 3: bad input");
}

TEST_F(ExecHandler, Exit75IsANackByTheRetryPolicy) {
  auto ended = run("exit 75");

  EXPECT_EQ(ended.what(), disposition::nack);
  EXPECT_EQ(ended.delay(), std::nullopt);
}

TEST_F(ExecHandler, SignalIsNamed) {
  auto ended = run("kill -SEGV $$");

  EXPECT_EQ(ended.what(), disposition::failed);
  EXPECT_THAT(ended.text(), StartsWith("killed by signal 11"));
}

TEST_F(ExecHandler, OnlyTheEndOfALongErrorTextIsKept) {
  auto ended = run("head -c 100000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1");

  EXPECT_LE(ended.text().size(), limits::error_text_bytes_max);
  EXPECT_THAT(ended.text(), StartsWith("exit status 1: [cut from 100008 bytes] ...x"));
  EXPECT_THAT(
    ended.text(),
    testing::EndsWith("x"
                      "the end"));
}

TEST_F(ExecHandler, OutputOverTheLimitKillsTheProgramForGood) {
  auto ended = run("cat /dev/zero");

  EXPECT_EQ(ended.what(), disposition::failed_permanently);
  EXPECT_THAT(ended.text(), HasSubstr("1048576"));
}

TEST_F(ExecHandler, SignalsAreAsInAFreshProgram) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);

  auto ended = run("grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\t 0\\n'");

  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(ended.text(), "SigBlk:SigIgn:");
}

TEST_F(ExecHandler, NoOtherDescriptorIsInherited) {
  int leaked = open("/dev/null", O_RDONLY);
  ASSERT_GE(leaked, 3);

  auto ended = run("ls /proc/self/fd | tr '\\n' ' '");

  close(leaked);
  // The fourth descriptor is the directory that ls reads.
  EXPECT_EQ(ended.text(), "0 1 2 3 ");
}

TEST_F(ExecHandler, CancellationTerminatesTheProgram) {
  auto ended = std::async(std::launch::async, [this] {
    return run("trap 'echo stopped >&2; exit 9' TERM; echo up >$1; while :; do :; done");
  });
  EXPECT_EQ(read_fifo(), "up");

  attempt.cancel->request();

  EXPECT_EQ(ended.get().text(), "exit status 9: stopped");
}

TEST_F(ExecHandler, CancellationBeforeTheStartCounts) {
  attempt.cancel->request();

  auto ended = run("sleep 600");

  EXPECT_THAT(ended.text(), StartsWith("killed by signal 15"));
}

TEST_F(ExecHandler, ProgramThatIgnoresTheCancellationIsKilledAfterItsGrace) {
  kill_grace = 100ms;
  auto ended = std::async(
    std::launch::async, [this] { return run("trap '' TERM; echo up >$1; while :; do :; done"); });
  EXPECT_EQ(read_fifo(), "up");

  attempt.cancel->request();

  EXPECT_THAT(ended.get().text(), StartsWith("killed by signal 9"));
}

TEST_F(ExecHandler, ProgramThatComplainsWithoutEndCanBeCancelled) {
  auto ended = std::async(std::launch::async, [this] { return run("echo up >$1; exec yes >&2"); });
  EXPECT_EQ(read_fifo(), "up");

  attempt.cancel->request();

  EXPECT_THAT(ended.get().text(), StartsWith("killed by signal 15"));
}

TEST_F(ExecHandler, ChildThatLeftTheGroupAndWritesWithoutEndHoldsNothingUp) {
  auto ended = run("setsid yes >&2 & echo done");

  EXPECT_EQ(ended.text(), "done\n");
}

TEST_F(ExecHandler, EndThatNobodyLearnsIsAFailureWithTheReason) {
  auto before = signal(SIGCHLD, SIG_IGN);

  auto ended = run("exit 0");

  signal(SIGCHLD, before);
  EXPECT_EQ(ended.what(), disposition::failed);
  EXPECT_THAT(ended.text(), HasSubstr("SIGCHLD"));
}

TEST_F(ExecHandler, ChildrenThatOutliveTheProgramAreKilled) {
  auto started = std::chrono::steady_clock::now();

  auto ended = run("sleep 600 & echo $!");

  EXPECT_LT(std::chrono::steady_clock::now() - started, 60s);
  ASSERT_EQ(ended.what(), disposition::completed);
  auto child = static_cast<pid_t>(std::stol(ended.text()));
  // SIGKILL was sent before the handler returned; the kernel may take a moment to act on it.
  while (kill(child, 0) == 0) {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string text((std::istreambuf_iterator<char>(status)), {});
    if (text.find(") Z ") != std::string::npos)
      break;
    ASSERT_LT(std::chrono::steady_clock::now() - started, 60s);
    std::this_thread::yield();
  }
}

TEST_F(ExecHandler, ProgramThatCannotBeExecutedFailsWithTheReason) {
  auto script = (directory.path() / "script").string();
  std::ofstream(script) << "#!/no/such/interpreter\n";
  chmod(script.c_str(), 0700);

  auto ended = make_exec_handler({"thumbs", script, {script}})(attempt);

  EXPECT_EQ(ended.what(), disposition::failed);
  EXPECT_THAT(ended.text(), HasSubstr("cannot start program " + script));
}

} // namespace
} // namespace codeq::worker
