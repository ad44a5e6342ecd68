// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"

#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include <string>
#include <vector>

namespace codeq::test {

/// A format that must stay readable: a member of the catalogue of messages or of records.
struct format {
  /// Name in the schema's catalogue, for example `message.hello`.
  std::string name;
  capnp::StructSchema schema;
};

/// Every member of `schema::Message`, `schema::Record` and `schema::ReplicaMessage`, frames of the
/// latter, and `TaskBody`.
[[nodiscard]] std::vector<format> all_formats();

/// A single-segment message in which every field has a different value, so that swapped fields
/// show.
[[nodiscard]] bytes make_example(capnp::StructSchema schema);

/// The value of a message in Cap'n Proto's text format, without fields that have their default
/// value. Throws `kj::Exception` when the message is malformed.
[[nodiscard]] std::string to_text(capnp::StructSchema schema, const bytes& body);

} // namespace codeq::test
