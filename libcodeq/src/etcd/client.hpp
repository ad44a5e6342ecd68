// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "etcd/etcd_limits.hpp"
#include "etcd/history.hpp"
#include "etcd/member_url.hpp"
#include "etcd/messages.hpp"
#include "security/tls_context.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace codeq::etcd {

struct watch_options;
struct client_counts;

/// A client of etcd's JSON gateway, with a thread of its own. Functions that it is given are called
/// on that thread, each once, or never when the client is destroyed first. Thread-safe.
class client {
public:
  struct options {
    /// 1 to `limits::members_max`; all with TLS or none.
    std::vector<member_url> members;
    /// Null without TLS.
    std::shared_ptr<security::tls_source> tls{};
    /// The etcd that is known from an earlier start; all zero: none.
    header known{};
    /// A call without an answer is over after this time.
    duration call_limit = limits::call;
    /// Called once for each change, on the client's thread. May be empty.
    etcd::member_changed member_changed{};
  };

  explicit client(options how);

  /// Ends the thread. A look-up of a host that is under way is waited for.
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// A decision. `swap_end::unknown` until the same swap, sent again, finds out.
  void decide(swap what, std::function<void(const swap_answer&)> done);

  /// Keys and values, page by page; they only suggest what is so. Errors: `timeout`, `overloaded`,
  /// `too_large` when there are more than `limits::range_keys_max` keys or one page has too many
  /// bytes, `incompatible_store` when it is not the etcd that is known.
  void read(key_range what, std::function<void(const result<range_answer>&)> done);

  // Leases; errors as above.

  void grant(duration length, std::function<void(const result<lease_answer>&)> done);
  void keep_alive(std::uint64_t lease, std::function<void(const result<lease_answer>&)> done);
  void revoke(std::uint64_t lease, std::function<void(const result<lease_answer>&)> done);

  /// Starts a watch that goes on until the client's end. At most one.
  void watch(watch_options how);

  /// Tells the watch that a poll has found a change of this revision.
  void note_poll(std::uint64_t modified);

  /// Runs something on the client's thread, after a pause.
  void run_after(duration pause, std::function<void()> action);

  /// The etcd that is known by now, to be kept on a disk.
  [[nodiscard]] header known() const;

  /// For an operator, while etcd is found to be restored or replaced; else empty. Every call fails
  /// then. See `history::replaced_because`.
  [[nodiscard]] std::string replaced_because() const;

  [[nodiscard]] client_counts counts() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::etcd
