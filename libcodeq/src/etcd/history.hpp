// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "etcd/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace codeq::etcd {

/// The etcd that is known, by its cluster id and its highest revision: one that was restored from a
/// backup, or replaced, has forgotten decisions. A single member may come back as another cluster,
/// when its data were lost, while the others go on: its answers count for nothing. Its owner keeps
/// `known` on a disk. Pure.
class history {
public:
  enum class verdict : std::uint8_t {
    fits,
    /// The answer is older than others that were there before the question. A member lags.
    stale,
    /// The member belongs to another cluster, or too few have told which one theirs is.
    foreign,
    /// etcd has forgotten changes, or more than half of the members are of another cluster.
    replaced,
  };

  /// All zero when none is known: then it is the one of which half of the members are, so that a
  /// member that has lost its data is not taken for etcd. @pre members > 0
  history(header known, std::size_t members)
    : known_(known), told_(members), is_noted_foreign_(members) {}

  /// Judges a member's answer. `at_sending` is `known().revision` when its request was sent. Only a
  /// decision shows that etcd itself is older: a member may tell an old value in any other answer.
  verdict note(
    std::size_t member, const header& answer, bool is_decision, std::uint64_t at_sending);

  [[nodiscard]] const header& known() const { return known_; }

  /// What the last answer of a member says about its cluster.
  enum class news : std::uint8_t {
    none,
    /// It belongs to another cluster than the one that is known.
    foreign,
    /// It belongs to the known one again.
    own,
  };

  /// Each change is returned once; none while answers are `replaced`.
  [[nodiscard]] news take_news(std::size_t member);

  /// For an operator: why the member's last answer was `foreign`.
  [[nodiscard]] std::string foreign_words(std::size_t member) const;

  /// For an operator, while answers are `replaced`; else empty. Once etcd has forgotten a change it
  /// stays so until a restart with another known history, that is, after a repair.
  [[nodiscard]] std::string replaced_because() const;

private:
  /// Number of members that told this cluster id last; 0: that told none.
  [[nodiscard]] std::size_t members_of(std::uint64_t cluster_id) const;
  [[nodiscard]] std::size_t foreign_members() const;

  header known_;
  /// The cluster id of each member's last answer; 0 before the first one.
  std::vector<std::uint64_t> told_;
  /// The members whose last news were `foreign`.
  std::vector<bool> is_noted_foreign_;
  std::string forgotten_because_;
};

} // namespace codeq::etcd
