// SPDX-License-Identifier: Apache-2.0
#include "node/jwt_access.hpp"

#include "base/clock.hpp"
#include "base/wall_clock.hpp"
#include "base/errors.hpp"
#include "config/values.hpp"
#include "http/server/outgoing.hpp"
#include "observe/log.hpp"
#include "security/access_limits.hpp"
#include "security/private_file.hpp"
#include "security/tls_context.hpp"
#include "security/token_table.hpp"

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace codeq::node {

namespace {

using base::wrong;

bool is_url(const std::string& text) {
  return text.find("://") != std::string::npos;
}

/// Reads the text of a key set.
using read_text = std::function<result<std::string>()>;

result<std::string> read_file(const std::string& file) {
  if (security::is_writable_by_others(file))
    return error{
      errc::unavailable,
      file + ": every user may write it, and so sign tokens; take that right away"};
  std::ifstream in(file, std::ios::binary);
  std::string text(limits::jwks_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (!in.eof() && in.fail()) || (in.eof() && in.gcount() == 0))
    return error{errc::unavailable, file + ": cannot be read, or is empty"};
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

result<std::string> fetch(http::outgoing_request request) {
  auto answer = http::send_and_wait(std::move(request));
  if (!answer)
    return answer.error();
  if (answer->status != 200)
    return error{errc::unavailable, "the server answers " + std::to_string(answer->status)};
  return std::move(answer->body);
}

/// Errors: `invalid_argument` for keys that would come over a network without TLS.
result<read_text> fetcher_of(const jwt_options& options) {
  auto url = http::parse_url(options.keys);
  if (!url)
    return url.error();
  if (!url->is_secured && !config::is_loopback(url->host))
    return wrong("keys is " + options.keys + "; only a loopback address may do without https");
  http::outgoing_request request;
  request.url = std::move(*url);
  request.fields = {{"Accept", "application/json"}};
  request.timeout = limits::jwks_fetch_timeout;
  request.answer_bytes_max = limits::jwks_bytes_max;
  if (request.url.is_secured) {
    security::tls_files files{{}, {}, options.authority};
    files.trust_system = true;
    auto tls = security::tls_context::load(files, security::tls_side::client);
    if (!tls)
      return tls.error();
    request.tls = std::move(*tls);
  }
  return read_text([request = std::move(request)] { return fetch(request); });
}

monotonic_time steady_now() {
  return base::system_clock(timestamp{}).now().steady;
}

result<void> set_claim(security::claim_names& names, const std::string& field, std::string name) {
  for (auto [known, target] :
       {std::pair("subject", &names.subject),
        std::pair("tenant", &names.tenant),
        std::pair("role", &names.role),
        std::pair("scopes", &names.scopes),
        std::pair("queues", &names.queues)}) {
    if (field != known || name.empty())
      continue;
    *target = std::move(name);
    return {};
  }
  return wrong(
    "claim `" + field + "` must be subject, tenant, role, scopes or queues, with a name");
}

} // namespace

result<security::jwt_rules> jwt_rules_of(const jwt_options& options) {
  security::jwt_rules rules;
  rules.issuers = options.issuers;
  rules.audiences = options.audiences;
  rules.default_tenant = options.tenant;
  if (rules.issuers.empty() || rules.audiences.empty())
    return wrong("JWTs need at least one issuer and one audience");
  for (const auto& [field, name] : options.claims)
    if (auto ok = set_claim(rules.claims, field, name); !ok)
      return ok.error();
  for (const auto& [value, role] : options.roles) {
    auto what = security::parse_role(role);
    if (!what)
      return wrong("role " + role + " " + what.error().context);
    rules.role_values.emplace_back(value, *what);
  }
  return rules;
}

struct key_refresher::state {
  explicit state(const jwt_options& options)
    : source(options.keys), schedule(options.refresh), stale_after(options.stale_after) {}

  /// Reads the keys and puts them in use. Errors: as for `refresh`.
  result<void> refresh();

  /// Waits for the time of the next refresh; false when the refresher ends.
  bool await_next();

  std::string source;
  read_text read;
  std::shared_ptr<security::key_source> keys;
  /// Taken for a whole refresh, so that there is one at a time.
  std::mutex refreshing;

  std::mutex mutex;
  std::condition_variable changed;
  security::refresh_schedule schedule;
  duration stale_after;
  std::function<void()> on_change;
  bool was_good = true;
  bool stopping = false;
};

result<void> key_refresher::state::refresh() {
  std::lock_guard one(refreshing);
  auto text = read();
  auto set = text ? security::parse_jwk_set(*text) : result<security::jwk_set>(text.error());
  std::unique_lock lock(mutex);
  schedule.done(set.has_value(), steady_now());
  bool was = std::exchange(was_good, set.has_value());
  if (!set) {
    if (was)
      CODEQ_LOG_WARN(
        "keys of JWTs cannot be read, earlier ones stay in use source={} reason=\"{}\"",
        source,
        to_string(set.error()));
    return error{set.error().code, "keys of JWTs: " + source + ": " + set.error().context};
  }
  auto count = set->size();
  bool differs = keys->replace(std::move(*set), base::wall_now());
  if (differs || !was)
    CODEQ_LOG_INFO("keys of JWTs are read source={} keys={} changed={}", source, count, differs);
  if (differs && on_change)
    on_change();
  return {};
}

bool key_refresher::state::await_next() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    auto wait = schedule.next() - steady_now();
    if (wait <= duration{0})
      return true;
    changed.wait_for(lock, wait);
  }
  return false;
}

result<std::unique_ptr<key_refresher>> key_refresher::start(const jwt_options& options) {
  auto s = std::make_shared<state>(options);
  s->read = [file = options.keys] { return read_file(file); };
  if (is_url(options.keys)) {
    auto fetcher = fetcher_of(options);
    if (!fetcher)
      return fetcher.error();
    s->read = std::move(*fetcher);
  }
  auto hurry = [weak = std::weak_ptr(s)] {
    if (auto open = weak.lock()) {
      std::lock_guard lock(open->mutex);
      open->schedule.hurry();
      open->changed.notify_one();
    }
  };
  s->keys = std::make_shared<security::key_source>(options.stale_after, std::move(hurry));
  if (auto ok = s->refresh(); !ok && !is_url(options.keys))
    return ok.error();
  std::thread([s] {
    while (s->await_next())
      static_cast<void>(s->refresh());
  }).detach();
  return std::unique_ptr<key_refresher>(new key_refresher(std::move(s)));
}

key_refresher::~key_refresher() {
  std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->on_change = nullptr;
  state_->changed.notify_one();
}

std::shared_ptr<const security::key_source> key_refresher::keys() const {
  return state_->keys;
}

void key_refresher::notify(std::function<void()> on_change) {
  std::lock_guard lock(state_->mutex);
  state_->on_change = std::move(on_change);
}

result<void> key_refresher::refresh() {
  return state_->refresh();
}

} // namespace codeq::node
