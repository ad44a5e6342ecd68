// SPDX-License-Identifier: Apache-2.0
#include "client/status_convert.hpp"

#include "encoding/schema_enums.hpp"

#include <utility>

namespace codeq::client {

void put_text(task_status& status, std::string text) {
  (status.state == task_state::completed ? status.result : status.error_text) = std::move(text);
}

result<task_state> read_state(schema::TaskState from) {
  if (encoding::is_known<task_state>(from))
    return encoding::from_schema<task_state>(from);
  return error{
    errc::protocol_error, "unknown task state " + std::to_string(static_cast<unsigned>(from))};
}

result<task_status>
ended_status(task_id task, schema::TasksEnded::Ended::Reader from, std::string text) {
  auto state = read_state(from.getState());
  if (!state)
    return state.error();
  task_status status;
  status.id = task;
  status.state = *state;
  status.attempt = from.getAttempt();
  put_text(status, std::move(text));
  return status;
}

} // namespace codeq::client
