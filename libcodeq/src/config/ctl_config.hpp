// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/task.hpp"

#include "config/option_set.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace codeq::config {

/// A task by its id or by its key.
using task_target = std::variant<task_id, task_key>;

/// `codeqctl enqueue`: everything but the payload is in `task`.
struct enqueue_command {
  task_spec task;
  /// Empty or `-` reads stdin.
  std::string payload = "-";
  std::size_t count = 1;
  /// Wait until the tasks end, at most this long.
  std::optional<duration> wait;
};

/// `codeqctl get`.
struct get_command {
  task_target task;
};

/// `codeqctl result`.
struct result_command {
  task_id task;
  std::optional<duration> wait;
};

struct watch_command {
  task_id task;
  /// How long at most.
  duration wait{0};
};

/// `codeqctl cancel`, `promote`, `redrive` and `purge`.
struct change_command {
  task_target task;
  task_change change = task_change::cancel;
};

/// `codeqctl force revoke`, `complete` and `fail`.
struct force_command {
  task_id task;
  force_kind how = force_kind::revoke;
  std::string text;
};

/// `codeqctl explain`.
struct explain_command {
  task_id task;
};

/// `codeqctl events`.
struct events_command {
  task_id task;
};

/// `codeqctl list` and `codeqctl dead list`.
struct list_command {
  task_filter filter;
  std::size_t limit = limits::listed_tasks_default;
};

/// `codeqctl dead redrive` and `codeqctl dead purge`.
struct dead_command {
  dead_filter filter;
  dead_change change = dead_change::redrive;
};

/// What `codeqctl queue set` changes of a queue; the rest stays.
struct queue_changes {
  std::optional<std::uint32_t> max_attempts{};
  std::optional<retry_kind> retry{};
  std::optional<duration> retry_base{};
  std::optional<duration> retry_cap{};
  std::optional<duration> lease{};
  std::optional<duration> run_timeout{};
  std::optional<duration> progress_timeout{};
  std::optional<duration> retention{};
  std::optional<duration> dead_retention{};
  std::optional<on_dead> when_dead{};
  std::optional<std::uint64_t> max_depth{};
  std::optional<std::uint64_t> max_leased{};
  std::optional<bool> keep_payload{};

  /// What a queue is to have that had `before`.
  [[nodiscard]] queue_config applied_to(queue_config before) const;
};

/// `codeqctl queue set`.
struct queue_set_command {
  queue_address queue{"default", {}};
  queue_changes changes;
};

/// `codeqctl queue show`, `pause`, `resume` and `purge`.
struct queue_command {
  enum class action : std::uint8_t { show, pause, resume, purge };

  queue_address queue{"default", {}};
  action what = action::show;
};

/// `codeqctl queue stats`: of one queue, or of all when its name is empty.
struct queue_stats_command {
  queue_address queue{"default", {}};
};

/// `codeqctl tenant purge`.
struct tenant_purge_command {
  std::string tenant;
  bool is_confirmed = false;
};

/// `codeqctl stats`.
struct stats_command {};

/// `codeqctl token create`: adds a token to a coordinator's file. What the fields may be is said by
/// the file's reader.
struct token_create_command {
  std::filesystem::path file;
  std::string subject;
  std::string tenant;
  std::string role;
  /// Names with commas between them, or `*`; empty for none.
  std::string queues;
  /// As in the file; empty for none. By scope: producer, claim, admin.
  std::array<std::string, 3> rates;
};

/// `codeqctl token list`.
struct token_list_command {
  std::filesystem::path file;
};

/// `codeqctl token revoke`.
struct token_revoke_command {
  std::filesystem::path file;
  /// How the token's digest begins.
  std::string name;
};

/// `codeqctl backup`.
struct backup_command {};

/// `codeqctl verify`.
struct verify_command {
  std::filesystem::path directory;
  bool sync = true;
  std::size_t findings_max = 100;
};

/// `codeqctl restore`.
struct restore_command {
  std::filesystem::path backups;
  std::filesystem::path directory;
  /// 0 is the newest.
  std::uint32_t number = 0;
};

using ctl_command = std::variant<
  stats_command,
  enqueue_command,
  get_command,
  result_command,
  watch_command,
  change_command,
  force_command,
  explain_command,
  events_command,
  list_command,
  dead_command,
  queue_set_command,
  queue_command,
  queue_stats_command,
  tenant_purge_command,
  token_create_command,
  token_list_command,
  token_revoke_command,
  verify_command,
  restore_command,
  backup_command>;

/// Everything that `codeqctl` is told from outside.
struct ctl_config {
  std::vector<std::string> coordinators = {"127.0.0.1:7400"};
  /// The URL of an HTTP gateway to ask instead; empty for none.
  std::string http{};
  bool json = false;
  /// For a connection and for each answer.
  duration timeout = std::chrono::seconds(10);
  credentials access;
  ctl_command command;
};

/// Reads flags, environment and file.
[[nodiscard]] parsed<ctl_config> parse_ctl(const command_line& line);

} // namespace codeq::config
