// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace codeq::node {

/// Creates the directory unless it exists, and checks that this process can read and write it. Its
/// parent has to exist: otherwise a mistyped path, or a disk that is not mounted, would look like a
/// new and empty store. Errors: `invalid_argument` names the option, the path and why a restart
/// does not help; `unavailable` when one may.
[[nodiscard]] result<void>
prepare_directory(const std::string& option, const std::filesystem::path& directory);

/// Checks that the disk of a store has space for a start, which writes tables with the entries of
/// the logs that it replays. A start that ran out of space would end in the middle of that. Errors:
/// `disk_full`, with what to do. @pre the directory exists
[[nodiscard]] result<void> check_start_space(const std::filesystem::path& directory);

/// Words of a warning when the disk is smaller than what has to be free, so that no task will ever
/// be added; else empty. `least`: bytes that have to be free. @pre the directory exists
[[nodiscard]] std::string
warning_of_small_disk(const std::filesystem::path& directory, std::uint64_t least);

} // namespace codeq::node
