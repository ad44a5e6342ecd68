// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/schedule_meddling.hpp"

#include "client/operator_replies.hpp"
#include "sim/or_throw.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t name_count = 4;
/// The schedules fire for so long after the last fault.
constexpr virtual_time quiet = 8s;
constexpr virtual_time delete_again_after = 2s;

result<client::schedules_part> read(const protocol::wire_frame& frame) {
  auto reply = or_throw(protocol::schedule_reply::parse(frame.body));
  return or_throw(client::read_schedules(reply)).answer;
}

schedule_address some_name(chance& random) {
  return {"default", "s" + std::to_string(random.below(name_count))};
}

} // namespace

void schedule_meddling::start() {
  world_.time.after(world_.random.schedules.moment(50'000, 700'000), [this] { go_on(); });
}

void schedule_meddling::go_on() {
  if (is_winding_up_)
    return;
  if (operator_.is_up())
    meddle();
  start();
}

void schedule_meddling::meddle() {
  auto which = world_.random.schedules.below(100);
  if (which < 45)
    set();
  else if (which < 55)
    change(schedule_action::pause);
  else if (which < 68)
    change(schedule_action::resume);
  else if (which < 74)
    change(schedule_action::remove);
  else if (which < 84)
    change(schedule_action::run);
  else if (which < 92)
    backfill();
  else
    look();
}

void schedule_meddling::set() {
  auto& random = world_.random.schedules;
  auto name = some_name(random);
  auto known = wishes_.find(name.name);
  bool is_another = known == wishes_.end() || random.hits(700);
  if (is_another) {
    auto wish = some_wish(random, world_.wall());
    auto payload = auditor_.ticks().remember(wish);
    known = wishes_.insert_or_assign(name.name, std::pair{wish, payload}).first;
  }
  const auto& [wish, payload] = known->second;
  auto spec = spec_of(wish, name.name, payload);
  auto asked = or_throw(client::ask_set_schedule(operator_.place_of(name), spec));
  auto is_set = std::make_shared<bool>(false);
  auto answered = [this, name, is_set](const protocol::wire_frame& frame) {
    auto answer = read(frame);
    if (!answer && !(answer.error().code == errc::disk_full && world_.was_disk_full))
      auditor_.breach("schedule", name.name + " was refused: " + to_string(answer.error()));
    // Equal requests at once leave one schedule.
    if (answer && std::exchange(*is_set, true) && answer->what != schedule_result::unchanged)
      auditor_.breach("schedule", "an equal request changed schedule " + name.name);
  };
  for (auto count = random.hits(300) ? random.between(2, 4) : 1; count > 0; --count) {
    auditor_.ticks().change_asked(name);
    operator_.ask("set of " + name.name, asked, answered);
  }
}

void schedule_meddling::change(schedule_action what) {
  auto name = some_name(world_.random.schedules);
  auto number = auditor_.ticks().change_asked(name);
  auto answered = [this, name, what, number](const protocol::wire_frame& frame) {
    auto answer = read(frame);
    if (!answer)
      return;
    bool is_paused = !answer->schedules.empty() && answer->schedules.front().paused;
    if (what == schedule_action::pause && !is_paused)
      auditor_.breach("schedule", "schedule " + name.name + " is not paused after it");
    if (what == schedule_action::pause)
      auditor_.ticks().pause_answered(name, number);
  };
  operator_.ask(
    "change " + std::to_string(static_cast<int>(what)) + " of " + name.name,
    client::ask_change_schedule(operator_.place_of(name), what),
    answered);
}

void schedule_meddling::backfill() {
  auto& random = world_.random.schedules;
  auto name = some_name(random);
  auto until = world_.wall() - duration{random.between(0, 2'000)};
  operator_.ask(
    "backfill of " + name.name,
    client::ask_backfill_schedule(
      operator_.place_of(name), until - duration{random.between(1'000, 8'000)}, until),
    [](const auto& frame) { static_cast<void>(read(frame)); });
}

void schedule_meddling::look() {
  auto& random = world_.random.schedules;
  auto at = operator_.place_of(some_name(random));
  auto answered = [this, at](const protocol::wire_frame& frame) {
    auto answer = read(frame);
    if (!answer)
      return;
    auto& history = answer->history;
    auto is_later = [](const auto& a, const auto& b) { return b.number != a.number + 1; };
    if (std::adjacent_find(history.begin(), history.end(), is_later) != history.end())
      auditor_.breach("schedule", "the history of " + at.name.name + " has a hole");
  };
  auto which = random.below(3);
  if (which == 0)
    operator_.ask("history of " + at.name.name, client::ask_schedule_history(at), answered);
  else if (which == 1)
    operator_.ask("next of " + at.name.name, client::ask_schedule(at, 5), answered);
  else
    operator_.ask(
      "schedules", client::ask_schedules({at.shard, {"default", ""}}, 10), answered);
}

void schedule_meddling::wind_up() {
  is_winding_up_ = true;
  world_.time.after(quiet, [this] { delete_all(); });
}

void schedule_meddling::delete_all() {
  auto left = auditor_.ticks().names();
  if (left.empty()) {
    is_over_ = true;
    return;
  }
  for (const auto& name : left) {
    auditor_.ticks().change_asked(name);
    if (operator_.is_up())
      operator_.ask(
        "deletion of " + name.name,
        client::ask_change_schedule(operator_.place_of(name), schedule_action::remove),
        [](const auto& frame) { static_cast<void>(read(frame)); });
  }
  world_.time.after(delete_again_after, [this] { delete_all(); });
}

} // namespace codeq::sim
