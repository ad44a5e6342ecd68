// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "etcd/messages.hpp"

#include <filesystem>

/// What a coordinator keeps of its etcd beside its store, so that it tells one that was restored
/// from an older state, or founded anew, from the one that it knows, also after a restart.
namespace codeq::node {

/// The file within a data directory.
[[nodiscard]] std::filesystem::path etcd_history_file(const std::filesystem::path& data);

/// Cluster id and revision; zeros when there is no file. Errors: `io_error`; `corruption` when the
/// file has anything else.
[[nodiscard]] result<etcd::header> read_etcd_history(const std::filesystem::path& file);

/// Replaces the file, synced. Errors: `unavailable`.
[[nodiscard]] result<void>
write_etcd_history(const std::filesystem::path& file, const etcd::header& known);

} // namespace codeq::node
