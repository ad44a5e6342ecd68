// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ctl/command.hpp"

#include <array>

/// All commands of codeqctl; each of these functions has a file of its own in `commands/`.
namespace codeq::ctl {

void add_enqueue(command_table& to);
void add_task(command_table& to);
void add_watch(command_table& to);
void add_explain(command_table& to);
void add_events(command_table& to);
void add_change(command_table& to);
void add_list(command_table& to);
void add_queue(command_table& to);
void add_schedule(command_table& to);
void add_schedule_apply(command_table& to);
void add_limit(command_table& to);
void add_bulk(command_table& to);
void add_operation(command_table& to);
void add_token(command_table& to);
void add_store(command_table& to);
void add_cluster(command_table& to);
void add_cluster_repair(command_table& to);
void add_workers(command_table& to);
void add_audit(command_table& to);
void add_stats(command_table& to);
void add_log_level(command_table& to);

/// In the order of the help text.
inline constexpr std::array commands{
  add_enqueue,
  add_task,
  add_watch,
  add_explain,
  add_events,
  add_change,
  add_list,
  add_queue,
  add_schedule,
  add_schedule_apply,
  add_limit,
  add_bulk,
  add_operation,
  add_token,
  add_store,
  add_cluster,
  add_cluster_repair,
  add_workers,
  add_audit,
  add_stats,
  add_log_level};

} // namespace codeq::ctl
