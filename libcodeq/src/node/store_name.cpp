// SPDX-License-Identifier: Apache-2.0
#include "node/store_name.hpp"

#include "codeq/ids.hpp"

#include "security/private_file.hpp"

#include <fstream>
#include <system_error>

namespace codeq::node {

namespace {

namespace fs = std::filesystem;

/// Empty: there is no file.
result<std::string> read_store_name(const fs::path& file) {
  std::error_code code;
  const auto is_there = fs::exists(file, code);
  if (code)
    return error{errc::io_error, file.string() + ": " + code.message()};
  if (!is_there)
    return std::string();
  std::ifstream in(file);
  std::string field;
  std::string name;
  std::string more;
  const auto is_whole =
    (in >> field >> name) && field == "node" && is_valid_name(name) && !(in >> more);
  if (is_whole)
    return name;
  return error{errc::corruption, file.string() + " is not as a coordinator writes it"};
}

} // namespace

fs::path store_name_file(const fs::path& data) {
  return data / "node-name";
}

error other_store_name(
  const fs::path& data, const std::string& own, const std::string& given) {
  return {
    errc::incompatible_store,
    "the store in " + data.string() + " is that of node " + own + ", and --node is " + given
      + "; give --node " + own + ", or another directory"};
}

result<void> check_store_name(const fs::path& data, const std::string& given) {
  const auto own = read_store_name(store_name_file(data));
  if (!own)
    return own.error();
  if (own->empty() || *own == given)
    return {};
  return other_store_name(data, *own, given);
}

result<void> keep_store_name(const fs::path& data, const std::string& name) {
  const auto file = store_name_file(data);
  const auto own = read_store_name(file);
  if (!own)
    return own.error();
  if (*own == name)
    return {};
  constexpr bool may_replace = true;
  auto created = security::private_file::create(file, may_replace);
  if (!created)
    return created.error();
  return created->write("node " + name + "\n");
}

} // namespace codeq::node
