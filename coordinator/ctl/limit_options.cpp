// SPDX-License-Identifier: Apache-2.0
#include "ctl/limit_options.hpp"

#include "codeq/limits.hpp"

#include "ctl/command_options.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace codeq::ctl {

namespace {

/// `100/1s` is 100 starts in each second.
result<start_rate> parse_rate(const std::string& text) {
  auto slash = text.find('/');
  if (slash == std::string::npos)
    return error{
      errc::invalid_argument, quote(text) + " is not COUNT/PERIOD, such as 100/1s or 5/1m"};
  auto count = config::parse_count(text.substr(0, slash), {1, limits::limit_rate_count_max});
  if (!count)
    return count.error();
  auto per = config::parse_duration_in(
    text.substr(slash + 1), {limits::limit_rate_period_min, limits::limit_rate_period_max});
  if (!per)
    return per.error();
  start_rate rate;
  rate.count = static_cast<std::uint32_t>(*count);
  rate.period = *per;
  return rate;
}

/// Adds a limit to those of a task or a queue.
template <class Limit>
result<void> add_limit(std::vector<Limit>& to, Limit limit) {
  if (to.size() == limits::task_limits_max)
    return error{
      errc::invalid_argument,
      "more than " + std::to_string(limits::task_limits_max) + " limits are given"};
  bool is_known = std::any_of(
    to.begin(), to.end(), [&](const Limit& other) { return other.name == limit.name; });
  if (is_known)
    return error{errc::invalid_argument, "limit " + quote(limit.name) + " is given twice"};
  to.push_back(std::move(limit));
  return {};
}

constexpr auto header_word = header_mark.substr(0, header_mark.size() - 1);

/// The key in `NAME:KEY`; empty in other texts, also in `NAME:KEY:COST`.
std::string_view key_without_cost(std::string_view text) {
  const auto colon = text.find(':');
  const auto is_alone = colon != std::string_view::npos && text.rfind(':') == colon;
  return is_alone ? text.substr(colon + 1) : std::string_view();
}

/// Refuses what looks like the key of a queue's limit: a task does not take its key from a header.
/// With a cost it is the key that it seems to be.
result<void> check_task_key(const std::string& text) {
  const auto key = key_without_cost(text);
  if (key != header_word && !key.starts_with(header_mark))
    return {};
  return error{
    errc::invalid_argument,
    quote(text) + " is not NAME[:KEY[:COST]] with the key of the task, such as "
      + quote(text.substr(0, text.find(':')) + ":customer-7")
      + "; keys from headers are set by `codeqctl queue set --limit`; for the key "
      + quote(std::string(key)) + " give a cost: " + quote(text + ":1")};
}

/// Refuses a key that looks like a header without a name.
result<void> check_queue_key(const std::string& text) {
  if (key_without_cost(text) != header_word)
    return {};
  return error{
    errc::invalid_argument,
    quote(text) + " has no name of a header, such as in " + quote(text + "=customer")
      + "; for the key " + quote(std::string(header_word)) + " give a cost: "
      + quote(text + ":1")};
}

/// Parses `NAME`, `NAME:KEY` or `NAME:header=NAME`, each with a cost if it has a key.
result<queue_limit> parse_queue_limit(const std::string& text) {
  if (auto ok = check_queue_key(text); !ok)
    return ok.error();
  auto use = parse_task_limit(text);
  if (!use)
    return use.error();
  queue_limit limit{std::move(use->name), std::move(use->key), use->cost};
  if (!limit.key.starts_with(header_mark))
    return limit;
  limit.header = limit.key.substr(header_mark.size());
  limit.key.clear();
  if (limit.header.empty())
    return error{
      errc::invalid_argument,
      quote(text) + " has no name of a header, such as in "
        + quote(limit.name + ":header=customer")};
  return limit;
}

} // namespace

result<task_limit> parse_task_limit(const std::string& text) {
  auto first = text.find(':');
  auto last = text.rfind(':');
  task_limit use;
  auto name = config::parse_name(text.substr(0, first));
  if (!name)
    return name.error();
  use.name = std::move(*name);
  if (first == std::string::npos)
    return use;
  bool has_cost = last != first;
  use.key = text.substr(first + 1, has_cost ? last - first - 1 : std::string::npos);
  if (use.key.size() > limits::limit_key_bytes_max)
    return error{
      errc::too_large,
      "the key " + quote(use.key) + " has " + std::to_string(use.key.size())
        + " bytes; it must have at most " + std::to_string(limits::limit_key_bytes_max)};
  if (!has_cost)
    return use;
  auto cost = config::parse_count(text.substr(last + 1), {1, limits::limit_cost_max});
  if (!cost)
    return error{
      cost.error().code, "the cost of " + quote(text) + ": " + cost.error().context};
  use.cost = static_cast<std::uint32_t>(*cost);
  return use;
}

option limit_of_task_option(std::vector<task_limit>& uses) {
  auto take = [&uses](const std::string& text) -> result<void> {
    if (auto ok = check_task_key(text); !ok)
      return ok;
    auto use = parse_task_limit(text);
    if (!use)
      return use.error();
    return add_limit(uses, std::move(*use));
  };
  return {
    .name = "limit",
    .value = "NAME[:KEY[:COST]]",
    .help = "Limit that the task obeys, for KEY by itself if one is given; COST, 1 to 1000, counts "
            "against its rate, and has to follow a KEY that has a colon; may be repeated, at most "
            "4 [default: none]",
    .take = take,
    .repeatable = true};
}

std::vector<option> limits_of_queue_options(std::optional<std::vector<queue_limit>>& given) {
  const error contrary{errc::invalid_argument, "--limit and --no-limits exclude each other"};
  auto take = [&given, contrary](const std::string& text) -> result<void> {
    auto use = parse_queue_limit(text);
    if (!use)
      return use.error();
    if (given && given->empty())
      return contrary;
    if (!given)
      given.emplace();
    return add_limit(*given, std::move(*use));
  };
  return {
    {.name = "limit",
     .value = "NAME[:KEY|:header=NAME[:COST]]",
     .help = "Limit that new tasks of the queue obey beside their own, for KEY by itself, or for "
             "each value of that header of a task; may be repeated, at most 4; replaces the limits "
             "of the queue [default: unchanged]",
     .take = take,
     .repeatable = true},
    {.name = "no-limits",
     .value = "",
     .help = "Give no limits to new tasks of the queue [default: unchanged]",
     .take = empties(given, contrary)}};
}

std::string limits_text(const std::vector<queue_limit>& given) {
  std::string text;
  for (const auto& one : given) {
    text += (text.empty() ? "" : ", ") + one.name;
    bool has_cost = one.cost != 1;
    if (!one.header.empty())
      text += std::string(":") + std::string(header_mark) + one.header;
    else if (!one.key.empty() || has_cost)
      text += ":" + one.key;
    if (has_cost)
      text += ":" + std::to_string(one.cost);
  }
  return text.empty() ? "none" : text;
}

std::optional<timestamp> next_start_of(const limit_key_info& key) {
  if (!key.next_start)
    return std::nullopt;
  return std::max(*key.next_start, wall_time());
}

std::string start_text(const limit_key_info& key) {
  if (!key.next_start)
    return key.leased > 0 ? "after a lease" : "if raised";
  return *key.next_start <= wall_time() ? "now" : to_string(*key.next_start);
}

std::string closed_text(const limit_key_info& key) {
  return key.closed_until <= wall_time() ? "-" : to_string(key.closed_until);
}

result<void> limit_options::check() const {
  if (!concurrency && !rate)
    return error{
      errc::invalid_argument, "neither --concurrency nor --rate is given; give one or both"};
  if (burst && !rate)
    return error{errc::invalid_argument, "--burst needs --rate"};
  return {};
}

limit_definition limit_options::definition() const {
  limit_definition made;
  made.concurrency = concurrency;
  made.rate = rate;
  if (made.rate && burst)
    made.rate->burst = *burst;
  return made;
}

option limit_option(std::string& target) {
  auto entry = name_option("LIMIT", "Name of the limit", target);
  entry.value = "LIMIT";
  return required(placed(std::move(entry)));
}

std::vector<option> limit_grammar(limit_options& to) {
  return {
    limit_option(to.name.name),
    tenant_option(to.name.tenant),
    count_option(
      "concurrency",
      "Maximum number of its tasks that are leased at once, of each key by itself; 0 holds all "
      "back [default: no limit]",
      to.concurrency,
      {0, limits::limit_concurrency_max}),
    {.name = "rate",
     .value = "COUNT/PERIOD",
     .help = "Starts in each period, of each key by itself, such as 100/1s [default: no limit]",
     .take = put_into(to.rate, parse_rate)},
    count_option(
      "burst",
      "Starts that may come at once when there were none for a while [default: 1]",
      to.burst,
      {1, limits::limit_rate_count_max}),
    switch_option(
      "dry-run", "Change nothing; print what the limit would hold back now [default: off]",
      to.is_dry_run)};
}

std::string rate_text(const std::optional<start_rate>& rate) {
  if (!rate)
    return "-";
  return std::to_string(rate->count) + "/" + format_duration(rate->period) + ", burst "
         + std::to_string(rate->burst);
}

} // namespace codeq::ctl
