// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/position_hint.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::storage {

namespace {

// A fixed length within one sector, overwritten in place: a write never leaves a mixture of two.
constexpr std::size_t record_bytes = 64;
constexpr std::string_view record_head = "codeq log position, version 1: ";
constexpr std::string_view closed_mark = " closed";

} // namespace

recovery_loss describe_loss(const std::optional<log_position>& known, std::uint64_t recovered) {
  if (!known) {
    if (recovered == 0)
      return {};
    return {
      false,
      "the store was not closed in order and does not know of any sync: recovered up to record "
      "operation "
        + std::to_string(recovered) + "; after a power cut, what was committed may be missing"};
  }
  if (recovered < known->synced)
    return {
      true,
      std::to_string(known->synced - recovered)
        + " record operations are missing at the end of the log although they had been synced"};
  if (known->closed)
    return {};
  return {
    false,
    "the store was not closed in order: recovered up to record operation "
      + std::to_string(recovered) + ", of which the last known sync covered "
      + std::to_string(known->synced)
      + "; after a power cut, what was committed since that sync may be missing"};
}

result<std::unique_ptr<position_hint>> position_hint::open(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  int file = -1;
  if (!failure) {
    file = ::open((directory / "position.hint").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
      failure.assign(errno, std::generic_category());
  }
  if (failure)
    return error{
      errc::unavailable,
      "cannot create or write the directory " + directory.string() + ": " + failure.message()};
  return std::unique_ptr<position_hint>{new position_hint{file}};
}

std::optional<log_position> position_hint::look(const std::filesystem::path& directory) {
  int file = ::open((directory / "position.hint").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return std::nullopt;
  return position_hint{file}.read();
}

position_hint::~position_hint() {
  ::close(file_);
}

std::optional<log_position> position_hint::read() const {
  std::array<char, record_bytes> buffer{};
  if (::pread(file_, buffer.data(), buffer.size(), 0) != static_cast<ssize_t>(buffer.size()))
    return std::nullopt;
  std::string_view text{buffer.data(), buffer.size()};
  if (!text.starts_with(record_head))
    return std::nullopt;
  text.remove_prefix(record_head.size());
  log_position position;
  auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), position.synced);
  if (failure != std::errc{})
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  position.closed = text.starts_with(closed_mark);
  return position;
}

void position_hint::write(const log_position& position) const {
  auto text = std::string(record_head) + std::to_string(position.synced);
  if (position.closed)
    text += closed_mark;
  text.resize(record_bytes - 1, ' ');
  text += '\n';
  [[maybe_unused]] auto written = ::pwrite(file_, text.data(), text.size(), 0);
}

} // namespace codeq::storage
