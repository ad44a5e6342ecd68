// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "cluster/records.hpp"

#include <string>
#include <string_view>

/// Records as JSON, which is what etcd holds. Equal records have equal bytes, and only those bytes
/// are read, so that a comparison of bytes is one of states. Stored in etcd: fields are only added,
/// and a format number is never used twice.
///
/// A field that this version does not know is kept, behind the known ones and sorted by name. A
/// record of a higher `format` is refused: its known fields may mean something else.
namespace codeq::cluster {

inline constexpr std::uint64_t record_format = 1;

[[nodiscard]] std::string encode(const cluster_record& record);
[[nodiscard]] std::string encode(const node_record& record);
[[nodiscard]] std::string encode(const controller_record& record);
[[nodiscard]] std::string encode(const shard_record& record);

/// Reads a record. Errors: `unsupported` for a newer format; `corruption`, which names the field.
template <class Record>
[[nodiscard]] result<Record> decode(std::string_view bytes);

extern template result<cluster_record> decode(std::string_view bytes);
extern template result<node_record> decode(std::string_view bytes);
extern template result<controller_record> decode(std::string_view bytes);
extern template result<shard_record> decode(std::string_view bytes);

/// A 64-bit identity as 16 hexadecimal digits.
[[nodiscard]] std::string id_text(std::uint64_t id);

} // namespace codeq::cluster
