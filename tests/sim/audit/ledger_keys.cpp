// SPDX-License-Identifier: Apache-2.0
#include "protocol/frame.hpp"
#include "sim/audit/ledger.hpp"
#include "sim/schedules/tick_book.hpp"
#include "task.capnp.h"

#include <algorithm>

/// Ownership of keys: each key has one live record, and is taken and freed as the contract says.
namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// Stands between payload and number of a schedule's task.
constexpr char tick_name_mark = '#';

/// A key must be free at the latest this long after its time.
constexpr duration key_slack = 1s;

std::string payload_in(const bytes& body) {
  auto parsed = protocol::frame<schema::TaskBody>::parse(body);
  if (!parsed)
    return "a broken body";
  auto payload = parsed->read([](auto from) -> result<std::string> {
    auto found = from.getPayload().asChars();
    return std::string(found.begin(), found.size());
  });
  return *payload;
}

std::vector<std::string> payloads_in(const core::encoded_tasks& tasks) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < tasks.count(); ++i)
    found.push_back(payload_in(tasks.part(i, 1).body));
  return found;
}

} // namespace

void ledger::asked(shard_id shard, const core::command& c) {
  asked_[shard].push_back(c);
}

std::string ledger::first_payload_of(const task_id& id) const {
  auto at = first_payloads_.find(id);
  return at == first_payloads_.end() ? std::string() : at->second;
}

bool ledger::knows(const task_id& id) const {
  auto book = shards_.find(id.shard);
  return book != shards_.end() && book->second.tasks.contains(id.seq);
}

bool ledger::has_ended(const std::string& first_payload) const {
  auto id = tasks_of_payloads_.find(first_payload);
  return id != tasks_of_payloads_.end() && knows(id->second)
         && is_terminal(shards_.at(id->second.shard).tasks.at(id->second.seq).state);
}

std::string ledger::living_ticks() const {
  std::string text;
  for (const auto& [shard, book] : shards_)
    for (const auto& [seq, t] : book.tasks)
      if (tick_book::is_tick(t.first_payload) && !is_terminal(t.state))
        text += t.first_payload + " has not ended\n";
  return text;
}

std::optional<std::string> ledger::payload_of(shard_id shard, fencing_token token) const {
  auto at = leased_payloads_.find({shard, token});
  return at == leased_payloads_.end() ? std::nullopt : std::optional{at->second};
}

std::optional<enqueued_task> ledger::verdict_on(const std::string& payload) const {
  auto at = verdicts_.find(payload);
  return at == verdicts_.end() ? std::nullopt : std::optional{at->second};
}

void ledger::note(sequence seq) {
  if (checking_)
    turn_.before[seq].push_back(book_->tasks.at(seq));
}

bool ledger::is_new(sequence seq) const {
  return std::any_of(
    turn_.added.begin(), turn_.added.end(), [&](const auto& added) { return added.second == seq; });
}

std::vector<ledger::task> ledger::moments_of(sequence seq) const {
  std::vector<task> moments;
  if (auto before = turn_.before.find(seq); before != turn_.before.end())
    moments = before->second;
  moments.push_back(book_->tasks.at(seq));
  return moments;
}

void ledger::read_items(const core::enqueue& c) {
  auto& payloads = request_payloads_[{c.request.producer, c.request.number}];
  payloads.clear();
  for (const auto& run : c.runs) {
    for (auto& payload : payloads_in(run.tasks)) {
      turn_.items.insert_or_assign(payload, item{payload, run});
      payloads.push_back(std::move(payload));
    }
  }
}

std::vector<std::string> ledger::payloads_of(const core::segment_appended& e) const {
  std::vector<std::string> found;
  for (const auto& piece : e.pieces) {
    auto part = payloads_in(piece);
    found.insert(found.end(), part.begin(), part.end());
  }
  // Records that come back after a crash contain no payloads.
  for (auto seq = e.first + found.size(); found.size() < e.count; ++seq)
    found.push_back(first_payload_of({shard_, seq}));
  return found;
}

std::string ledger::name_of(const std::string& payload, sequence seq) const {
  bool is_plain = !tick_book::is_tick(payload) || payload.find(tick_name_mark) != payload.npos;
  if (is_plain)
    return payload;
  return payload + tick_name_mark + std::to_string(value(shard_)) + '/' + std::to_string(seq);
}

void ledger::take_payload(
  const core::segment_appended& e, sequence seq, const std::string& payload, task& t) {
  auto name = name_of(payload, seq);
  t.first_payload = name;
  t.payload = payload.substr(0, payload.find(tick_name_mark));
  first_payloads_[{shard_, seq}] = name;
  tasks_of_payloads_[name] = {shard_, seq};
  turn_.added.emplace(name, seq);
  if (auto by = turn_.items.find(payload); checking_ && by != turn_.items.end())
    check_as_asked(e, by->second);
}

void ledger::check_as_asked(const core::segment_appended& e, const item& by) {
  const auto& run = by.run;
  bool is_same =
    e.queue == run.queue && e.priority == run.priority && e.group == run.group && e.key == run.key;
  if (!is_same)
    breach("enqueue", e.first, "is not as " + by.payload + " was asked for");
  bool is_due = e.not_before == timestamp{} && run.not_before <= sealed_at_;
  if (e.not_before != run.not_before && !is_due)
    breach("I5", e.first, "waits for another time than " + by.payload + " was asked for");
  if (turn_.configured.contains(e.queue))
    return;
  auto known = book_->settings.find(e.queue);
  auto defaults = known == book_->settings.end() ? task_settings{} : known->second.config.defaults;
  auto is_left = [&](core::setting_bit bit) {
    return (run.left_to_queue & static_cast<std::uint16_t>(bit)) != 0;
  };
  const auto& attempts = is_left(core::setting_bit::max_attempts) ? defaults : run.settings;
  const auto& retry = is_left(core::setting_bit::retry) ? defaults : run.settings;
  if (e.settings.max_attempts != attempts.max_attempts || e.settings.retry != retry.retry)
    breach("queue", e.first, "has other settings than " + by.payload + " and its queue");
}

void ledger::take_key(const core::segment_appended& e) {
  if (e.key.empty())
    return;
  auto& t = book_->tasks.at(e.first);
  t.key = {e.queue, e.group, e.key};
  check_sole(t, e.first);
  // Follow-ups that are not in the request have the default policy.
  auto by = turn_.items.find(t.first_payload);
  auto policy = by == turn_.items.end() ? on_duplicate::existing : by->second.run.duplicate;
  bool waits_for_end = policy != on_duplicate::existing && policy != on_duplicate::reject;
  const auto* latest = latest_of(t.key);
  // When that record is gone, an earlier one may have the key, or none.
  bool is_taken =
    latest && !latest->gone && (!latest->key_until || *latest->key_until > sealed_at_);
  if (is_taken && !waits_for_end)
    breach("keys", e.first, "was created, though " + latest->first_payload + " has its key");
  t.since = e.position;
  book_->keys[t.key].insert(e.first);
}

const ledger::task* ledger::latest_of(const task_key& key) const {
  auto holders = book_->keys.find(key);
  if (holders == book_->keys.end())
    return nullptr;
  const task* latest = nullptr;
  for (auto holder : holders->second) {
    const auto& t = book_->tasks.at(holder);
    latest = !latest || latest->since < t.since ? &t : latest;
  }
  return latest;
}

void ledger::check_sole(const task& t, sequence seq) {
  if (t.key.key.empty())
    return;
  for (auto holder : book_->keys[t.key]) {
    const auto& other = book_->tasks.at(holder);
    if (holder != seq && !is_terminal(other.state))
      breach("I10", seq, "lives beside " + std::to_string(holder) + ", which has the same key");
  }
}

void ledger::replace_body(const core::tasks_changed& record, const core::task_change& c, task& t) {
  auto& payloads = replaced_payloads_[{shard_, record.position}][c.seq];
  if (checking_)
    payloads.push_back(payload_in(c.body));
  if (payloads.empty())
    return;
  // When one record has several bodies for a task, the last one counts, also after a crash.
  t.payload = payloads.back();
  turn_.replaced[c.seq].push_back(payloads.back());
}

void ledger::remember(const core::answered_request& a) {
  turn_.answers.push_back(a);
  auto payloads = request_payloads_.find({a.request.producer, a.request.number});
  if (payloads == request_payloads_.end())
    return;
  std::size_t i = 0;
  for (const auto& run : a.answer.tasks) {
    for (std::uint32_t k = 0; k < run.count && i < payloads->second.size(); ++k, ++i) {
      auto kind = a.answer.kinds.empty() ? enqueue_kind::created : a.answer.kinds[i];
      verdicts_[payloads->second[i]] = {{shard_, run.first + k}, kind};
    }
  }
}

void ledger::check_unanswered() {
  for (const auto& [shard, book] : shards_) {
    shard_ = shard;
    for (const auto& [seq, t] : book.tasks) {
      bool has_answer = verdicts_.contains(t.first_payload) || tick_book::is_tick(t.first_payload);
      if (!t.key.key.empty() && !has_answer)
        breach("atomic", seq, "is on the disk, and the answer of its request is not");
    }
  }
  for (const auto& [payload, verdict] : verdicts_) {
    shard_ = verdict.id.shard;
    if (!shards_[shard_].tasks.contains(verdict.id.seq))
      breach("atomic", verdict.id.seq, "is not on the disk, and the answer for " + payload + " is");
  }
}

bool ledger::has_time_left(const task& t) const {
  return !t.key_until || *t.key_until + key_slack > sealed_at_;
}

} // namespace codeq::sim
