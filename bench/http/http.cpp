// SPDX-License-Identifier: Apache-2.0
#include "http/http.hpp"

#include "http/request_loop.hpp"
#include "load/cluster.hpp"

#include <memory>
#include <sstream>

namespace codeq::bench {

namespace {

struct http_options {
  cluster_options cluster = {.workers = 0, .durability = "os", .http = true};
  std::size_t connections = 32;
  std::size_t payload = 256;
  duration length = std::chrono::seconds(5);
};

/// Duration of the warm-up, in which code is loaded.
constexpr duration warm_up = std::chrono::seconds(1);

std::string enqueue_body(const std::string& queue, std::size_t payload) {
  return R"({"command":")" + queue + R"(","payload":")" + std::string(payload, 'x') + R"("})";
}

result<void> expect(unsigned status, const http_response& answer) {
  if (answer.status == status)
    return {};
  return error{
    errc::unavailable,
    "status " + std::to_string(answer.status) + ": " + std::string(answer.body)};
}

/// Enqueues one task after the other.
class enqueuer final : public http_client {
public:
  explicit enqueuer(const http_options& options)
    : request_(post_request("/v1/codeq/tasks", enqueue_body("http-enqueue", options.payload))) {}

  std::string next_request() override { return request_; }

  result<void> take(const http_response& answer) override { return expect(202, answer); }

private:
  std::string request_;
};

/// Enqueues a task, claims one, and sends its result.
class cycler final : public http_client {
public:
  cycler(const http_options& options, std::size_t& cycles)
    : enqueue_(post_request("/v1/codeq/tasks", enqueue_body("http-cycle", options.payload))),
      claim_(post_request(
        "/v1/codeq/tasks/claim", R"({"commands":["http-cycle"],"leaseSeconds":60})")),
      cycles_(cycles) {}

  std::string next_request() override {
    switch (at_) {
    case step::enqueue:
      return enqueue_;
    case step::claim:
      return claim_;
    case step::report:
      return report_;
    }
    return {};
  }

  result<void> take(const http_response& answer) override {
    switch (at_) {
    case step::enqueue:
      at_ = step::claim;
      return expect(202, answer);
    case step::claim:
      return take_claimed(answer);
    case step::report:
      at_ = step::enqueue;
      ++cycles_;
      return expect(200, answer);
    }
    return {};
  }

private:
  enum class step { enqueue, claim, report };

  result<void> take_claimed(const http_response& answer) {
    // Another connection has the task, and that one's is on its way.
    if (answer.status == 204)
      return {};
    auto id = string_member(answer.body, "id");
    auto token = string_member(answer.body, "fencingToken");
    if (id.empty())
      return expect(200, {answer.status, "a claim without a task"});
    std::string body = R"({"status":"COMPLETED","result":{"ok":true},"fencingToken":")";
    body += token;
    body += "\"}";
    report_ = post_request("/v1/codeq/tasks/" + std::string(id) + "/result", body);
    at_ = step::report;
    return expect(200, answer);
  }

  std::string enqueue_;
  std::string claim_;
  std::string report_;
  std::size_t& cycles_;
  step at_ = step::enqueue;
};

struct phase_figures {
  double requests_per_s = 0;
  double cpu_seconds = 0;
  std::size_t requests = 0;
};

template <class MakeClient>
result<phase_figures>
run_phase(const http_options& options, cluster& running, duration length, MakeClient make) {
  auto before = running.coordinator().cpu_time();
  if (!before)
    return before.error();
  auto ran = run_requests({running.http_port(), options.connections, length}, make);
  if (!ran)
    return ran.error();
  auto after = running.coordinator().cpu_time();
  if (!after)
    return after.error();
  return phase_figures{
    static_cast<double>(ran->requests) / ran->seconds,
    std::chrono::duration<double>(*after - *before).count(),
    ran->requests};
}

std::string to_json(
  const http_options& o,
  const phase_figures& enqueues,
  const phase_figures& cycles,
  std::size_t full_cycles) {
  std::ostringstream line;
  line << R"({"bench":"http","durability":")" << o.cluster.durability << R"(","connections":)"
       << o.connections << R"(,"payload":)" << o.payload << R"(,"shards":)" << o.cluster.shards
       << R"(,"enqueue_per_s":)" << enqueues.requests_per_s << R"(,"cycle_requests_per_s":)"
       << cycles.requests_per_s << R"(,"server_us_per_enqueue":)"
       << enqueues.cpu_seconds * 1e6 / static_cast<double>(enqueues.requests)
       << R"(,"server_us_per_cycle":)"
       << cycles.cpu_seconds * 1e6 / static_cast<double>(full_cycles) << R"(,"cycles":)"
       << full_cycles << '}';
  return line.str();
}

result<std::string> measure(const http_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  std::size_t cycles = 0;
  auto make_enqueuer = [&](std::size_t) { return std::make_unique<enqueuer>(options); };
  auto make_cycler = [&](std::size_t) { return std::make_unique<cycler>(options, cycles); };
  if (auto warmed_up = run_phase(options, *running, warm_up, make_cycler); !warmed_up)
    return warmed_up.error();
  auto enqueued = run_phase(options, *running, options.length, make_enqueuer);
  if (!enqueued)
    return enqueued.error();
  cycles = 0;
  auto cycled = run_phase(options, *running, options.length, make_cycler);
  if (!cycled)
    return cycled.error();
  if (cycles == 0)
    return error{errc::unavailable, "no cycle was completed"};
  return to_json(options, *enqueued, *cycled, cycles);
}

} // namespace

measurement http_measurement() {
  auto options = std::make_shared<http_options>();
  auto& cluster = options->cluster;
  return {
    {"http",
     "Requests per second over HTTP, one task each: enqueues alone, and full cycles",
     {count_option(
        "connections", "Keep-alive connections [default: 32]", options->connections, {1, 1024}),
      seconds_option(
        "seconds", "How long each part takes, in seconds [default: 5]", options->length),
      count_option(
        "payload", "Bytes of each payload [default: 256]", options->payload, {0, 1 << 20}),
      count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
      durability_option(cluster.durability, "os")}},
    [options] { return measure(*options); }};
}

} // namespace codeq::bench
