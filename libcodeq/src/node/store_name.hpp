// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <string>

/// A file beside the store has the name that its coordinator has in the cluster. The copies of a
/// store are those of one name in etcd; of a store without copies only the file tells the name.
namespace codeq::node {

/// The file within a data directory.
[[nodiscard]] std::filesystem::path store_name_file(const std::filesystem::path& data);

/// The error of a coordinator that opens the store of another name.
[[nodiscard]] error other_store_name(
  const std::filesystem::path& data, const std::string& own, const std::string& given);

/// Checks that the store is that of the given name; without a file it is that of any. Errors:
/// `incompatible_store`; `corruption` when the file has anything else; `io_error`.
[[nodiscard]] result<void>
check_store_name(const std::filesystem::path& data, const std::string& given);

/// Notes the name, synced, unless the file has it already. Errors: `unavailable`, and those of the
/// file.
[[nodiscard]] result<void>
keep_store_name(const std::filesystem::path& data, const std::string& name);

} // namespace codeq::node
