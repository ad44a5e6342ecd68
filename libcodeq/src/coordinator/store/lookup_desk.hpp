// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "coordinator/store/lookup_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::coordinator {

/// How many look-ups of one connection may wait.
struct lookup_bounds {
  std::size_t inquiries_max = limits::lookups_waiting_max;
  std::size_t lists_max = limits::lists_waiting_max;
};

/// A look-up for which its connection has no room.
struct lookup_refusal {
  /// The name of the limit that the connection has reached, and its value.
  std::string_view limit;
  std::size_t max = 0;
  /// The tenant that has reached it.
  std::string tenant;
  error reason;
};

/// The look-ups that the reader carries out before it takes its next messages, in the order of the
/// members.
struct lookup_turn {
  std::vector<keys_wanted> keys;
  /// All inquiries are of one peer.
  std::vector<stored_inquiry> inquiries;
  /// A list that is not complete after its step is added again.
  std::vector<open_list> lists;
  std::vector<survivors_wanted> survivors;
  /// The peers that wait for these inquiries and lists.
  std::set<core::peer_id> peers;
};

/// The look-ups that wait for the reader: decides which are refused and which come next. Used from
/// one thread.
class lookup_desk {
public:
  explicit lookup_desk(const lookup_bounds& bounds = {}) : bounds_(bounds) {}

  /// Why there is no room for it; empty when it may be added.
  [[nodiscard]] std::optional<lookup_refusal> check(const stored_inquiry& asked) const;
  [[nodiscard]] std::optional<lookup_refusal> check(const stored_list& asked) const;

  void add(stored_inquiry asked) { inquiries_.add(std::move(asked)); }

  void add(stored_list asked) { lists_.add(begin_list(std::move(asked))); }

  void add(open_list list) { lists_.add(std::move(list)); }

  void add(keys_wanted wanted) { keys_.add(std::move(wanted)); }

  void add(survivors_wanted wanted) { survivors_.add(std::move(wanted)); }

  /// A turn of one owner of each kind.
  [[nodiscard]] lookup_turn take();

  /// A look-up was refused. Returns what the reader does before it looks at the next message: now
  /// and then the inquiries of a peer. Otherwise peers that ask again faster than they are refused
  /// would keep it from any other work.
  [[nodiscard]] lookup_turn take_after_refusal();

  /// Removes the inquiries and lists of a peer that has ended.
  void drop(core::peer_id peer);

  /// Whether inquiries or lists of the peer wait.
  [[nodiscard]] bool has(core::peer_id peer) const {
    return inquiries_.has(peer) || lists_.has(peer);
  }

  [[nodiscard]] std::size_t inquiries_of(core::peer_id peer) const {
    return inquiries_.size_of(peer);
  }

  /// Number of all look-ups.
  [[nodiscard]] std::size_t size() const noexcept {
    return inquiries_.size() + lists_.size() + keys_.size() + survivors_.size();
  }

private:
  void take_inquiries(lookup_turn& to);

  lookup_bounds bounds_;
  lookup_queue<stored_inquiry> inquiries_;
  lookup_queue<open_list> lists_;
  lookup_queue<keys_wanted> keys_;
  lookup_queue<survivors_wanted> survivors_;
  std::uint64_t refused_ = 0;
};

} // namespace codeq::coordinator
