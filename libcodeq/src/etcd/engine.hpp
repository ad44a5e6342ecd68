// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "etcd/call.hpp"
#include "etcd/connection.hpp"
#include "etcd/history.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace codeq::etcd {

/// Counts since the start.
struct client_counts {
  std::uint64_t calls = 0;
  /// Requests beyond the first one of a call, to another or the same member.
  std::uint64_t repeated = 0;
  /// Calls that ended without an answer.
  std::uint64_t unanswered = 0;
  /// Calls that were refused because too many waited.
  std::uint64_t overloaded = 0;
  std::uint64_t watch_cuts = 0;
};

/// Sends requests to the members as their `call` says, over connections that it keeps. Used on the
/// thread that runs its `io_context`.
class engine {
public:
  struct members {
    std::vector<member_url> urls;
    /// Null without TLS.
    std::shared_ptr<security::tls_source> tls;
    duration call_limit{};
    /// May be empty.
    member_changed changed{};
  };

  engine(boost::asio::io_context& io, members members, header known);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// One request and what becomes of it.
  struct errand {
    gateway_request what;
    /// For an operator, for example `to change KEY`.
    std::string words;
    bool is_decision = false;
    /// Reads an answer and keeps it. Returns its header, or nothing when it has none.
    std::function<gateway_reading<std::optional<header>>(const gateway_answer&)> read;
    /// Called once: no error after an answer was read, else why there is none, and whether the
    /// request may have reached a member.
    std::function<void(const result<void>&, bool is_sent)> done;
  };

  /// Errors: `overloaded`; `timeout` without an answer; `invalid_argument` or `unauthorized` when
  /// etcd refuses; `incompatible_store` when it is not the etcd that is known.
  void run(errand what);

  /// Judges a member's answer as `history::note` does, and says what it shows of the member.
  [[nodiscard]] etcd::history::verdict judge(
    std::size_t member, const header& answer, bool is_decision, std::uint64_t at_sending);

  [[nodiscard]] std::shared_ptr<connection> open(std::size_t member);

  [[nodiscard]] const member_url& member(std::size_t index) const { return members_.urls[index]; }

  [[nodiscard]] member_order& order() { return order_; }

  [[nodiscard]] etcd::history& history() { return history_; }

  [[nodiscard]] client_counts& counts() { return counts_; }

  [[nodiscard]] boost::asio::io_context& io() { return io_; }

private:
  class running;

  void start(errand what);
  void note_end(const std::shared_ptr<running>& ended);
  [[nodiscard]] std::shared_ptr<connection> take_connection(std::size_t member, bool& is_used);
  void keep_connection(std::size_t member, std::shared_ptr<connection> idle);

  boost::asio::io_context& io_;
  members members_;
  member_order order_;
  etcd::history history_;
  client_counts counts_;
  std::vector<std::vector<std::shared_ptr<connection>>> idle_;
  std::set<std::shared_ptr<running>> running_;
  std::deque<errand> waiting_;
};

/// The time of the thread's timers.
[[nodiscard]] monotonic_time steady_now();

} // namespace codeq::etcd
