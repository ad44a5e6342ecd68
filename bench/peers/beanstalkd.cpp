// SPDX-License-Identifier: Apache-2.0
#include "peers/peer.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace codeq::bench {

namespace {

constexpr std::size_t taken_at_once = 64;

class beanstalkd_peer final : public peer {
public:
  explicit beanstalkd_peer(std::uint16_t port) : connection_(port) {}

  void add(std::span<const std::string> payloads) override {
    std::string out;
    for (const auto& payload : payloads)
      out += "put 0 0 60 " + std::to_string(payload.size()) + "\r\n" + payload + "\r\n";
    connection_.write(out);
    for (std::size_t i = 0; i < payloads.size(); ++i)
      expect(connection_.read_line(), "INSERTED");
  }

  std::size_t take(const payload_visitor& visit) override {
    // The first command waits for a job, the others take only jobs that are ready.
    std::string out = "reserve-with-timeout 1\r\n";
    for (std::size_t i = 1; i < asked_; ++i)
      out += "reserve-with-timeout 0\r\n";
    connection_.write(out);
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < asked_; ++i) {
      auto line = connection_.read_line();
      if (!line.starts_with(reserved))
        continue;
      auto words = std::string(line.substr(reserved.size()));
      auto space = words.find(' ');
      auto size = std::strtoul(words.c_str() + space, nullptr, 10);
      visit(connection_.read(size + 2).substr(0, size));
      ids.push_back(words.substr(0, space));
    }
    finish(ids);
    // Adapts the number of commands to the number of ready jobs.
    asked_ = ids.size() == asked_ ? std::min(2 * asked_, taken_at_once)
                                  : std::max<std::size_t>(ids.size(), 1);
    return ids.size();
  }

private:
  static constexpr std::string_view reserved = "RESERVED ";

  static void expect(std::string_view line, std::string_view beginning) {
    if (!line.starts_with(beginning))
      throw std::runtime_error("beanstalkd answered " + std::string(line));
  }

  void finish(const std::vector<std::string>& ids) {
    std::string out;
    for (const auto& id : ids)
      out += "delete " + id + "\r\n";
    connection_.write(out);
    for (std::size_t i = 0; i < ids.size(); ++i)
      expect(connection_.read_line(), "DELETED");
  }

  connection connection_;
  std::size_t asked_ = 1;
};

} // namespace

peer_kind beanstalkd() {
  peer_kind kind;
  kind.name = "beanstalkd";
  // Few connections with deep pipelines are the fastest.
  kind.workers = 2;
  kind.window = 128;
  kind.prepare = [](std::uint16_t) {};
  kind.connect = [](std::uint16_t port) { return std::make_unique<beanstalkd_peer>(port); };
  return kind;
}

} // namespace codeq::bench
