// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "base/json_writer.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

/// Adds the settings of a queue to the JSON object that is open.
void write_config(base::json_writer& out, const queue_config& config);

/// "no limit" for 0.
[[nodiscard]] std::string limit_text(std::uint64_t limit);

/// The same for people, without the limits: name and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
config_fields(const queue_config& config);

} // namespace codeq::ctl
