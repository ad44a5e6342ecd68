// SPDX-License-Identifier: Apache-2.0
#include "peers/peer.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <unistd.h>

namespace codeq::bench {

namespace {

constexpr std::size_t taken_at_once = 1000;

/// A received message.
struct message {
  /// A status message of the server, with headers only; for example, that there are no messages.
  bool is_status = false;
  std::string reply_to;
  std::string_view payload;
};

class jetstream_peer final : public peer {
public:
  jetstream_peer(std::uint16_t port, int number)
    : connection_(port),
      inbox_("_INBOX." + std::to_string(getpid()) + "." + std::to_string(number)) {
    static_cast<void>(connection_.read_line());
    connection_.write(
      R"(CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true})"
      "\r\nSUB "
      + inbox_ + " 1\r\nPING\r\n");
    while (connection_.read_line() != "PONG") {
    }
  }

  void create_stream() {
    ask(
      "$JS.API.STREAM.CREATE.TASKS",
      R"({"name":"TASKS","subjects":["tasks"],"retention":"workqueue","storage":"file"})");
    ask(
      "$JS.API.CONSUMER.DURABLE.CREATE.TASKS.workers",
      R"({"stream_name":"TASKS","config":{"durable_name":"workers","ack_policy":"explicit",)"
      R"("max_ack_pending":20000}})");
  }

  void add(std::span<const std::string> payloads) override {
    std::string out;
    for (const auto& payload : payloads)
      append_publish(out, "tasks", inbox_, payload);
    connection_.write(out);
    for (std::size_t i = 0; i < payloads.size(); ++i)
      if (auto answer = next(); !answer.payload.starts_with(R"({"stream")"))
        throw std::runtime_error("JetStream answered " + std::string(answer.payload));
  }

  std::size_t take(const payload_visitor& visit) override {
    std::string out;
    if (open_ == 0) {
      auto wish = R"({"batch":)" + std::to_string(taken_at_once) + R"(,"expires":1000000000})";
      append_publish(out, "$JS.API.CONSUMER.MSG.NEXT.TASKS.workers", inbox_, wish);
      open_ = taken_at_once;
      connection_.write(out);
      out.clear();
    }
    std::size_t taken = 0;
    do {
      auto came = next();
      if (came.is_status) {
        open_ = 0;
        break;
      }
      visit(came.payload);
      append_publish(out, came.reply_to, {}, "+ACK");
      ++taken;
      --open_;
    } while (open_ > 0 && connection_.has_more() && taken < acknowledged_at_once);
    connection_.write(out);
    return taken;
  }

private:
  static constexpr std::size_t acknowledged_at_once = 64;

  static void append_publish(
    std::string& to,
    std::string_view subject,
    std::string_view reply_to,
    std::string_view payload) {
    to += "PUB ";
    to += subject;
    to += ' ';
    if (!reply_to.empty()) {
      to += reply_to;
      to += ' ';
    }
    to += std::to_string(payload.size()) + "\r\n";
    to += payload;
    to += "\r\n";
  }

  void ask(std::string_view subject, std::string_view question) {
    std::string out;
    append_publish(out, subject, inbox_, question);
    connection_.write(out);
    if (auto answer = next(); answer.payload.find(R"("error")") != std::string_view::npos)
      throw std::runtime_error("JetStream answered " + std::string(answer.payload));
  }

  message next() {
    for (;;) {
      auto line = std::string(connection_.read_line());
      if (line == "PING")
        connection_.write("PONG\r\n");
      bool is_status = line.starts_with("HMSG ");
      if (!is_status && !line.starts_with("MSG "))
        continue;
      // MSG subject subscription [reply-to] size
      std::vector<std::string> words;
      for (std::size_t begin = 0; begin < line.size();) {
        auto end = std::min(line.find(' ', begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = end + 1;
      }
      auto size = std::strtoul(words.back().c_str(), nullptr, 10);
      auto payload = connection_.read(size + 2).substr(0, size);
      return {is_status, !is_status && words.size() == 5 ? words[3] : std::string(), payload};
    }
  }

  connection connection_;
  std::string inbox_;
  /// Number of messages that the server may still send for the latest request.
  std::size_t open_ = 0;
};

} // namespace

peer_kind jetstream() {
  peer_kind kind;
  kind.name = "jetstream";
  kind.workers = 2;
  kind.window = 512;
  auto number = std::make_shared<std::atomic<int>>(0);
  kind.prepare = [number](std::uint16_t port) { jetstream_peer(port, ++*number).create_stream(); };
  kind.connect = [number](std::uint16_t port) {
    return std::make_unique<jetstream_peer>(port, ++*number);
  };
  return kind;
}

} // namespace codeq::bench
