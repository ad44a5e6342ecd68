// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "etcd/messages.hpp"

#include <string>

namespace codeq::etcd {

/// The etcd that is known, by its cluster id and its highest revision: one that was restored from a
/// backup, or replaced, has forgotten decisions. Its owner keeps `known` on a disk. Pure.
class history {
public:
  enum class verdict : std::uint8_t {
    fits,
    /// The answer is older than others that were there before the question. A member lags.
    stale,
    /// etcd has forgotten changes, or is another cluster.
    replaced,
  };

  /// All zero when none is known.
  explicit history(header known) : known_(known) {}

  /// Judges an answer. `at_sending` is `known().revision` when its request was sent. Only a
  /// decision shows that etcd itself is older: a member may tell an old value in any other answer.
  verdict note(const header& answer, bool is_decision, std::uint64_t at_sending);

  [[nodiscard]] const header& known() const { return known_; }

  /// For an operator, once an answer was `replaced`; else empty. It stays so until a restart with
  /// another known history, that is, after a repair.
  [[nodiscard]] const std::string& replaced_because() const { return replaced_because_; }

private:
  header known_;
  std::string replaced_because_;
};

} // namespace codeq::etcd
