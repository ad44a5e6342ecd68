// SPDX-License-Identifier: Apache-2.0
// The desk's functions for the changes that users make, in a cluster also at other coordinators.
#include "base/random.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"
#include "http/wakeups/wakeup_desk.hpp"
#include "http/webhooks/callback_url.hpp"

#include <array>
#include <utility>

namespace codeq::http {

namespace {

error no_subscription(const subscription& s) {
  return {
    errc::unknown_task,
    "not-found: the token has no subscription " + quote(s.id)
      + ", or it has expired; POST /v1/codeq/workers/subscriptions makes another"};
}

/// Errors: `unknown_task` when the record has ended; those of the read; `corruption`.
result<subscription> subscription_in(const result<task_detail>& record) {
  if (!record)
    return record.error();
  if (record->status.state != task_state::ready)
    return error{errc::unknown_task, "the subscription has ended"};
  return read_subscription(record->payload.value_or(""));
}

} // namespace

void wakeup_desk::subscribe(subscription s, change_events events) {
  if (auto ok = check_url(s.url); !ok)
    return events.ended(ok.error());
  s.id = new_id(s.tenant);
  change({std::move(s), true, desk_->now()}, std::move(events));
}

void wakeup_desk::renew(const subscription& s, change_events events) {
  if (!options_.send)
    return events.ended(no_subscription(s));
  subscription_wish wish{s, false, desk_->now()};
  if (is_own(s))
    return change_own(wish, std::move(events));
  // Wishes about what does not exist are not looked for.
  auto take = [this, wish, events = std::move(events)](const result<task_detail>& record) {
    auto stored = subscription_in(record);
    if (!stored && stored.error().code == errc::unknown_task)
      return events.ended(no_subscription(wish.what));
    auto ok = stored ? check_renewal(*stored, wish.what) : result<void>(stored.error());
    if (!ok)
      return events.ended(ok.error());
    change(wish, events);
  };
  task_key key;
  key.queue = {subscriptions_tenant, s.tenant};
  key.key = s.id;
  desk_->describe_with_body(
    s.tenant, client::address_of(key, desk_->shard_count()), std::move(take));
}

bool wakeup_desk::is_own(const subscription& s) const {
  return desk_->is_here(value(walk_.shard_of(s.tenant, s.id)));
}

std::string wakeup_desk::new_id(const std::string& tenant) const {
  for (;;) {
    std::array<std::uint64_t, 2> bits{base::random_bits(), base::random_bits()};
    auto id = base::to_hex({reinterpret_cast<const char*>(bits.data()), sizeof(bits)});
    if (!desk_->has_shards() || desk_->is_here(value(walk_.shard_of(tenant, id))))
      return id;
  }
}

result<void> wakeup_desk::check_url(const std::string& url) const {
  return check_callback_url(options_, "invalid callback url", "callbackUrl", url);
}

result<void> wakeup_desk::check_room(const subscription& fresh) const {
  // A wish may be carried out twice.
  if (list_.find(fresh.id) || places_.has_room(fresh.tenant))
    return {};
  desk_->meter().note({"subscriptions_max", limits::subscriptions_max, "tenant", fresh.tenant});
  return error{
    errc::overloaded,
    "tenant " + fresh.tenant + " has " + std::to_string(places_.used_by(fresh.tenant))
      + " subscriptions; all tenants share " + std::to_string(limits::subscriptions_max)};
}

result<void>
wakeup_desk::check_renewal(const subscription& stored, const subscription& wished) const {
  if (stored.subject != wished.subject || stored.expires_at <= desk_->now())
    return no_subscription(wished);
  return {};
}

result<subscription> wakeup_desk::renewed(const subscription& wished) const {
  auto s = find_own(wished);
  if (!s)
    return s.error();
  if (auto ok = check_renewal(*s, wished); !ok)
    return ok.error();
  if (wished.ttl > duration{0})
    s->ttl = wished.ttl;
  return s;
}

result<subscription> wakeup_desk::find_own(const subscription& wished) const {
  const auto* found = list_.find(wished.id);
  if (found && found->tenant == wished.tenant)
    return *found;
  if (walk_.is_reading() || !walk_.has_read(walk_.shard_of(wished.tenant, wished.id)))
    return error{errc::overloaded, "the subscriptions are being read after the start"};
  return no_subscription(wished);
}

void wakeup_desk::change(const subscription_wish& wish, change_events events) {
  if (is_own(wish.what))
    change_own(wish, std::move(events));
  else
    pass_on(wish, std::move(events));
}

void wakeup_desk::change_own(const subscription_wish& wish, change_events events) {
  auto s = wish.is_new ? result<subscription>(wish.what) : renewed(wish.what);
  auto ok = wish.is_new ? check_room(wish.what) : result<void>{};
  if (!s || !ok)
    return events.ended(s ? ok.error() : s.error());
  s->expires_at = desk_->now() + s->ttl;
  put(*s, std::move(events));
}

void wakeup_desk::put(const subscription& s, change_events events) {
  // Its place is taken before its record is durable, so that many that come at once are counted.
  bool is_new = !list_.find(s.id);
  if (is_new)
    places_.force(s.tenant);
  auto stored = [this, s, is_new, ended = events.ended](const result<enqueued_task>& added) {
    if (is_new)
      places_.give_back(s.tenant);
    if (!added)
      return ended(added.error());
    // Its shard may have left meanwhile.
    if (!is_own(s))
      return ended(moved_away());
    take_up(s, added->id);
    ended(s);
  };
  events.began(desk_->enqueue(s.tenant, record_of(s), std::move(stored)));
}

void wakeup_desk::pass_on(const subscription_wish& wish, change_events events) {
  const auto& s = wish.what;
  auto answered = [ended = events.ended](const result<std::string>& told) {
    ended(told ? read_subscription(*told) : told.error());
  };
  events.began(wishes_.send(
    s.tenant, s.id, to_wish_text(wish), walk_.shard_of(s.tenant, s.id), std::move(answered)));
}

void wakeup_desk::grant(const std::string& text, shard_desk::then<std::string> done) {
  auto wish = read_subscription_wish(text);
  if (!wish)
    return done(wish.error());
  // Coordinators may have been started with different rules for URLs.
  if (auto ok = wish->is_new ? check_url(wish->what.url) : result<void>{}; !ok)
    return done(ok.error());
  change_own(*wish, {[done = std::move(done)](const result<subscription>& s) {
               done(s ? result<std::string>(to_record(*s)) : s.error());
             }});
}

} // namespace codeq::http
