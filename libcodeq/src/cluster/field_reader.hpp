// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "cluster/records.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace codeq::cluster {

/// Takes the fields of one JSON object, one after the other. The first problem is kept; what is
/// taken afterwards has no meaning.
class field_reader {
public:
  explicit field_reader(boost::json::object from) : from_(std::move(from)) {}

  [[nodiscard]] std::uint64_t
  number(const char* name, std::uint64_t most = std::numeric_limits<std::int64_t>::max());
  [[nodiscard]] std::uint32_t
  number32(const char* name, std::uint32_t most = std::numeric_limits<std::uint32_t>::max());
  [[nodiscard]] std::uint64_t id(const char* name);
  [[nodiscard]] bool has(const char* name) const { return from_.contains(name); }

  [[nodiscard]] bool flag(const char* name);
  /// Printable ASCII.
  [[nodiscard]] std::string text(const char* name, std::size_t bytes_max);
  /// A name as `is_valid_name` allows it.
  [[nodiscard]] std::string name(const char* name);
  /// As `name`, or empty.
  [[nodiscard]] std::string name_or_none(const char* name);
  /// Sorted names without doubles.
  [[nodiscard]] std::vector<std::string> names(const char* name, std::size_t most);
  /// Sorted identities without doubles.
  [[nodiscard]] std::vector<replication::replica_id> replicas(const char* name);
  /// Identity -> name of a node, sorted.
  [[nodiscard]] std::map<replication::replica_id, std::string> places(const char* name);

  /// All fields that were not taken.
  [[nodiscard]] extra_fields rest();

  void fail(const std::string& name, const std::string& why);

  [[nodiscard]] const error& problem() const { return problem_; }

private:
  boost::json::value take(const char* name);

  boost::json::object from_;
  error problem_;
};

} // namespace codeq::cluster
