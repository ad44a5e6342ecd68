// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::ctl {

using codeq::test::program_input;
using codeq::test::recorded_api;

namespace {

const task_id id{shard_id{3}, 77};
const auto id_text = to_string(id);
const auto* word = id_text.c_str();

/// Output and exit status of a command line whose requests `api` answers.
std::string shown(recorded_api& api, const program_input& input) {
  auto parsed = parse_command_line(input.line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return "refused";
  context with{api, given->json};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto status = given->run(with);
  auto out = testing::internal::GetCapturedStdout();
  return out + testing::internal::GetCapturedStderr() + "= " + std::to_string(status);
}

std::string status_field(task_state state) {
  return "\"state\":\"" + std::string(to_string(state)) + "\"";
}

task_end ended(task_state state) {
  ended_task status;
  status.id = id;
  status.state = state;
  status.result = "done";
  status.error_text = "why";
  return {.status = status};
}

} // namespace

TEST(CtlCommands, LogLevelIsShownOrChanged) {
  recorded_api api;

  EXPECT_EQ(shown(api, {{"log-level"}}), "{}\n= 0");
  EXPECT_EQ(shown(api, {{"log-level", "debug"}}), "{}\n= 0");
  EXPECT_EQ(shown(api, {{"log-level", "loud"}}), "refused");
  EXPECT_EQ(api.asked, "log_level \nlog_level debug\n");
}

TEST(CtlCommands, ValuesAreShownInTheCommandsWords) {
  recorded_api api;
  api.outcome = change_outcome{change_result::requested, task_state::leased, id};

  EXPECT_EQ(
    shown(api, {{"cancel", word}}),
    "task " + id_text + " is leased; its worker is asked to stop\n= 0");
  EXPECT_EQ(
    shown(api, {{"cancel", word, "--json"}}),
    "{\"id\":\"" + id_text + "\",\"outcome\":\"requested\",\"state\":\"leased\"}\n= 0");
}

TEST(CtlCommands, DocumentsAreShownAsTheyCame) {
  recorded_api api;

  EXPECT_EQ(shown(api, {{"get", word, "--json"}}), "{}\n= 0");
  EXPECT_EQ(shown(api, {{"get", word}}), "= 0");
}

TEST(CtlCommands, ChangeThatCannotBeFails) {
  recorded_api api;
  api.outcome = change_outcome{change_result::key_taken, task_state::dead, id};

  EXPECT_EQ(
    shown(api, {{"redrive", word}}),
    "task " + id_text + " is dead and stays so: another live task has its key\n= 1");
}

TEST(CtlCommands, ResultTellsByItsStatusHowATaskEnded) {
  recorded_api api;

  api.end = ended(task_state::completed);
  EXPECT_EQ(shown(api, {{"result", word}}), "done= 0");
  api.end = ended(task_state::dead);
  EXPECT_EQ(shown(api, {{"result", word}}), "codeqctl: task " + id_text + " is dead: why\n= 4");
  api.end = ended(task_state::ready);
  auto later = " not ended yet; --wait DURATION waits for its end\n= 3";
  EXPECT_EQ(shown(api, {{"result", word}}), "codeqctl: task " + id_text + " is ready," + later);
  api.end = {};
  EXPECT_EQ(shown(api, {{"result", word}}), "codeqctl: task " + id_text + " has" + later);
  EXPECT_EQ(api.asked.substr(0, api.asked.find('\n')), "await " + id_text + " not");
}

TEST(CtlCommands, WaitingThatTookTooLongHasAStatusOfItsOwn) {
  recorded_api api;
  api.end.late = error{errc::timeout, "late"};

  for (const char* verb : {"result", "watch"})
    EXPECT_EQ(shown(api, {{verb, word, "--wait", "1s"}}), "codeqctl: timeout: late\n= 3");
  EXPECT_EQ(api.asked, "await " + id_text + " 1000 ms\nwatch " + id_text + " 1000 ms\n");
}

TEST(CtlCommands, EnqueuePrintsIdsAndHowTheyEnded) {
  recorded_api api;
  api.tasks.tasks = {{id, enqueue_kind::existing}};
  api.end = ended(task_state::dead);

  EXPECT_EQ(
    shown(api, {{"enqueue", "q", "x", "--wait", "1s"}}),
    id_text + " existing\n" + id_text + " dead: why\n= 4");
  EXPECT_NE(
    shown(api, {{"enqueue", "q", "x", "--wait", "1s", "--json"}})
      .find(status_field(task_state::dead)),
    std::string::npos);
}

TEST(CtlCommands, EnqueueOfWhatWasRefusedHalfwayPrintsIdsOnly) {
  recorded_api api;
  api.tasks = {.tasks = {{id}}, .said = document{"{\"results\":[]}"}, .is_whole = false};

  EXPECT_EQ(shown(api, {{"enqueue", "q", "x"}}), id_text + "\n= 0");
  EXPECT_EQ(shown(api, {{"enqueue", "q", "x", "--json"}}), "= 0");
}

} // namespace codeq::ctl
