// SPDX-License-Identifier: Apache-2.0
#include "security/private_file.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace codeq::security {

namespace {

bool has_mode(const std::filesystem::path& file, mode_t bits) {
  struct stat found {};
  return ::stat(file.c_str(), &found) == 0 && (found.st_mode & bits) != 0;
}

std::string draft_of(const std::filesystem::path& file) {
  return file.string() + ".new";
}

error fault(const std::filesystem::path& file) {
  return {
    errc::unavailable, file.string() + ": cannot be written: " + std::string(std::strerror(errno))};
}

} // namespace

bool is_readable_by_others(const std::filesystem::path& file) {
  return has_mode(file, S_IROTH);
}

bool is_writable_by_others(const std::filesystem::path& file) {
  return has_mode(file, S_IWOTH);
}

result<private_file> private_file::create(std::filesystem::path file, bool may_replace) {
  std::error_code code;
  if (!may_replace && std::filesystem::exists(file, code))
    return error{
      errc::invalid_argument, file.string() + ": exists already, and may have another token"};
  auto draft = draft_of(file);
  // A draft that an earlier process left would keep its access rights.
  ::unlink(draft.c_str());
  constexpr auto flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int descriptor = ::open(draft.c_str(), flags, S_IRUSR | S_IWUSR);
  if (descriptor < 0)
    return fault(file);
  return private_file(std::move(file), descriptor);
}

result<void> private_file::write(std::string_view text) {
  while (!text.empty()) {
    auto count = ::write(descriptor_, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return fault(file_);
    text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  if (::fsync(descriptor_) != 0 || ::rename(draft_of(file_).c_str(), file_.c_str()) != 0)
    return fault(file_);
  ::close(std::exchange(descriptor_, -1));
  return {};
}

private_file::private_file(private_file&& other) noexcept
  : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {
}

private_file::~private_file() {
  if (descriptor_ < 0)
    return;
  ::close(descriptor_);
  ::unlink(draft_of(file_).c_str());
}

} // namespace codeq::security
