// SPDX-License-Identifier: Apache-2.0
// Handles queue `wordcount`: the payload is the path of a file, the result is "lines words bytes"
// as `LC_ALL=C wc` counts them.
#include "codeq/handler.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace {

/// Simulates the longer work of a real task, so that tasks are running when a node is killed.
constexpr auto pace = std::chrono::milliseconds(20);

/// Counts a file piece by piece.
class counter {
public:
  void add(std::string_view piece) {
    bytes_ += piece.size();
    for (char byte : piece) {
      add(byte);
    }
  }

  /// Ends the last word; call it once, after the last piece.
  [[nodiscard]] std::string finish() {
    end_word();
    return std::to_string(lines_) + ' ' + std::to_string(words_) + ' ' + std::to_string(bytes_);
  }

private:
  /// A word is a run without white space that has at least one printable ASCII byte: control bytes
  /// and bytes above 126 neither start nor end one.
  void add(char byte) {
    if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
      lines_ += byte == '\n' ? 1 : 0;
      end_word();
    } else if (byte > ' ' && byte <= '~') {
      in_word_ = true;
    }
  }

  void end_word() {
    words_ += in_word_ ? 1 : 0;
    in_word_ = false;
  }

  std::uint64_t lines_ = 0;
  std::uint64_t words_ = 0;
  std::uint64_t bytes_ = 0;
  bool in_word_ = false;
};

codeq::outcome count(const codeq::task& task) {
  std::this_thread::sleep_for(pace);
  const std::string path(task.payload);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return codeq::outcome::failed(path + ": " + std::strerror(errno));
  }
  counter counts;
  std::array<char, 64 * 1024> piece;
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    counts.add({piece.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) {
    return codeq::outcome::failed(path + ": " + std::strerror(errno));
  }
  return codeq::outcome::completed(counts.finish());
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("wordcount", count);
}
