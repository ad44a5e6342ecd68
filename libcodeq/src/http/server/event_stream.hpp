// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace codeq::http {

/// Server-sent events, shared by all clients that get them. Without texts it is the end.
struct live_event {
  /// The difference to the event before; null when there is none.
  std::shared_ptr<const std::string> change{};
  /// The same for a client without the event before.
  std::shared_ptr<const std::string> whole{};
};

/// The events of one response. Its route sends them; the connection writes one after the other and
/// keeps at most one that waits, so that a slow client costs no memory. Used on the thread of the
/// server.
class event_stream {
public:
  using write_function = std::function<void(live_event)>;

  /// Sends an event, which replaces one that waits. Does nothing once the client is gone.
  void send(live_event event) {
    if (write_)
      write_(std::move(event));
    else if (!is_closed_)
      early_ = std::move(event);
  }

  /// Ends the response.
  void end() {
    if (write_)
      write_({});
    close();
  }

  /// False once the client is gone or the response has ended.
  [[nodiscard]] bool is_open() const noexcept { return !is_closed_; }

  /// The connection writes events from now on.
  void open(write_function write) {
    if (early_.whole)
      write(std::exchange(early_, {}));
    if (is_closed_)
      return write({});
    write_ = std::move(write);
  }

  /// The client is gone.
  void close() {
    write_ = nullptr;
    is_closed_ = true;
  }

private:
  write_function write_;
  /// The latest event that was sent before the header was written.
  live_event early_;
  bool is_closed_ = false;
};

} // namespace codeq::http
