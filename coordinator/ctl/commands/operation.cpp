// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/confirmation.hpp"
#include "ctl/filter_options.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

struct start_options {
  operation_start what;
  bool is_confirmed = false;
};

struct named_operation {
  std::string id;
};

struct tenant_choice {
  std::string tenant;
};

int show_document(const context& with, const result<document>& got) {
  if (!got)
    return fail(got.error(), with.json);
  print(*got, with.json);
  return exit_done;
}

std::vector<option> start_grammar(start_options& to) {
  constexpr std::uint64_t percent_max = 100;
  auto& what = to.what;
  std::vector<option> options{required(placed(
    {.name = "KIND",
     .value = "KIND",
     .help = "redrive or purge dead tasks, cancel live ones, or promote those that wait for a time",
     .take = choice_into(what.kind, operation_kind_names)}))};
  auto add = [&options](std::vector<option> more) {
    for (auto& one : more)
      options.push_back(std::move(one));
  };
  add(common_filter_options(what.filter));
  add(task_filter_options(what.filter));
  add(age_options(what.filter.ended));
  constexpr auto any = std::numeric_limits<std::uint64_t>::max();
  add(
    {count_option("limit", "Maximum number of tasks [default: all]", what.limit, {1, any}),
     count_option(
       "rate",
       "Maximum number of tasks per second, 1 to 1000000 [default: no limit]",
       what.rate,
       {1, limits::bulk_rate_max}),
     count_option(
       "canary",
       "Redrive 1 % of the tasks first, and pause when more than this percentage of those that "
       "ran since failed again, 0 to 100 [default: no canary]",
       what.canary,
       {0, percent_max}),
     confirmation_option(to.is_confirmed)});
  return options;
}

int start(context& with, const start_options& given) {
  bool is_destructive =
    given.what.kind == operation_verb::purge || given.what.kind == operation_verb::cancel;
  auto queue = given.what.filter.queue;
  auto effect = std::string(operation_kind_names[static_cast<std::size_t>(given.what.kind)])
                + "s tasks of " + (queue.empty() ? "all queues" : "queue " + quote(queue));
  bool is_confirmed = given.is_confirmed || !is_destructive;
  if (auto refused = refuse_unconfirmed(with, is_confirmed, effect))
    return *refused;
  return show_document(with, with.api.start_operation(given.what));
}

std::vector<option> name_grammar(named_operation& to) {
  return {required(placed(name_option("OPERATION", "The operation's id", to.id)))};
}

template <operation_step Step>
int take(context& with, const named_operation& given) {
  return show_document(with, with.api.change_operation(given.id, Step));
}

std::vector<option> list_grammar(tenant_choice& to) {
  return {tenant_option(to.tenant)};
}

} // namespace

void add_operation(command_table& to) {
  to.group("operation", "Change all tasks that match a filter, durably; only with --http");
  to.add(command<start_options>{
    .name = "operation start",
    .help = "Redrive, purge, cancel or promote all tasks that match",
    .grammar = start_grammar,
    .run = start,
    .details =
      "The coordinator stores the operation before it answers, and continues it after a restart. "
      "Each task is changed at most once; tasks that die or are enqueued later do not match."});
  to.add(command<tenant_choice>{
    .name = "operation list",
    .help = "List operations, latest first",
    .grammar = list_grammar,
    .run = [](context& with, const tenant_choice& of) {
      return show_document(with, with.api.operations(of.tenant));
    }});
  to.add(command<named_operation>{
    .name = "operation show",
    .help = "Show an operation and its progress",
    .grammar = name_grammar,
    .run = take<operation_step::show>});
  to.add(command<named_operation>{
    .name = "operation pause",
    .help = "Pause an operation",
    .grammar = name_grammar,
    .run = take<operation_step::pause>});
  to.add(command<named_operation>{
    .name = "operation resume",
    .help = "Continue a paused operation",
    .grammar = name_grammar,
    .run = take<operation_step::resume>});
  to.add(command<named_operation>{
    .name = "operation cancel",
    .help = "End an operation; what it has changed stays",
    .grammar = name_grammar,
    .run = take<operation_step::cancel>});
}

} // namespace codeq::ctl
