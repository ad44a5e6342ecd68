// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include "coordinator/shared/shared_board.hpp"
#include "http/server/target.hpp"
#include "storage/recovery/recovery.hpp"

#include <sstream>
#include <utility>

namespace codeq::test {

namespace {

/// The caller that a test token describes; null for any other token.
std::shared_ptr<const http::caller> caller_of(std::string_view token) {
  std::vector<std::string> parts;
  std::istringstream text{std::string(token)};
  for (std::string part; std::getline(text, part, ':');)
    parts.push_back(part);
  if (parts.size() < 3)
    return nullptr;
  http::caller by{parts[1], parts[0]};
  by.is_producer = parts[2].find('p') != std::string::npos;
  by.is_worker = parts[2].find('w') != std::string::npos;
  by.is_admin = parts[2].find('a') != std::string::npos;
  by.sees_all_tenants = parts[2].find('t') != std::string::npos;
  by.is_reader = parts[2].find('r') != std::string::npos;
  by.sees_metrics = by.sees_all_tenants || parts[2].find('m') != std::string::npos;
  if (parts[2].find('j') != std::string::npos) {
    security::principal bearer;
    bearer.subject = by.subject;
    bearer.tenant = by.tenant;
    bearer.signing_key = security::token_digest{};
    by.bearer = std::make_shared<const security::principal>(std::move(bearer));
  }
  if (parts.size() > 4 && !parts[3].empty()) {
    by.scopes = {};
    if (auto scope = security::parse_scope(parts[3] + ":" + parts[4]))
      by.scopes.add(*scope);
  }
  by.all_queues = parts.size() <= 5;
  if (!by.all_queues)
    by.queues = {parts[5]};
  return std::make_shared<const http::caller>(std::move(by));
}

/// True for an enqueue request of that tenant.
bool is_enqueue_of(const coordinator::peer_request& m, const std::string& tenant) {
  const auto* request = std::get_if<protocol::enqueue_request>(&m.request);
  if (!request)
    return false;
  auto found = request->read([&](auto r) -> result<bool> {
    for (auto run : r.getRuns())
      if (tenant == run.getQueue().getTenant().cStr())
        return true;
    return false;
  });
  return found && *found;
}

/// True for a list request of that tenant.
bool is_list_of(const coordinator::peer_request& m, const std::string& tenant) {
  const auto* request = std::get_if<protocol::list_request>(&m.request);
  if (!request)
    return false;
  auto found = request->read(
    [&](auto r) -> result<bool> { return tenant == r.getFilter().getTenant().cStr(); });
  return found && *found;
}

/// The request with nothing but its number, and a window that begins behind it.
coordinator::peer_request malform(const coordinator::peer_request& m) {
  auto number = protocol::number_of(std::get<protocol::enqueue_request>(m.request)).value();
  auto malformed = m;
  malformed.request = protocol::enqueue_request::build([&](auto request) {
    request.setNumber(number);
    request.setAnsweredBelow(number + 1);
  });
  return malformed;
}

} // namespace

coordinator::shard_actor http_fixture::filter(const coordinator::shard_actor& shard) {
  auto pass = [shard,
               tenant = unanswered_tenant_,
               malformed = malformed_tenant_,
               attached = claims_attached_,
               questions = questions_asked_](
                coordinator::shard_actor::pointer self) -> coordinator::shard_actor::behavior_type {
    return {
      [=](const coordinator::peer_request& m) {
        *questions += std::holds_alternative<protocol::status_request>(m.request) ? 1 : 0;
        if (is_enqueue_of(m, *malformed))
          self->send(shard, malform(m));
        else if (!is_enqueue_of(m, *tenant) && !is_list_of(m, *tenant))
          self->send(shard, m);
      },
      [=](const coordinator::shard_command& m) { self->send(shard, m); },
      [=](const coordinator::attach_peer& m) {
        *attached += m.who.worker ? 1 : 0;
        self->send(shard, m);
      },
      [=](const coordinator::detach_peer& m) { self->send(shard, m); },
      [=](const coordinator::ask_shard_stats& m) { return self->delegate(shard, m); },
      [=](const coordinator::stop_shard& m) { return self->delegate(shard, m); },
    };
  };
  return system_.get().spawn(pass);
}

std::string http_fixture::answer::operator[](const std::string& name) const {
  auto object = http::json_object::parse(body);
  return object ? std::string(object->raw(name)) : std::string();
}

std::string http_fixture::answer::text(const std::string& name) const {
  auto object = http::json_object::parse(body);
  return object ? object->text(name) : std::string();
}

http_fixture::http_fixture() {
  options_.who = &caller_of;
  options_.check_disk = [] { return result<void>{}; };
  options_.metrics = [](const base::coordinator_counts& stats) {
    return "queues " + std::to_string(stats.queues.size());
  };
  start();
}

void http_fixture::start() {
  auto fail = [](const error& e) { FAIL() << to_string(e); };
  ++epoch_;
  auto own = [this](auto actor) {
    running_.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
    return system_.own(actor);
  };
  auto journal = own(system_.get().spawn(
    coordinator::drive_journal, coordinator::journal_driver_options{store_, {}, fail}));
  coordinator::reader_driver_options reads;
  reads.reader.store = store_;
  reads.on_failure = fail;
  auto reader = own(system_.get().spawn(coordinator::drive_reader, reads));
  options_.desk = {};
  options_.desk.store_id = 1;
  options_.desk.meter = meter_;
  options_.desk.shares = shares_;
  options_.desk.answers = answers_;
  options_.desk.clock = std::make_shared<virtual_clock>(system_);
  auto board = std::make_shared<coordinator::shared_board>(shard_count);
  options_.desk.board = board;
  coordinator::meet_shards neighbours;
  std::vector<coordinator::shard_internal_actor> shards;
  for (std::uint16_t i = 0; i < shard_count; ++i) {
    coordinator::shard_driver_options options;
    options.clock = std::make_shared<virtual_clock>(system_);
    auto steady = options.clock->now().steady;
    options.shard.state =
      std::move(storage::recover(*store_, static_cast<shard_id>(i), epoch_, steady).value());
    options.store = store_;
    options.journal = journal;
    options.reader = reader;
    options.shard.shard_count = shard_count;
    options.shard.board = board;
    auto shard = own(system_.get().spawn(coordinator::drive_shard, options));
    options_.desk.shards.push_back(own(filter(shard)));
    shards.push_back(shard);
    neighbours.shards.push_back(shard);
  }
  for (const auto& shard : shards)
    caf::anon_send(shard, neighbours);
  gateway_ = own(system_.get().spawn(http::gateway, options_));
  system_.run();
}

void http_fixture::restart() {
  for (auto& actor : std::exchange(running_, {}))
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  system_.run();
  start();
}

http_fixture::pending
http_fixture::begin(const std::string& method, const std::string& target, const std::string& body) {
  auto made = send_along(method, target, body);
  run();
  return made;
}

http_fixture::pending http_fixture::send_along(
  const std::string& method, const std::string& target, const std::string& body) {
  auto made = make_request(method, target, body);
  caf::anon_send(gateway_, http::call_arrived{made.call});
  return made;
}

http_fixture::pending http_fixture::begin_as(const std::string& host, const std::string& origin) {
  auto made = make_request("GET", "/tasks", {});
  made.call->in.host = host;
  made.call->in.origin = origin;
  caf::anon_send(gateway_, http::call_arrived{made.call});
  run();
  return made;
}

http_fixture::pending http_fixture::make_request(
  const std::string& method, const std::string& target, const std::string& body) {
  pending made{
    std::make_shared<http::exchange>(), std::make_shared<std::optional<answer>>(std::nullopt)};
  auto& in = made.call->in;
  in.method = method;
  in.bearer = token_;
  made.call->by = caller_of(token_);
  in.body = body;
  in.host = "localhost";
  in.idempotency_key = key_header_;
  auto full = target.starts_with("/") && target.size() > 1 && target[1] == '/'
                ? target.substr(1)
                : "/v1/codeq" + target;
  EXPECT_TRUE(http::read_target(full, in));
  made.call->answer = [to = made.answered](http::response r) {
    EXPECT_FALSE(to->has_value()) << "answered twice";
    *to = answer{r.status, std::move(r.body), {r.fields.begin(), r.fields.end()}};
    (*to)->share = std::move(r.share);
    (*to)->on_unwritten = std::move(r.on_unwritten);
    (*to)->events = std::move(r.events);
  };
  return made;
}

http_fixture::answer
http_fixture::call(const std::string& method, const std::string& target, const std::string& body) {
  auto request = begin(method, target, body);
  EXPECT_TRUE(request.is_answered()) << method << ' ' << target;
  return request.answered->value_or(answer{});
}

bool http_fixture::step() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_.get().scheduler()).try_run_once();
}

void http_fixture::end_session() {
  error reason{errc::protocol_error, "a request cannot be read"};
  caf::anon_send(gateway_, coordinator::peer_misbehaved{reason});
}

void http_fixture::stop_gateway() {
  caf::anon_send(gateway_, http::stop_gateway{});
}

void http_fixture::go_away(const pending& request) {
  caf::anon_send(gateway_, http::client_gone{request.call});
  system_.run();
}

std::string http_fixture::enqueue(const std::string& queue, const std::string& more) {
  auto added = post("/tasks", R"({"command":")" + queue + R"(","payload":{})" + more + "}");
  EXPECT_EQ(202u, added.status) << added.body;
  return added.text("id");
}

http_fixture::answer http_fixture::claim(const std::string& queue) {
  auto claimed = post("/tasks/claim", R"({"commands":[")" + queue + R"("],"leaseSeconds":60})");
  EXPECT_EQ(200u, claimed.status) << claimed.body;
  return claimed;
}

} // namespace codeq::test
