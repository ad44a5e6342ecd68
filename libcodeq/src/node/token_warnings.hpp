// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <functional>

/// Log lines about tokens.
namespace codeq::node {

/// Warns when every user of the machine can read the file. An empty path names no file.
void warn_of_readers(const std::filesystem::path& file);

/// A function that logs why a token was refused, which its bearer is not told: each reason at most
/// once a minute. Thread-safe.
[[nodiscard]] std::function<void(const error& reason)> refusal_log();

} // namespace codeq::node
