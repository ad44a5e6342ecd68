// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "core/commands/limit_command.hpp"
#include "core/flow/limit_keys.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::core {

/// The limits of all tenants on a shard: their definitions, and the keys that are in use. The
/// definitions and the marks of keys are durable; slots are the leases; held tasks are volatile.
/// Nothing here takes memory or time for tasks without limits.
class limit_table {
public:
  /// Defines a limit, changes or removes it. `now` matters for a change of the rate.
  void define(
    const limit_address& name,
    const std::optional<limit_definition>& definition,
    timestamp now);

  /// Null when the limit is not defined.
  [[nodiscard]] const limit_definition* find(const limit_address& name) const;

  [[nodiscard]] bool is_defined(std::string_view tenant, std::string_view name) const;

  /// Number of the tenant's definitions.
  [[nodiscard]] std::size_t defined_by(const std::string& tenant) const;

  /// Checks that the limits are defined, and that their keys are in use or the tenant may use
  /// further ones. Errors: `unknown_limit`, `queue_full`.
  [[nodiscard]] result<void>
  check_new(const std::string& tenant, const std::vector<task_limit>& uses) const;

  /// The tenant may use no further keys.
  [[nodiscard]] bool is_out_of_keys(const std::string& tenant) const;

  /// A ready task as the keys know it.
  [[nodiscard]] limited_task
  describe(const std::string& tenant, const std::vector<task_limit>& uses, limited_task task);

  /// The same without the limits that no task and no definition has named, for checks.
  [[nodiscard]] limited_task find_task(
    const std::string& tenant, const std::vector<task_limit>& uses, limited_task task) const;

  /// The place of a use; gives the limit a number if it has none.
  [[nodiscard]] limit_place place_of(const std::string& tenant, const task_limit& use);

  [[nodiscard]] limit_keys& keys() noexcept { return keys_; }

  [[nodiscard]] const limit_keys& keys() const noexcept { return keys_; }

  /// The marks that changed since the last call.
  [[nodiscard]] std::vector<limit_key_mark> take_marks();

  /// All marks, for tests and checks.
  [[nodiscard]] std::vector<limit_key_mark> marks() const;

  /// Sets a mark that was stored.
  void restore(const limit_key_mark& stored);

  /// The burst of every key counts as used from now on; is to be stored.
  void use_up_all(timestamp at);

  /// When that was; empty when it never was.
  [[nodiscard]] timestamp used_up_at() const noexcept { return used_up_at_; }

  /// The same, if it was not stored yet.
  [[nodiscard]] timestamp take_used_up();

  /// Sets what was stored of it.
  void restore_used_up(timestamp at);

  /// A limit with its counts. @pre it is defined
  [[nodiscard]] limit_info describe(const limit_address& name) const;

  /// Number of keys that have more leases than the definition allows.
  [[nodiscard]] std::uint64_t
  keys_above(const limit_address& name, const limit_definition& definition) const;

  /// As `limit_keys::held_permits_of`.
  [[nodiscard]] std::uint64_t
  held_permits_of(const limit_address& name, const std::string& key) const;

  /// As `limit_keys::room_by`. The limit need not be defined.
  [[nodiscard]] std::uint64_t room_by(
    const limit_definition& definition,
    const limit_address& name,
    const std::string& key,
    timestamp now) const;

  /// The limits of a tenant. Sets `more` when there are others after them.
  [[nodiscard]] std::vector<limit_info>
  list(const std::string& tenant, const limit_part& part, bool& more) const;

  /// The keys of a limit that are in use. With `only_busy` the last one may have neither leases nor
  /// held tasks when there are `more`: the page has passed over as many of these as it may.
  [[nodiscard]] std::vector<limit_key_info> list_keys(
    const limit_address& name, const limit_part& part, bool only_busy, bool& more) const;

  [[nodiscard]] limit_key_info
  describe_key(const limit_address& name, const std::string& key) const;

  /// The name behind a place.
  [[nodiscard]] const limit_address& name_of(std::uint32_t limit) const {
    return names_.at(limit);
  }

  /// Calls `visit(name, definition)` for each definition, in the order of names.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [name, number] : numbers_)
      if (const auto* definition = keys_.find(number))
        visit(name, *definition);
  }

  /// Calls `visit(name, number)` for each limit that is defined or has a key in use.
  template <class Visit>
  void for_each_number(Visit&& visit) const {
    for (const auto& [name, number] : numbers_)
      visit(name, number);
  }

  /// Forgets removed limits of which no key is in use.
  void forget_removed();

  /// The turn had more tasks to hold back than it may: the next one goes on.
  bool is_behind = false;

private:
  [[nodiscard]] std::uint32_t number_of(const limit_address& name);
  [[nodiscard]] std::optional<std::uint32_t> known_number(const limit_address& name) const;

  std::map<limit_address, std::uint32_t> numbers_;
  std::map<std::uint32_t, limit_address> names_;
  std::uint32_t next_number_ = 1;
  /// Numbers of definitions.
  std::map<std::string, std::size_t> defined_;
  limit_keys keys_;
  /// Limits without a definition, which have a number because of tasks.
  std::vector<std::uint32_t> undefined_;
  timestamp used_up_at_{};
  bool is_used_up_new_ = false;
};

/// True when `limit_table::check_new` refused a request because of its tenant's limit keys.
[[nodiscard]] bool is_of_limit_keys(const error& reason);

} // namespace codeq::core
