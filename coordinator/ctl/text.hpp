// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "base/errors.hpp"
#include "base/json_writer.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::ctl {

/// Text from a task, safe for a terminal: control characters become `?`, newlines stay.
[[nodiscard]] std::string printable(std::string_view text);

/// The same without newlines.
[[nodiscard]] std::string in_one_line(std::string_view text);

/// The largest unit that divides it, as options accept it: `90s`, `7d`.
[[nodiscard]] std::string format_duration(duration value);

/// Two columns, the first padded to its longest entry.
[[nodiscard]] std::string
format_fields(const std::vector<std::pair<std::string, std::string>>& fields);

/// A table; the first row is the header. The first column is left-aligned, numbers are
/// right-aligned.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows);

using base::shards_text;

/// Says that these shards have not answered a change; empty when there are none.
[[nodiscard]] std::string missing_text(const std::vector<shard_id>& missing);

/// Says that a sum is without the `things` of these shards, and of so many that have no name here;
/// empty when there are none.
[[nodiscard]] std::string left_out_text(
  const std::vector<shard_id>& missing, std::uint32_t unnamed, std::string_view things);

/// Adds the numbers as a list to the open JSON object, unless there are none.
void
write_shards(base::json_writer& out, std::string_view name, const std::vector<shard_id>& shards);

} // namespace codeq::ctl
