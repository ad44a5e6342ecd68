// SPDX-License-Identifier: Apache-2.0
#include "ctl/filter_options.hpp"

#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "base/rfc3339.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace codeq::ctl {

namespace {

/// Parses a time in RFC 3339, or an age. The epoch, which is no bound to a filter, stands for every
/// time up to it.
result<timestamp> parse_bound(const std::string& text) {
  if (auto at = base::parse_rfc3339(text))
    return std::max(*at, timestamp{});
  if (auto age = base::parse_duration(text))
    return std::max(wall_time() - *age, timestamp{duration{1}});
  return error{
    errc::invalid_argument,
    quote(text)
      + " is neither a time such as 2026-05-20T10:00:00Z nor a duration before now such as 2h"};
}

/// The same for the end of a range, which is after the epoch: nothing is before that.
result<timestamp> parse_end(const std::string& text) {
  auto end = parse_bound(text);
  if (end && *end == timestamp{})
    return error{errc::invalid_argument, quote(text) + " is not after 1970"};
  return end;
}

result<std::pair<std::string, std::string>> parse_header(const std::string& text) {
  auto equals = text.find('=');
  if (equals == 0 || equals == text.npos)
    return error{errc::invalid_argument, quote(text) + " is not NAME=VALUE"};
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

using take_function = std::function<result<void>(const std::string&)>;

option time_option(const char* name, std::string help, take_function take) {
  return {.name = name, .value = "TIME", .help = std::move(help), .take = std::move(take)};
}

option header_option(std::map<std::string, std::string>& target) {
  auto take = [&target](const std::string& text) -> result<void> {
    auto header = parse_header(text);
    if (!header)
      return header.error();
    if (target.size() == limits::filter_headers_max && !target.contains(header->first))
      return error{
        errc::too_large,
        quote(text) + " is one too many; there may be at most "
          + std::to_string(limits::filter_headers_max)};
    target[header->first] = std::move(header->second);
    return {};
  };
  return {
    .name = "header",
    .value = "NAME=VALUE",
    .help = "Only tasks with this header; may be given up to 16 times [default: all]",
    .take = std::move(take),
    .repeatable = true};
}

} // namespace

std::vector<option> common_filter_options(task_filter& to) {
  return {
    queue_filter_option(to.queue),
    tenant_option(to.tenant),
    group_filter_option(to.group),
    error_filter_option(to.error)};
}

std::vector<option> task_filter_options(task_filter& to) {
  std::vector<option> options;
  auto& workers = to.workers;
  auto add = [&](option one) { options.push_back(std::move(one)); };
  add(
    {.name = "state",
     .value = "STATE",
     .help = "Only tasks that are scheduled, gated, ready, leased, completed, dead or cancelled "
             "[default: any]",
     .take = choice_into(to.state, base::state_names)});
  add(text_option("key", "Only tasks with this key [default: all]", to.key, limits::key_bytes_max));
  add(
    {.name = "worker",
     .value = "NAME",
     .help = "Only tasks that this worker runs or ran last [default: all]",
     .take = [&workers](const std::string& text) -> result<void> {
       workers = {text};
       return {};
     }});
  add(header_option(to.headers));
  add(time_option(
    "since",
    "Only tasks enqueued at this time or later: 2026-05-20T10:00:00Z, or 2h for two hours ago "
    "[default: all]",
    config::put_into(to.enqueued.since, parse_bound)));
  add(time_option(
    "until",
    "Only tasks enqueued before this time [default: all]",
    config::put_into(to.enqueued.until, parse_end)));
  return options;
}

} // namespace codeq::ctl
