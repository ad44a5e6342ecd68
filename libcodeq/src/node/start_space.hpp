// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>

namespace codeq::node {

/// Checks that the disk of a store has space for a start, which writes tables with the entries of
/// the logs that it replays. A start that ran out of space would end in the middle of that. Errors:
/// `disk_full`, with what to do. @pre the directory exists
[[nodiscard]] result<void> check_start_space(const std::filesystem::path& directory);

} // namespace codeq::node
