// SPDX-License-Identifier: Apache-2.0
// Handlers for the end-to-end tests: each queue is named after what its handler does.
#include "codeq/handler.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr auto cancel_check_interval = 5ms;

codeq::outcome echo(const codeq::task& task) {
  return codeq::outcome::completed(std::string(task.payload.view()));
}

/// Returns the payload's size in bytes.
codeq::outcome measure(const codeq::task& task) {
  return codeq::outcome::completed(std::to_string(task.payload.size()));
}

/// Payload "BYTES": returns a result of that size.
codeq::outcome grow(const codeq::task& task) {
  return codeq::outcome::completed(std::string(std::stoul(std::string(task.payload.view())), 'x'));
}

codeq::outcome fail(const codeq::task&) {
  return codeq::outcome::failed("told to fail");
}

codeq::outcome fail_once(const codeq::task& task) {
  return task.attempt == 1 ? codeq::outcome::nack(0ms, "first attempt")
                           : codeq::outcome::completed(std::to_string(task.attempt));
}

[[noreturn]] codeq::outcome crash(const codeq::task&) {
  std::abort();
}

/// Logs one line per start: monotonic milliseconds, process, attempt, token, id.
void log_start(const std::string& path, const codeq::task& task) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::ostringstream line;
  line << std::chrono::duration_cast<std::chrono::milliseconds>(now).count() << ' ' << getpid()
       << ' ' << task.attempt << ' ' << codeq::value(task.token) << ' ' << codeq::to_string(task.id)
       << '\n';
  std::ofstream(path, std::ios::app) << line.str() << std::flush;
}

/// Payload "PATH": logs its start and fails.
codeq::outcome log_and_fail(const codeq::task& task) {
  log_start(std::string(task.payload.view()), task);
  return codeq::outcome::failed("told to fail");
}

/// Payload "PATH MILLISECONDS ATTEMPTS": logs its start; the first ATTEMPTS attempts sleep.
codeq::outcome log_and_sleep(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  std::string path;
  std::int64_t milliseconds = 0;
  std::uint32_t attempts = 0;
  words >> path >> milliseconds >> attempts;
  log_start(path, task);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (task.attempt <= attempts && std::chrono::steady_clock::now() < end) {
    if (task.cancel->requested()) {
      return codeq::outcome::abandon();
    }
    std::this_thread::sleep_for(cancel_check_interval);
  }
  return codeq::outcome::completed(std::to_string(task.attempt));
}

std::int64_t monotonic_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// Payload "PATH NAME MILLISECONDS": runs so long, and logs its name, start and end.
codeq::outcome log_span(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  std::string path;
  std::string name;
  std::int64_t milliseconds = 0;
  words >> path >> name >> milliseconds;
  const auto start = monotonic_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  std::ostringstream line;
  line << name << ' ' << start << ' ' << monotonic_ms() << '\n';
  std::ofstream(path, std::ios::app) << line.str() << std::flush;
  return codeq::outcome::completed();
}

/// Payload "PATH MILLISECONDS": logs its start, and is refused for so long while there is a file
/// `PATH.busy`.
codeq::outcome log_and_be_refused(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  std::string path;
  std::int64_t milliseconds = 0;
  words >> path >> milliseconds;
  log_start(path, task);
  if (std::ifstream(path + ".busy"))
    return codeq::outcome::limited(std::chrono::milliseconds(milliseconds), {}, "429");
  return codeq::outcome::completed();
}

/// A task of a chain: log path, number of the chain, position in the chain, and length of the
/// chain.
struct chain_link {
  std::string path;
  int chain = 0;
  int link = 0;
  int links = 0;
};

chain_link read_link(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  chain_link read;
  words >> read.path >> read.chain >> read.link >> read.links;
  return read;
}

/// The task at a position of a chain. Each has a group of its own, so that it may belong to any
/// shard.
codeq::task_spec task_of(const chain_link& link) {
  auto name = std::to_string(link.chain) + ' ' + std::to_string(link.link);
  codeq::task_spec made;
  made.queue = "chain";
  made.group = name;
  made.payload = link.path + ' ' + name + ' ' + std::to_string(link.links);
  return made;
}

/// Payload "PATH 0 0 LINKS": starts as many chains as a completion may have follow-ups.
codeq::outcome fan_out(const codeq::task& task) {
  auto link = read_link(task);
  auto done = codeq::outcome::completed();
  for (std::size_t i = 0; i < codeq::limits::follow_ups_max; ++i) {
    link.chain = static_cast<int>(i);
    done.then(task_of(link));
  }
  return done;
}

/// Logs "CHAIN LINK ID", works a little, and adds the next task of the chain and an echo.
codeq::outcome follow_chain(const codeq::task& task) {
  auto link = read_link(task);
  std::ostringstream line;
  line << link.chain << ' ' << link.link << ' ' << codeq::to_string(task.id) << '\n';
  std::ofstream(link.path, std::ios::app) << line.str() << std::flush;
  std::this_thread::sleep_for(cancel_check_interval);
  codeq::task_spec aside;
  aside.queue = "echo";
  auto done = codeq::outcome::completed().then(std::move(aside));
  if (++link.link < link.links)
    done.then(task_of(link));
  return done;
}

/// Payload: name of the follow-up's field that is invalid.
codeq::outcome follow_badly(const codeq::task& task) {
  const std::string field(task.payload.view());
  codeq::task_spec bad;
  bad.queue = field == "queue" ? "no queue" : "echo";
  bad.priority = field == "priority" ? codeq::limits::priority_max + 1 : 0;
  bad.payload = std::string(field == "payload" ? codeq::limits::payload_bytes_max + 1 : 0, 'x');
  if (field == "headers")
    bad.headers["n"] = std::string(codeq::limits::headers_bytes_max, 'v');
  auto done = codeq::outcome::completed();
  for (std::size_t i = 0; i < (field == "count" ? codeq::limits::follow_ups_max + 1 : 1); ++i)
    done.then(bad);
  return done;
}

/// Adds a follow-up with only a queue and a key.
codeq::outcome follow_barely(const codeq::task&) {
  codeq::task_spec bare;
  bare.queue = "echo";
  bare.key = "bare";
  return codeq::outcome::completed().then(std::move(bare));
}

/// Returns the names and lengths of its task's headers.
codeq::outcome tell_headers(const codeq::task& task) {
  std::string all;
  for (const auto& [name, value] : task.headers)
    all += name + "=" + std::to_string(value.size());
  return codeq::outcome::completed(all);
}

/// Payload "PATH MILLISECONDS": logs its start; its first attempt sleeps and ignores cancellation.
codeq::outcome sleep_stubbornly(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  std::string path;
  std::int64_t milliseconds = 0;
  words >> path >> milliseconds;
  std::ifstream log(path);
  const bool is_first = !log.good() || log.peek() == std::ifstream::traits_type::eof();
  log_start(path, task);
  if (is_first)
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return codeq::outcome::completed(std::to_string(task.attempt));
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("echo", echo);
  registry.handle("measure", measure);
  registry.handle("grow", grow);
  registry.handle("fail", fail);
  registry.handle("fail_once", fail_once);
  registry.handle("crash", crash);
  registry.handle("sleep", log_and_sleep);
  registry.handle("log_and_fail", log_and_fail);
  registry.handle("span", log_span);
  registry.handle("refused", log_and_be_refused);
  registry.handle("fan", fan_out);
  registry.handle("chain", follow_chain);
  registry.handle("bad_follow_up", follow_badly);
  registry.handle("bare_follow_up", follow_barely);
  registry.handle("headers", tell_headers);
  registry.handle("stubborn", sleep_stubbornly);
}
