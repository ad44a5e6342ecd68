// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace codeq::bench {

/// A blocking connection to a server on this machine. Errors are thrown as `std::runtime_error`,
/// which ends the measurement.
class connection {
public:
  explicit connection(std::uint16_t port);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void write(std::string_view text);

  /// The next line, without its end. Valid until the next read.
  [[nodiscard]] std::string_view read_line();

  /// The next `count` bytes. Valid until the next read.
  [[nodiscard]] std::string_view read(std::size_t count);

  /// True when received bytes have not been read.
  [[nodiscard]] bool has_more() const noexcept { return begin_ < buffer_.size(); }

private:
  void receive();

  int socket_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0;
};

} // namespace codeq::bench
