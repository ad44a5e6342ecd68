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

/// What the clients of one shard were told, and with which commit; knows nothing of how the shard
/// stores it. After a crash it asks for all of it again.
class client_ledger {
public:
  /// A request is decided; nothing is answered yet.
  void decided(const core::command& c);

  /// These tasks are kept only briefly once they are over.
  void may_go(const core::seq_run& tasks);

  /// An answer arrived that was held until commit number `group`.
  void told(const core::effect& e, std::uint64_t group);

  /// The shard was recovered with commit `group` as its last: forgets what was told later, and says
  /// what of the rest is not so any more. Empty when nothing. Errors: of the store.
  [[nodiscard]] result<std::string>
  check(const storage::task_store& store, core::shard_state& state, std::uint64_t group);

  /// What was wrong with the answers themselves: a repeated request that was answered anew.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  /// Answers that `check` looked at.
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
  /// Purged, maybe, or kept only briefly: may be unknown.
  std::set<sequence> may_be_gone_;
  std::uint64_t checked_ = 0;
  std::string wrong_;
};

} // namespace codeq::test
