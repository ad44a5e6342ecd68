// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/manifest_position.hpp"

#include "storage/rocksdb/log_format.hpp"

#include <optional>
#include <string>

namespace codeq::storage {

namespace {

/// The numbers are at the start of a record, before its lists of files.
constexpr std::size_t prefix_bytes = 1024;

// Tags of fields.
constexpr std::uint64_t comparator = 1;
constexpr std::uint64_t log_number = 2;
constexpr std::uint64_t next_file_number = 3;
constexpr std::uint64_t last_sequence = 4;
constexpr std::uint64_t previous_log_number = 9;
constexpr std::uint64_t least_log_to_keep = 10;
constexpr std::uint64_t last_column_family = 203;
constexpr std::uint64_t store_identity = 8193;

/// Reads fields from the front of a record.
class field_reader {
public:
  explicit field_reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return value;
    }
    return std::nullopt;
  }

  bool skip_text() {
    auto size = number();
    if (!size || *size > rest_.size())
      return false;
    rest_.remove_prefix(*size);
    return true;
  }

private:
  std::string_view rest_;
};

/// Takes one field; false at the first one that is neither a number nor a text.
bool take_field(field_reader& fields, manifest_position& into) {
  auto tag = fields.number();
  if (tag == comparator || tag == store_identity)
    return fields.skip_text();
  bool is_number = tag == log_number || tag == next_file_number || tag == last_sequence
                   || tag == previous_log_number || tag == least_log_to_keep
                   || tag == last_column_family;
  auto value = is_number ? fields.number() : std::nullopt;
  if (value && tag == log_number)
    into.log_number = *value;
  if (value && tag == last_sequence)
    into.last_sequence = *value;
  return value.has_value();
}

} // namespace

manifest_position read_manifest_position(std::string_view bytes) {
  manifest_position found;
  log_format::walk(bytes, 0, [&](const log_format::fragment& start) {
    auto prefix = log_format::record_prefix(bytes, start, prefix_bytes);
    field_reader fields{prefix};
    while (take_field(fields, found)) {
    }
  });
  return found;
}

} // namespace codeq::storage
