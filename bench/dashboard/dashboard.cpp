// SPDX-License-Identifier: Apache-2.0
#include "dashboard/dashboard.hpp"

#include "dashboard/gateway_fill.hpp"
#include "http/request_loop.hpp"
#include "leases/lease_holder.hpp"
#include "load/cluster.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::bench {

namespace {

using clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

struct dashboard_options {
  cluster_options cluster = {.workers = 0, .durability = "os", .http = true};
  std::size_t tasks = 1'000'000;
  std::size_t dead = 100'000;
  std::size_t queues = 1000;
  std::size_t workers = 0;
  std::size_t rounds = 40;
  std::size_t rate = 0;
};

struct page {
  std::string_view name;
  std::string_view path;
};

constexpr auto pages = std::to_array<page>({
  {"overview", "/admin/history?span=hour"},
  {"queues", "/admin/queues"},
  {"queue", "/admin/queues/broken"},
  {"tasks", "/tasks?limit=50"},
  {"tasks_by_state", "/tasks?limit=50&state=ready&order=oldest"},
  {"tasks_by_key", "/tasks?limit=50&queue=q0&key=none"},
  {"dead", "/admin/dead?limit=25"},
  {"dead_by_error", "/admin/dead/summary?newest=2000"},
  {"operations", "/admin/operations"},
  {"workers", "/admin/workers"},
  {"schedules", "/schedules?limit=100"},
  {"store", "/admin/shards"},
  {"audit", "/admin/audit?limit=100"},
});

/// Makes one request and takes the time until its response.
class timed_request final : public http_client {
public:
  timed_request(std::string request, unsigned wanted, std::string& body, milliseconds& took)
    : request_(std::move(request)), wanted_(wanted), body_(body), took_(took) {}

  std::string next_request() override {
    start_ = clock::now();
    return request_;
  }

  result<void> take(const http_response& answer) override {
    took_ = clock::now() - start_;
    is_done_ = true;
    body_ = answer.body;
    if (answer.status == wanted_)
      return {};
    return error{
      errc::unavailable, "status " + std::to_string(answer.status) + " of " + request_ + body_};
  }

  [[nodiscard]] bool is_done() const override { return is_done_; }

private:
  std::string request_;
  unsigned wanted_;
  std::string& body_;
  milliseconds& took_;
  clock::time_point start_{};
  bool is_done_ = false;
};

struct timed_answer {
  std::string body;
  milliseconds took{0};
};

result<timed_answer> ask(cluster& running, const std::string& request, unsigned wanted) {
  timed_answer answer;
  auto make = [&](std::size_t) {
    return std::make_unique<timed_request>(request, wanted, answer.body, answer.took);
  };
  auto ran = run_requests({running.http_port(), 1, std::chrono::seconds(60)}, make);
  return ran ? result<timed_answer>(std::move(answer)) : ran.error();
}

std::string get_request(std::string_view path) {
  return "GET /v1/codeq" + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
}

/// The value of a member that is a whole number; 0 when there is none.
std::uint64_t number_member(std::string_view json, std::string_view name) {
  auto key = '"' + std::string(name) + "\":";
  std::uint64_t number = 0;
  if (auto at = json.find(key); at != std::string_view::npos)
    std::from_chars(json.data() + at + key.size(), json.data() + json.size(), number);
  return number;
}

double p95_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  constexpr double share = 0.95;
  auto place = std::ceil(share * static_cast<double>(times.size()));
  return times[static_cast<std::size_t>(place) - 1];
}

/// The p95 of each page in milliseconds, as members of a JSON object.
result<std::string> measure_pages(cluster& running, const dashboard_options& options) {
  std::ostringstream members;
  double worst = 0;
  for (const auto& one : pages) {
    std::vector<double> times;
    for (std::size_t i = 0; i < options.rounds; ++i) {
      auto answer = ask(running, get_request(one.path), 200);
      if (!answer)
        return answer.error();
      times.push_back(answer->took.count());
    }
    auto p95 = p95_of(std::move(times));
    worst = std::max(worst, p95);
    members << '"' << one.name << "_p95_ms\":" << p95 << ',';
  }
  members << R"("pages_p95_ms":)" << worst;
  return members.str();
}

/// Waits until the operation has changed so many tasks, or is over.
result<std::string> wait_for(cluster& running, const std::string& id, std::uint64_t tasks) {
  for (;;) {
    auto shown = ask(running, get_request("/admin/operations/" + id), 200);
    if (!shown)
      return shown.error();
    bool is_over = shown->body.find(R"("status":"running")") == std::string::npos;
    if (is_over || number_member(shown->body, "done") >= tasks)
      return shown->body;
    if (!pause(std::chrono::milliseconds(5)))
      return error{errc::going_away, "interrupted"};
  }
}

/// Waits until a coordinator that was started again has read its operations.
result<void> wait_until_read(cluster& running, const std::string& id) {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    if (ask(running, get_request("/admin/operations/" + id), 200))
      return {};
    if (!pause(std::chrono::milliseconds(10)))
      return error{errc::going_away, "interrupted"};
  }
  return error{errc::unavailable, "the operation was not read again"};
}

/// Redrives all dead tasks by an operation, and kills the coordinator in the middle.
result<std::string> measure_redrive(cluster& running, const dashboard_options& options) {
  auto body = R"({"kind":"redrive","queue":"broken","rate":)" + std::to_string(options.rate) + "}";
  auto begun = ask(running, post_request("/v1/codeq/admin/operations", body), 202);
  if (!begun)
    return begun.error();
  auto start = clock::now();
  std::string id(string_member(begun->body, "id"));
  auto half = wait_for(running, id, options.dead / 2);
  if (!half)
    return half.error();
  const std::chrono::duration<double> first = clock::now() - start;
  auto before = number_member(*half, "done");
  bool was_running = half->find(R"("status":"running")") != std::string::npos;
  if (auto again = running.restart_coordinator(options.cluster); !again)
    return again.error();
  if (auto read = wait_until_read(running, id); !read)
    return read.error();
  auto end = wait_for(running, id, options.dead + 1);
  if (!end)
    return end.error();
  auto queue = ask(running, get_request("/admin/queues/broken"), 200);
  if (!queue)
    return queue.error();
  auto ready = number_member(queue->body, "ready");
  auto left = number_member(queue->body, "dlq");
  if (number_member(*end, "done") != options.dead || ready != options.dead || left != 0)
    return error{errc::unavailable, "redriven: " + *end + ", the queue: " + queue->body};
  std::ostringstream members;
  members << R"("accepted_ms":)" << begun->took.count() << R"(,"asked_rate":)" << options.rate
          << R"(,"redriven_per_s":)" << static_cast<double>(before) / first.count()
          << R"(,"killed_midway":)" << (was_running ? "true" : "false")
          << R"(,"redriven_before_kill":)" << before << R"(,"redriven":)" << options.dead;
  return members.str();
}

using workers = std::vector<std::unique_ptr<lease_holder>>;

/// Connects workers that run some tasks each.
result<workers> connect_workers(cluster& running, const dashboard_options& options) {
  constexpr std::size_t leases = 8;
  constexpr duration longest{60'000};
  constexpr duration beat{10'000};
  workers made;
  for (std::size_t i = 0; i < options.workers; ++i) {
    std::string tasks;
    for (std::size_t k = 0; k < leases; ++k)
      tasks += (k == 0 ? "" : ",") + std::string(R"({"queue":"busy","payload":1})");
    auto added =
      ask(running, post_request("/v1/codeq/tasks/batch", R"({"tasks":[)" + tasks + "]}"), 200);
    if (!added)
      return added.error();
    made.push_back(std::make_unique<lease_holder>(lease_holder_options{
      .coordinator = running.address(),
      .name = "w" + std::to_string(i),
      .queue = "busy",
      .leases = leases}));
    if (auto held = made.back()->wait(longest); !held)
      return held.error();
    if (auto ok = made.back()->beat(beat); !ok)
      return ok.error();
  }
  return made;
}

result<std::string> measure(const dashboard_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  const gateway_fill fill{options.tasks, options.dead, options.queues};
  if (auto filled = fill_gateway(running->http_port(), fill); !filled)
    return filled.error();
  auto busy = connect_workers(*running, options);
  if (!busy)
    return busy.error();
  auto found = measure_pages(*running, options);
  if (!found)
    return found.error();
  busy->clear();
  auto redriven = measure_redrive(*running, options);
  if (!redriven)
    return redriven.error();
  std::ostringstream line;
  line << R"({"bench":"dashboard","durability":")" << options.cluster.durability << R"(","shards":)"
       << options.cluster.shards << R"(,"tasks":)" << options.tasks << R"(,"dead":)" << options.dead
       << R"(,"queues":)" << options.queues << R"(,"workers":)" << options.workers << ',' << *found
       << ',' << *redriven << '}';
  return line.str();
}

} // namespace

measurement dashboard_measurement() {
  auto to = std::make_shared<dashboard_options>();
  config::command entry{
    "dashboard",
    "How long the data of the dashboard's pages take, and a redrive of all dead tasks",
    {count_option("tasks", "Waiting tasks [default: 1000000]", to->tasks, {1, 100'000'000}),
     count_option("dead", "Dead tasks [default: 100000]", to->dead, {1, 10'000'000}),
     count_option("queues", "Queues [default: 1000]", to->queues, {1, 9000}),
     count_option("workers", "Workers with 8 tasks each [default: 0]", to->workers, {0, 1000}),
     count_option("rounds", "Requests for each page [default: 40]", to->rounds, {1, 10'000}),
     count_option(
       "rate", "Redriven tasks per second; 0: no limit [default: 0]", to->rate, {0, 1'000'000}),
     count_option(
       "shards", "Shards of the coordinator [default: 4]", to->cluster.shards, {1, 1024}),
     durability_option(to->cluster.durability, "os")}};
  return {entry, [to] { return measure(*to); }};
}

} // namespace codeq::bench
