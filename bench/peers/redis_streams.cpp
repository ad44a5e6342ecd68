// SPDX-License-Identifier: Apache-2.0
#include "peers/peer.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace codeq::bench {

namespace {

constexpr const char* stream = "tasks";
constexpr const char* group = "workers";
constexpr const char* taken_at_once = "64";

/// Appends a command in the Redis protocol.
void append_command(std::string& to, std::span<const std::string_view> words) {
  to += '*' + std::to_string(words.size()) + "\r\n";
  for (auto word : words) {
    to += '$' + std::to_string(word.size()) + "\r\n";
    to += word;
    to += "\r\n";
  }
}

std::size_t count_of(std::string_view line) {
  return std::strtoul(line.data() + 1, nullptr, 10);
}

class redis_peer final : public peer {
public:
  redis_peer(std::uint16_t port, std::string name) : connection_(port), name_(std::move(name)) {}

  void create_group() {
    std::string out;
    append_command(
      out, std::vector<std::string_view>{"XGROUP", "CREATE", stream, group, "0", "MKSTREAM"});
    connection_.write(out);
    expect(connection_.read_line(), '+');
  }

  void add(std::span<const std::string> payloads) override {
    std::string out;
    for (const auto& payload : payloads)
      append_command(out, std::vector<std::string_view>{"XADD", stream, "*", "d", payload});
    connection_.write(out);
    for (std::size_t i = 0; i < payloads.size(); ++i)
      static_cast<void>(read_bulk());
  }

  std::size_t take(const payload_visitor& visit) override {
    std::string out;
    append_command(
      out,
      std::vector<std::string_view>{
        "XREADGROUP",
        "GROUP",
        group,
        name_,
        "COUNT",
        taken_at_once,
        "BLOCK",
        "1000",
        "STREAMS",
        stream,
        ">"});
    connection_.write(out);
    auto line = connection_.read_line();
    expect(line, '*');
    // A null array: nothing arrived in time.
    if (line.starts_with("*-"))
      return 0;
    // One stream: its name and its entries.
    expect(connection_.read_line(), '*');
    static_cast<void>(read_bulk());
    auto count = count_of(connection_.read_line());
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < count; ++i) {
      // An id, and one field with its value.
      expect(connection_.read_line(), '*');
      ids.emplace_back(read_bulk());
      expect(connection_.read_line(), '*');
      static_cast<void>(read_bulk());
      visit(read_bulk());
    }
    finish(ids);
    return count;
  }

private:
  static void expect(std::string_view line, char kind) {
    if (line.empty() || line.front() != kind)
      throw std::runtime_error("Redis answered " + std::string(line));
  }

  std::string_view read_bulk() {
    auto line = connection_.read_line();
    expect(line, '$');
    auto size = count_of(line);
    return connection_.read(size + 2).substr(0, size);
  }

  void finish(const std::vector<std::string>& ids) {
    std::vector<std::string_view> acknowledge{"XACK", stream, group};
    std::vector<std::string_view> remove{"XDEL", stream};
    acknowledge.insert(acknowledge.end(), ids.begin(), ids.end());
    remove.insert(remove.end(), ids.begin(), ids.end());
    std::string out;
    append_command(out, acknowledge);
    append_command(out, remove);
    connection_.write(out);
    expect(connection_.read_line(), ':');
    expect(connection_.read_line(), ':');
  }

  connection connection_;
  std::string name_;
};

} // namespace

peer_kind redis_streams() {
  peer_kind kind;
  kind.name = "redis";
  kind.prepare = [](std::uint16_t port) { redis_peer(port, "setup").create_group(); };
  auto number = std::make_shared<std::atomic<int>>(0);
  kind.connect = [number](std::uint16_t port) {
    return std::make_unique<redis_peer>(port, "c" + std::to_string(++*number));
  };
  return kind;
}

} // namespace codeq::bench
