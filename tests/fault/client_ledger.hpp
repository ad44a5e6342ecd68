// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/effect.hpp"
#include "core/state/shard_state.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::test {

/// The answers that the clients of one shard have received, each with the commit that it depends
/// on. It knows nothing of how the shard stores tasks. After a crash it queries all of them again.
class client_ledger {
public:
  /// A command was decided; nothing has been answered yet.
  void decided(const core::command& c);

  /// These tasks have a short retention.
  void may_go(const core::seq_run& tasks);

  /// An answer was sent that had been held until commit number `group`.
  void told(const core::effect& e, std::uint64_t group);

  /// The shard was recovered with commit `group` as its last one. Forgets later answers and
  /// describes those earlier ones that are no longer true; empty when all are. Errors: of the
  /// store.
  [[nodiscard]] result<std::string>
  check(const storage::task_store& store, core::shard_state& state, std::uint64_t group);

  /// Errors in the answers themselves: repeated requests that got a different answer.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  /// Number of answers that `check` examined.
  [[nodiscard]] std::uint64_t checked() const { return checked_; }

private:
  struct answer {
    std::uint64_t group = 0;
    std::vector<core::seq_run> tasks;
  };

  struct ending {
    std::uint64_t group = 0;
    fencing_token token{};
  };

  void told(const core::enqueue_answered& e, std::uint64_t group);
  void told(const core::reports_answered& e, std::uint64_t group);
  void forget_after(std::uint64_t group);
  [[nodiscard]] static result<std::optional<core::task_view>>
  find(const storage::task_store& store, core::shard_state& state, sequence seq);

  std::map<std::uint64_t, answer> answers_;
  std::map<sequence, std::uint64_t> created_;
  std::map<sequence, ending> completed_;
  /// Tasks that may be unknown, because they were purged or have a short retention.
  std::set<sequence> may_be_gone_;
  std::uint64_t checked_ = 0;
  std::string wrong_;
};

} // namespace codeq::test
