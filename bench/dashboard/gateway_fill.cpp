// SPDX-License-Identifier: Apache-2.0
#include "dashboard/gateway_fill.hpp"

#include "http/request_loop.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::bench {

namespace {

constexpr std::size_t batch_max = 1000;
constexpr std::size_t connections = 4;
constexpr auto time_max = std::chrono::hours(1);

result<void> expect_200(const http_response& answer) {
  if (answer.status == 200)
    return {};
  return error{
    errc::unavailable,
    "status " + std::to_string(answer.status) + ": " + std::string(answer.body.substr(0, 300))};
}

/// Enqueues tasks in batches until `left` is 0; all connections share the number.
class task_filler final : public http_client {
public:
  task_filler(std::size_t& left, std::size_t queues, bool is_mortal)
    : left_(left), queues_(queues), is_mortal_(is_mortal) {}

  std::string next_request() override {
    auto count = std::min(left_, batch_max);
    auto queue = is_mortal_ ? "broken" : "q" + std::to_string(left_ / batch_max % queues_);
    left_ -= count;
    std::string body = R"({"tasks":[)";
    for (std::size_t i = 0; i < count; ++i) {
      body += i == 0 ? "" : ",";
      body += R"({"queue":")" + queue + R"(","payload":{"order":)" + std::to_string(i);
      body += is_mortal_ ? R"(},"maxAttempts":1})" : "}}";
    }
    return post_request("/v1/codeq/tasks/batch?limit=extended", body + "]}");
  }

  result<void> take(const http_response& answer) override { return expect_200(answer); }

  [[nodiscard]] bool is_done() const override { return left_ == 0; }

private:
  std::size_t& left_;
  std::size_t queues_;
  bool is_mortal_;
};

/// Claims tasks in batches and lets them fail, until `left` is 0.
class task_killer final : public http_client {
public:
  explicit task_killer(std::size_t& left) : left_(left) {}

  std::string next_request() override {
    if (!report_.empty())
      return std::exchange(report_, {});
    claimed_ = std::min(left_, batch_max);
    left_ -= claimed_;
    return post_request(
      "/v1/codeq/tasks/claim/batch?limit=extended",
      R"({"queues":["broken"],"leaseSeconds":600,"count":)" + std::to_string(claimed_) + "}");
  }

  result<void> take(const http_response& answer) override {
    if (is_reporting_) {
      is_reporting_ = false;
      return expect_200(answer);
    }
    if (answer.status == 204) {
      left_ += claimed_;
      return {};
    }
    if (auto ok = expect_200(answer); !ok)
      return ok;
    is_reporting_ = true;
    report_ = report_of(answer.body);
    return {};
  }

  [[nodiscard]] bool is_done() const override { return left_ == 0 && !is_reporting_; }

private:
  /// Reports each task of a claim as failed; the numbers in the texts differ.
  std::string report_of(std::string_view body) {
    constexpr std::string_view key = R"({"id":")";
    std::string results = R"({"results":[)";
    std::size_t found = 0;
    for (auto at = body.find(key); at != body.npos; at = body.find(key, at + 1), ++found) {
      auto begin = at + key.size();
      results += found == 0 ? "" : ",";
      results += R"({"taskId":")";
      results += body.substr(begin, body.find('"', begin) - begin);
      results += R"(","status":"FAILED","error":"no order )" + std::to_string(found) + R"("})";
    }
    left_ += claimed_ - found;
    return post_request("/v1/codeq/tasks/batch/results?limit=extended", results + "]}");
  }

  std::size_t& left_;
  std::size_t claimed_ = 0;
  std::string report_;
  bool is_reporting_ = false;
};

template <class MakeClient>
result<void> run(std::uint16_t port, std::size_t clients, MakeClient make) {
  auto ran = run_requests({port, clients, time_max}, make);
  return ran ? result<void>{} : ran.error();
}

} // namespace

result<void> fill_gateway(std::uint16_t port, const gateway_fill& fill) {
  auto tasks = fill.tasks;
  auto add = [&](std::size_t) { return std::make_unique<task_filler>(tasks, fill.queues, false); };
  if (auto ok = run(port, connections, add); !ok)
    return ok;
  auto mortal = fill.dead;
  auto add_mortal = [&](std::size_t) { return std::make_unique<task_filler>(mortal, 1, true); };
  if (auto ok = run(port, connections, add_mortal); !ok)
    return ok;
  auto left = fill.dead;
  // One connection, so that each claim finds what it asks for.
  return run(port, 1, [&](std::size_t) { return std::make_unique<task_killer>(left); });
}

} // namespace codeq::bench
