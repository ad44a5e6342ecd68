// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace codeq::cluster {

/// Whether etcd answers a coordinator, found out from the calls that its member makes anyway. Pure.
class etcd_contact {
public:
  enum class news : std::uint8_t {
    none,
    /// etcd has not answered for `timing::etcd_silent`.
    lost,
    /// It has answered again.
    found,
  };

  explicit etcd_contact(monotonic_time now) : answered_(now) {}

  /// A call has ended. An answer that refuses it counts as none.
  void note(const result<void>& how, monotonic_time now);

  /// A write has ended: etcd has decided it, or not. When writes fail for `timing::etcd_silent`, as
  /// they do when its space is used up, etcd counts as away although it answers. A single one that
  /// failed may not be repeated, and says nothing.
  void note_write(const result<void>& how, monotonic_time now);

  /// Whether etcd was lost or found since the last call. Each change is returned once.
  [[nodiscard]] news look(monotonic_time now);

  /// Time since the last answer, or since the first of the writes that failed; zero unless etcd
  /// counts as away.
  [[nodiscard]] duration silent(monotonic_time now) const;

  /// Why the last call had no answer.
  [[nodiscard]] const std::string& reason() const;

private:
  struct failures {
    monotonic_time first;
    monotonic_time last;
  };

  [[nodiscard]] bool decides_nothing() const;

  monotonic_time answered_;
  std::string reason_ = "no call has ended";
  /// The writes that failed since the last one that was decided.
  std::optional<failures> undecided_;
  std::string write_reason_;
  bool is_told_lost_ = false;
};

} // namespace codeq::cluster
