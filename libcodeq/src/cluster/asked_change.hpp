// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "cluster/catalogue.hpp"
#include "cluster/forced_primary.hpp"
#include "etcd/messages.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// An operator's changes on their way to etcd. Pure.
namespace codeq::cluster {

/// The end of an operator's change.
struct change_end {
  result<void> how{};
  /// etcd has stored something for it; false for whoever asks again, and for what was so already.
  bool is_stored = false;
  /// The data that it loses, when a primary was forced.
  std::string loss{};
};

using change_told = std::function<void(const change_end&)>;

/// Changes that are under way at once; also the number of ended ones that are remembered, so that
/// a request that is sent again learns the end of the first one.
inline constexpr std::size_t changes_max = 64;
/// Requests that wait for the end of one change.
inline constexpr std::size_t askers_max = 64;
/// How often a change is tried anew after the replicas or the controller have changed the value
/// first.
inline constexpr unsigned change_attempts_max = 32;

/// An operator's change, and what is left of it.
struct asked_change {
  /// One value of etcd that is to be changed.
  struct step {
    /// A decision is under way.
    bool is_sent = false;
    unsigned attempts = 0;
    /// The move that was in force when the change was asked for.
    std::string pinned{};
  };

  cluster_change what;
  /// Only for `force_primary`.
  std::optional<own_copy> own{};
  /// Nothing is sent after this time.
  monotonic_time ends{};
  /// By key. None: the change has ended.
  std::map<std::string, step> steps{};
  std::vector<change_told> told{};
  change_end end{};

  /// Keeps the first reason why the change fails; what is not sent by now is not done.
  void fail(const error& why);
  /// Tells the end to those who asked, if nothing is left to be done.
  void tell_end();
};

/// The change, with a step for each value that it is about. `own`: the copy of the node that is
/// asked to force its primary, if it has one. Errors: `invalid_argument`. @pre the cluster is known
[[nodiscard]] result<asked_change> begin_change(
  const catalogue& known, const cluster_change& what, const std::optional<own_copy>& own);

/// The next value of a key; none when it is as it is wanted. Errors: `invalid_argument`;
/// `overloaded` when another operator's move came between. @pre the key is one of `asked.steps`
[[nodiscard]] result<std::optional<etcd::swap>>
next_swap(const catalogue& known, const asked_change& asked, const std::string& key);

/// The error of a change whose decision has ended like this. @pre it is neither applied nor not
/// applied
[[nodiscard]] error failed_change(const etcd::swap_answer& how);

} // namespace codeq::cluster
