// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/etcd_history.hpp"

#include "security/private_file.hpp"

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace codeq::coordinator {

namespace {

/// Reads a line that begins with its name.
template <class Number>
bool read_line(std::istream& from, std::string_view name, Number& to) {
  std::string word;
  return from >> word && word == name && from >> to;
}

bool read_nodes(std::istream& from, std::set<std::string>& to) {
  std::string word;
  if (!(from >> word) || word != "nodes")
    return false;
  while (from >> word)
    to.insert(word);
  return true;
}

} // namespace

std::filesystem::path etcd_history_file(const std::filesystem::path& data) {
  return data / "etcd-history";
}

etcd_history history_of(const etcd::header& known, const cluster::cluster_record& record) {
  return {known, record.identity, record.shards, record.copies, record.min_in_sync, {}};
}

result<etcd_history> read_etcd_history(const std::filesystem::path& file) {
  std::error_code code;
  const auto is_there = std::filesystem::exists(file, code);
  if (code)
    return error{errc::io_error, file.string() + ": " + code.message()};
  if (!is_there)
    return etcd_history{};
  std::ifstream in(file);
  etcd_history found;
  const auto is_whole =
    read_line(in, "cluster-id", found.known.cluster_id)
    && read_line(in, "revision", found.known.revision)
    && read_line(in, "identity", found.identity) && read_line(in, "shards", found.shards)
    && read_line(in, "copies", found.copies)
    && read_line(in, "min-in-sync", found.min_in_sync) && read_nodes(in, found.nodes);
  if (is_whole)
    return found;
  return error{errc::corruption, file.string() + " is not as a coordinator writes it"};
}

result<void>
write_etcd_history(const std::filesystem::path& file, const etcd_history& known) {
  constexpr bool may_replace = true;
  auto created = security::private_file::create(file, may_replace);
  if (!created)
    return created.error();
  auto text = "cluster-id " + std::to_string(known.known.cluster_id) + "\nrevision "
              + std::to_string(known.known.revision) + "\nidentity "
              + std::to_string(known.identity) + "\nshards " + std::to_string(known.shards)
              + "\ncopies " + std::to_string(known.copies) + "\nmin-in-sync "
              + std::to_string(known.min_in_sync) + "\nnodes";
  for (const auto& name : known.nodes)
    text += " " + name;
  return created->write(text + "\n");
}

} // namespace codeq::coordinator
