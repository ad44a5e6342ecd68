// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/claims/claim_run.hpp"
#include "unit/http/claim_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::http {

using coordinator::credit_news;
using kind = credit_news::kind;
using lines = std::vector<std::string>;

inline constexpr std::uint64_t claim_name = 77;
inline constexpr shard_id first{0};
inline constexpr shard_id second{1};

/// Writes down what the claim does. A shard of this coordinator is named by its number, one of
/// another coordinator by its number and the attachment.
class noting_port : public claim_run_port {
public:
  void attach(
    shard_id to,
    coordinator::peer_attached who,
    const std::optional<core::claim>& first_claim) override {
    note(to, "attach " + std::to_string(who.peer));
    if (first_claim)
      command(to, *first_claim);
  }

  void detach(shard_id from) override { note(from, "detach"); }

  void command(shard_id to, core::command command) override {
    if (const auto* claim = std::get_if<core::claim>(&command)) {
      note(to, test::text_of(*claim));
      rooms.push_back(claim->bytes);
    }
    if (const auto* revoke = std::get_if<core::revoke_credits>(&command))
      note(to, test::text_of(*revoke));
  }

  void ask(shard_id to, protocol::queue_request question) override {
    auto number = question.read([](auto reader) -> result<std::uint64_t> {
      return reader.getNumber();
    });
    note(to, "ask " + std::to_string(*number));
  }

  void tell(const coordinator::claim_place& at, const coordinator::claim_step& step) override {
    EXPECT_EQ(at.claim, claim_name);
    if (const auto* claim = std::get_if<core::claim>(&step))
      rooms.push_back(claim->bytes);
    const auto text = std::visit([](const auto& one) { return test::text_of(one); }, step);
    lines_.push_back(
      std::to_string(value(at.shard)) + "/" + std::to_string(at.attachment) + " " + text);
  }

  void waits() override { lines_.push_back("waits"); }

  void ended(claimed_tasks how) override {
    lines_.push_back(
      "ended with " + std::to_string(how.tasks.size()) + (how.is_cut ? " cut" : "")
      + (how.refusal ? " refused " + std::string(to_string(how.refusal->code)) : ""));
  }

  void give_back(const std::vector<task>& tasks) override {
    lines_.push_back("gives back " + std::to_string(tasks.size()));
  }

  void look_again_soon() override { lines_.push_back("look again"); }

  void end_after(duration wait) override {
    lines_.push_back("end after " + std::to_string(wait.count()));
  }

  void close() override { lines_.push_back("close"); }

  void close_after(duration wait) override {
    lines_.push_back("close after " + std::to_string(wait.count()));
  }

  void note_refused(const std::string& by, const error&) override {
    lines_.push_back("refused by " + by);
  }

  void note_unread(std::string_view what, const error&) override {
    lines_.push_back("unread " + std::string(what));
  }

  void note_left(shard_id shard, const std::string&) override { note(shard, "left"); }

  [[nodiscard]] lines take() { return std::exchange(lines_, {}); }

  /// The room for tasks of each claim that was sent.
  std::vector<std::int64_t> rooms;

private:
  void note(shard_id shard, const std::string& text) {
    lines_.push_back(std::to_string(value(shard)) + " " + text);
  }

  lines lines_;
};

/// A claim of two shards.
class ClaimRun : public testing::Test {
protected:
  ClaimRun() {
    options_.claim = claim_name;
    options_.peer = 5;
    options_.shard_count = 2;
    options_.worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    options_.queues = {{"t", "q"}};
  }

  void start() {
    run_.emplace(options_, port_);
    run_->start();
  }

  /// Starts a claim of `count` tasks whose first credit goes to the second shard, which is another
  /// coordinator's.
  void start_far(std::uint32_t count = 1) {
    options_.count = count;
    options_.first_shard = 1;
    options_.away = {second};
    options_.reached = {second};
    start();
  }

  // These start a claim of one task that has placed its credit.

  void started_far() {
    start_far();
    EXPECT_EQ(take(), (lines{"1/1 attach", "1/1 claim 1"}));
  }

  void started_here() {
    start();
    EXPECT_EQ(take(), (lines{"0 attach 5", "0 claim 1"}));
  }

  void tell(shard_id shard, kind what, std::uint32_t credits = 0, std::int64_t being_read = 0) {
    credit_news news{shard, what, credits};
    news.being_read = being_read;
    run_->take(news);
  }

  void grant(shard_id shard, std::uint32_t count, std::optional<bool> more = false) {
    auto tasks = test::granted_tasks(shard, count);
    tasks.more = more;
    run_->take(tasks);
  }

  void answer(shard_id shard, std::uint64_t question, bool awaits_slots = false) {
    core::queue_answered answered;
    answered.number = question;
    answered.awaits_slots = awaits_slots;
    run_->take(coordinator::shard_reply{shard, answered});
  }

  /// The shard answers that it has too few copies in sync.
  void answer_without_copies(shard_id shard, std::uint64_t question) {
    core::queue_answered answered;
    answered.number = question;
    answered.lacks_copies = true;
    run_->take(coordinator::shard_reply{shard, answered});
  }

  /// The second shard, of another coordinator, says something for that attachment.
  void tell_far(
    std::uint32_t attachment, const coordinator::claim_event& event, shard_id shard = second) {
    run_->take(coordinator::make_claim_news({claim_name, attachment, shard}, event));
  }

  void grant_far(std::uint32_t attachment, std::uint32_t count) {
    coordinator::write_claim_tasks(
      {claim_name, attachment, second}, test::granted_tasks(second, count),
      [&](std::uint32_t, const protocol::wire_frame& frame) {
        run_->take(*protocol::claim_news::parse(frame.body));
      });
  }

  void lose_connection() {
    run_->lose(second);
    run_->look_again();
  }

  void find_connection() {
    run_->lose(second);
    run_->reach(second);
    run_->look_again();
  }

  [[nodiscard]] lines take() { return port_.take(); }

  claim_run_options options_;
  noting_port port_;
  std::optional<claim_run> run_;
};

/// Number of the lines that contain the text.
inline std::ptrdiff_t count_of(const lines& told, std::string_view text) {
  return std::count_if(told.begin(), told.end(), [text](const auto& line) {
    return line.find(text) != std::string::npos;
  });
}

} // namespace codeq::http
