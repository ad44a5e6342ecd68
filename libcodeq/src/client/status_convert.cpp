// SPDX-License-Identifier: Apache-2.0
#include "client/status_convert.hpp"

#include "encoding/schema_enums.hpp"

#include <utility>

namespace codeq::client {

result<task_state> read_state(schema::TaskState from) {
  if (encoding::is_known<task_state>(from))
    return encoding::from_schema<task_state>(from);
  return error{
    errc::protocol_error, "unknown task state " + std::to_string(static_cast<unsigned>(from))};
}

result<ended_task>
read_ended(task_id task, schema::TasksEnded::Ended::Reader from, std::string text) {
  auto state = read_state(from.getState());
  if (!state)
    return state.error();
  ended_task ended{task, *state, from.getAttempt()};
  put_text(ended, std::move(text));
  return ended;
}

} // namespace codeq::client
