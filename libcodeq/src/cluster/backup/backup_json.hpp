// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"

#include <string>
#include <string_view>

/// The backup of a whole cluster as JSON, in the file that an operator keeps beside the backups of
/// the coordinators.
namespace codeq::cluster {

[[nodiscard]] std::string encode(const cluster_backup& backup);

/// Errors: `corruption`, which names the field.
[[nodiscard]] result<cluster_backup> decode_backup(std::string_view text);

} // namespace codeq::cluster
