// SPDX-License-Identifier: Apache-2.0
#include "priority/priority.hpp"

#include "http/request_loop.hpp"
#include "load/cluster.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <random>
#include <sstream>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;

constexpr int priorities = 10;
constexpr std::size_t fill_connections = 32;
/// Longer than any run takes.
constexpr duration run_max = std::chrono::hours(1);
/// Longer than a task must have been ready for its priority to count.
constexpr duration settle = std::chrono::milliseconds(20);

struct priority_options {
  cluster_options cluster = {.workers = 0, .durability = "os", .http = true};
  std::size_t tasks = 100'000;
  std::size_t connections = 1;
};

/// A claim that got a task.
struct grant {
  steady::time_point sent;
  steady::time_point received;
  int priority = 0;
};

result<void> expect(unsigned status, const http_response& answer) {
  if (answer.status == status)
    return {};
  return error{
    errc::unavailable,
    "status " + std::to_string(answer.status) + ": " + std::string(answer.body)};
}

/// Enqueues tasks of random priorities until there are enough.
class filler final : public http_client {
public:
  filler(std::size_t& left, std::mt19937_64& random) : left_(left), random_(random) {}

  std::string next_request() override {
    --left_;
    auto priority = std::uniform_int_distribution<int>(0, priorities - 1)(random_);
    return post_request(
      "/v1/codeq/tasks",
      R"({"command":"priority","payload":"x","priority":)" + std::to_string(priority) + '}');
  }

  result<void> take(const http_response& answer) override { return expect(202, answer); }

  [[nodiscard]] bool is_done() const override { return left_ == 0; }

private:
  std::size_t& left_;
  std::mt19937_64& random_;
};

/// Claims one task after the other and completes it, until there is none.
class claimer final : public http_client {
public:
  explicit claimer(std::vector<grant>& grants)
    : claim_(post_request(
      "/v1/codeq/tasks/claim", R"({"commands":["priority"],"leaseSeconds":600})")),
      grants_(grants) {}

  std::string next_request() override {
    if (!report_.empty())
      return report_;
    sent_ = steady::now();
    return claim_;
  }

  result<void> take(const http_response& answer) override {
    if (!report_.empty()) {
      report_.clear();
      return expect(200, answer);
    }
    is_done_ = answer.status == 204;
    return is_done_ ? result<void>{} : take_claimed(answer);
  }

  [[nodiscard]] bool is_done() const override { return is_done_; }

private:
  result<void> take_claimed(const http_response& answer) {
    auto id = string_member(answer.body, "id");
    auto token = string_member(answer.body, "fencingToken");
    constexpr std::string_view key = "\"priority\":";
    auto at = answer.body.find(key);
    grant got{sent_, steady::now()};
    const auto* end = answer.body.data() + answer.body.size();
    if (id.empty() || at == std::string_view::npos)
      return error{errc::unavailable, "a claim without a task: " + std::string(answer.body)};
    std::from_chars(answer.body.data() + at + key.size(), end, got.priority);
    grants_.push_back(got);
    std::string body = R"({"status":"COMPLETED","result":{"ok":true},"fencingToken":")";
    body += token;
    body += "\"}";
    report_ = post_request("/v1/codeq/tasks/" + std::string(id) + "/result", body);
    return {};
  }

  std::string claim_;
  std::string report_;
  std::vector<grant>& grants_;
  steady::time_point sent_;
  bool is_done_ = false;
};

/// Number of grants during which a task of a higher priority waited: that one was claimed only
/// after the grant was received. All tasks were ready before the first claim.
std::size_t count_inverted(const std::vector<grant>& grants) {
  std::vector<steady::time_point> last_sent(priorities + 1);
  for (const auto& one : grants)
    for (int below = 0; below < one.priority; ++below)
      last_sent[below] = std::max(last_sent[below], one.sent);
  return static_cast<std::size_t>(
    std::count_if(grants.begin(), grants.end(), [&](const grant& one) {
      return last_sent[one.priority] > one.received;
    }));
}

std::string to_json(
  const priority_options& o, const std::vector<grant>& grants, const request_loop_figures& ran) {
  std::ostringstream line;
  line << R"({"bench":"priority","durability":")" << o.cluster.durability << R"(","shards":)"
       << o.cluster.shards << R"(,"connections":)" << o.connections << R"(,"tasks":)" << o.tasks
       << R"(,"grants":)" << grants.size() << R"(,"inverted":)" << count_inverted(grants)
       << R"(,"claims_per_s":)" << static_cast<double>(grants.size()) / ran.seconds << '}';
  return line.str();
}

result<std::string> measure(const priority_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  std::mt19937_64 random(1);
  auto left = options.tasks;
  auto filled = run_requests(
    {running->http_port(), std::min(fill_connections, options.tasks), run_max},
    [&](std::size_t) { return std::make_unique<filler>(left, random); });
  if (!filled)
    return filled.error();
  if (!pause(settle))
    return error{errc::going_away, "interrupted"};
  std::vector<grant> grants;
  auto ran = run_requests(
    {running->http_port(), options.connections, run_max},
    [&](std::size_t) { return std::make_unique<claimer>(grants); });
  if (!ran)
    return ran.error();
  if (grants.size() != options.tasks)
    return error{
      errc::unavailable, std::to_string(grants.size()) + " of the tasks were claimed"};
  return to_json(options, grants, *ran);
}

} // namespace

measurement priority_measurement() {
  auto options = std::make_shared<priority_options>();
  auto& cluster = options->cluster;
  return {
    {"priority",
     "Claims over HTTP, one task each, of ten priorities on several shards: how many get a task "
     "while one of a higher priority waits",
     {count_option("tasks", "Tasks in all [default: 100000]", options->tasks, {1, 10'000'000}),
      count_option(
        "connections", "Tasks that are held at once [default: 1]", options->connections, {1, 1024}),
      count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
      durability_option(cluster.durability, "os")}},
    [options] { return measure(*options); }};
}

} // namespace codeq::bench
