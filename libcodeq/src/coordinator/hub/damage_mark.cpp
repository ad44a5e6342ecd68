// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/damage_mark.hpp"

#include "security/private_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::coordinator {

namespace {

/// Reads a line that begins with its name.
bool read_line(std::istream& from, std::string_view name, std::string& to) {
  std::string line;
  if (!std::getline(from, line) || !line.starts_with(name) || line.size() <= name.size())
    return false;
  to = line.substr(name.size() + 1);
  return line[name.size()] == ' ';
}

} // namespace

std::filesystem::path damage_mark_file(const std::filesystem::path& data) {
  return data / "store-damaged";
}

result<void> write_damage_mark(const std::filesystem::path& data, const damage_mark& mark) {
  constexpr bool may_replace = true;
  auto created = security::private_file::create(damage_mark_file(data), may_replace);
  if (!created)
    return created.error();
  auto reason = mark.reason;
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  const auto text =
    "cluster " + mark.cluster + "\nnode " + mark.node + "\nreason " + reason + "\n";
  if (auto ok = created->write(text); !ok)
    return ok;
  return sync_directory(data);
}

result<std::optional<damage_mark>> read_damage_mark(const std::filesystem::path& data) {
  const auto file = damage_mark_file(data);
  std::error_code code;
  const auto is_there = std::filesystem::exists(file, code);
  if (code)
    return error{errc::io_error, file.string() + ": " + code.message()};
  if (!is_there)
    return std::optional<damage_mark>{};
  std::ifstream in(file);
  damage_mark mark;
  const auto is_whole = read_line(in, "cluster", mark.cluster)
                        && read_line(in, "node", mark.node)
                        && read_line(in, "reason", mark.reason);
  if (is_whole)
    return std::optional{std::move(mark)};
  return error{errc::corruption, file.string() + " is not as a coordinator writes it"};
}

result<void> sync_directory(const std::filesystem::path& directory) {
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto is_synced = opened >= 0 && ::fsync(opened) == 0;
  const std::string why = is_synced ? "" : std::strerror(errno);
  if (opened >= 0)
    ::close(opened);
  if (is_synced)
    return {};
  return error{errc::unavailable, directory.string() + ": cannot be synced: " + why};
}

} // namespace codeq::coordinator
