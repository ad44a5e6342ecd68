// SPDX-License-Identifier: Apache-2.0
#include "node/etcd_history.hpp"

#include "security/private_file.hpp"

#include <fstream>
#include <string>
#include <system_error>

namespace codeq::node {

std::filesystem::path etcd_history_file(const std::filesystem::path& data) {
  return data / "etcd-history";
}

result<etcd::header> read_etcd_history(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code))
    return code ? result<etcd::header>(error{errc::io_error, file.string() + ": " + code.message()})
                : etcd::header{};
  std::ifstream in(file);
  std::string id;
  std::string revision;
  std::string rest;
  etcd::header known;
  if (in >> id >> known.cluster_id >> revision >> known.revision && !(in >> rest)
      && id == "cluster-id" && revision == "revision")
    return known;
  return error{
    errc::corruption,
    file.string() + " is not as it was written: `cluster-id NUMBER`, `revision NUMBER`"};
}

result<void>
write_etcd_history(const std::filesystem::path& file, const etcd::header& known) {
  constexpr bool may_replace = true;
  auto created = security::private_file::create(file, may_replace);
  if (!created)
    return created.error();
  return created->write(
    "cluster-id " + std::to_string(known.cluster_id) + "\nrevision "
    + std::to_string(known.revision) + "\n");
}

} // namespace codeq::node
