// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/ctl_config.hpp"

/// The commands of codeqctl. Each does its work, nearly all at a coordinator to which they connect,
/// prints and returns the exit status.
namespace codeq::ctl {

[[nodiscard]] int run(const config::ctl_config& config, config::enqueue_command command);
[[nodiscard]] int run(const config::ctl_config& config, const config::get_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::result_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::watch_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::change_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::force_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::explain_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::events_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::list_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::dead_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::queue_set_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::queue_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::queue_stats_command& command);
[[nodiscard]] int
run(const config::ctl_config& config, const config::tenant_purge_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::stats_command& command);
[[nodiscard]] int
run(const config::ctl_config& config, const config::token_create_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::token_list_command& command);
[[nodiscard]] int
run(const config::ctl_config& config, const config::token_revoke_command& command);

[[nodiscard]] int run(const config::ctl_config& config, const config::backup_command& command);

// Without a coordinator.

[[nodiscard]] int run(const config::ctl_config& config, const config::verify_command& command);
[[nodiscard]] int run(const config::ctl_config& config, const config::restore_command& command);

} // namespace codeq::ctl
