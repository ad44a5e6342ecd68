// SPDX-License-Identifier: Apache-2.0
// Handles queue `copy`: the payload is `FROM TO`, two files; FROM is copied to TO in pieces of 1
// MiB. After each synced piece the handler saves its position as the task's checkpoint, so that the
// next attempt, on any node, resumes there when this one is killed.
#include "codeq/handler.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr std::size_t piece_bytes = 1u << 20;

struct open_file {
  int number;

  ~open_file() { close(number); }
};

/// Number of bytes that an earlier attempt has copied and synced.
off_t bytes_done(const codeq::task& task) {
  return std::strtoll(std::string(task.checkpoint).c_str(), nullptr, 10);
}

codeq::outcome retry_later(const std::string& what) {
  return codeq::outcome::failed(what + ": " + std::strerror(errno));
}

bool write_all(int file, const char* data, ssize_t size, off_t at) {
  while (size > 0) {
    auto written = pwrite(file, data, static_cast<std::size_t>(size), at);
    if (written <= 0) {
      return false;
    }
    data += written;
    size -= written;
    at += written;
  }
  return fdatasync(file) == 0;
}

codeq::outcome copy(const codeq::task& task) {
  std::istringstream names{std::string(task.payload)};
  std::string from_name;
  std::string to_name;
  if (!(names >> from_name >> to_name)) {
    return codeq::outcome::failed_permanently("payload: must be `FROM TO`");
  }
  open_file from{open(from_name.c_str(), O_RDONLY | O_CLOEXEC)};
  open_file to{open(to_name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
  if (from.number < 0 || to.number < 0) {
    return retry_later(from.number < 0 ? from_name : to_name);
  }
  const auto begun_at = bytes_done(task);
  auto done = begun_at;
  std::vector<char> piece(piece_bytes);
  while (!task.cancel->requested()) {
    auto count = pread(from.number, piece.data(), piece.size(), done);
    if (count < 0) {
      return retry_later(from_name);
    }
    if (count == 0) {
      return codeq::outcome::completed(
        std::to_string(done) + " bytes, " + std::to_string(done - begun_at) + " of them now");
    }
    if (!write_all(to.number, piece.data(), count, done)) {
      return retry_later(to_name);
    }
    done += count;
    // Saved only after the sync: the checkpoint never claims more than is on disk.
    task.save_checkpoint(std::to_string(done));
  }
  return codeq::outcome::abandon();
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("copy", copy);
}
