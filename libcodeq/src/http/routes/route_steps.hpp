// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "client/shard_walk.hpp"
#include "http/routes/router.hpp"
#include "http/server/replies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Steps that many routes take. A route's refusals are errors whose context is the text to answer.
namespace codeq::http {

/// The text that refuses a task that the caller's tenant does not have, behind the words of the
/// contract.
[[nodiscard]] std::string
missing_task(std::string_view beginning, const caller& by, std::string_view id);

/// The same for the queue and the key in the path, and the query's group.
[[nodiscard]] std::string missing_key(const exchange& call);

/// The caller's own task. Errors: `unknown_task`, which also stands for one of another tenant or of
/// a queue that its token does not name.
void find_own(
  gateway_context& context,
  const exchange_ptr& call,
  std::string_view id,
  bool with_body,
  shard_desk::then<task_detail> done);

/// The refusal of a queue that the caller's token does not name. Queues are event types in codeQ.
[[nodiscard]] error refuse_queue(const std::string& queue);

/// The same in the words of routes that add or list tasks.
[[nodiscard]] error refuse_command(const std::string& queue);

/// The request as a command of an operator: the same for all changes that it makes.
[[nodiscard]] core::origin_ptr origin_of(gateway_context& context, exchange& call);

/// How the request, which declares `payload_field`, wants to see tasks.
[[nodiscard]] task_view view_for(gateway_context& context, const exchange& call);

/// Puts the request's deadline off: it is given up when it is not answered soon after `wait`.
void put_off_deadline(gateway_context& context, exchange& call, duration wait);

/// The parts that a sum over the cluster is without.
struct missing_parts {
  std::size_t coordinators = 0;
  /// The shards of these coordinators, and the shards that no coordinator serves at present.
  std::size_t shards = 0;
};

/// Lets the answer say in its header what is missing, if anything is.
void say_missing(exchange& call, const missing_parts& missing);

/// The same for shards that did not answer.
void say_missing(
  gateway_context& context, exchange& call, const std::vector<shard_id>& shards);

/// Goes on with what all shards count; answers why that is unknown when it is.
void with_stats(
  gateway_context& context,
  const exchange_ptr& call,
  std::function<void(const base::coordinator_counts&)> go_on);

/// Calls `done` once all of `count` results have come, in the order of their places.
template <class T>
class gathering {
public:
  gathering(std::size_t count, std::function<void(std::vector<T>)> done)
    : missing_(count), found_(count), done_(std::move(done)) {}

  void set(std::size_t place, T value) {
    found_[place] = std::move(value);
    if (--missing_ == 0)
      done_(std::move(found_));
  }

private:
  std::size_t missing_;
  std::vector<T> found_;
  std::function<void(std::vector<T>)> done_;
};

/// Which shards `gather_from_shards` asks at the same time.
enum class asking : std::uint8_t {
  all,
  /// For changes of settings: shard 0 first, from which a cluster's other shards take them; the
  /// others only when it has made the change.
  zero_first,
};

/// Calls `ask` for every shard and gathers what they told, or their errors.
template <class T>
void gather_each_from_shards(
  gateway_context& context,
  const std::function<void(std::uint16_t shard, shard_desk::then<T>)>& ask,
  std::function<void(std::vector<result<T>>)> done,
  asking how = asking::all) {
  using part = std::optional<result<T>>;
  auto finish = [done = std::move(done)](std::vector<part> parts) {
    std::vector<result<T>> all;
    for (auto& one : parts)
      all.push_back(std::move(*one));
    done(std::move(all));
  };
  auto count = context.desk.shard_count();
  auto gathered = std::make_shared<gathering<part>>(count, std::move(finish));
  auto ask_from = [gathered, ask, count](std::uint16_t first) {
    for (auto i = first; i < count; ++i)
      ask(
        i,
        shard_desk::then<T>([gathered, i](const result<T>& told) { gathered->set(i, told); }));
  };
  if (how == asking::all)
    return ask_from(0);
  ask(0, shard_desk::then<T>([gathered, ask_from, count](const result<T>& told) {
        if (told)
          ask_from(1);
        else
          for (std::uint16_t i = 1; i < count; ++i)
            gathered->set(i, told.error());
        gathered->set(0, told);
      }));
}

/// The error of a change for all shards, given what each of them told: the first one, and which
/// shards have made the change. @pre not all of them made it; shard 0 was asked first
template <class T>
[[nodiscard]] error error_of_change(const std::vector<result<T>>& parts) {
  client::change_places places;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto& place = parts[i]                                     ? places.done
                  : client::is_outcome_known(parts[i].error()) ? places.undone
                                                               : places.silent;
    place.push_back(shard_id{static_cast<std::uint16_t>(i)});
  }
  const auto failed =
    std::find_if(parts.begin(), parts.end(), [](const auto& one) { return !one; });
  return client::after_change(failed->error(), places);
}

/// Calls `ask` for every shard and gathers what those told that answered; a header of the response
/// says how many did not. Errors: as `client::without_silent`.
template <class T>
void read_from_shards(
  gateway_context& context,
  const exchange_ptr& call,
  const std::function<void(std::uint16_t shard, shard_desk::then<T>)>& ask,
  shard_desk::then<client::told_parts<T>> done,
  client::first_shard first = client::first_shard::optional) {
  auto finish = [&context, call, first, done = std::move(done)](std::vector<result<T>> parts) {
    auto told = client::without_silent(std::move(parts), first);
    if (told)
      say_missing(context, *call, told->missing);
    done(std::move(told));
  };
  gather_each_from_shards<T>(context, ask, std::move(finish));
}

/// Calls `ask` for every shard and gathers what they told, or the first error.
template <class T>
void gather_from_shards(
  gateway_context& context,
  const std::function<void(std::uint16_t shard, shard_desk::then<T>)>& ask,
  shard_desk::then<std::vector<T>> done,
  asking how = asking::all) {
  auto finish = [done = std::move(done), how](std::vector<result<T>> parts) {
    const auto failed =
      std::find_if(parts.begin(), parts.end(), [](const auto& one) { return !one; });
    if (failed != parts.end())
      return done(how == asking::zero_first ? error_of_change(parts) : failed->error());
    std::vector<T> whole;
    for (auto& one : parts)
      whole.push_back(std::move(*one));
    done(std::move(whole));
  };
  gather_each_from_shards<T>(context, ask, std::move(finish), how);
}

/// Asks every shard a question and gathers what they told, or the first error.
template <class T, class S>
void ask_each_shard(
  gateway_context& context,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  result<client::answered<T>> (*read)(const protocol::frame<S>&),
  shard_desk::then<std::vector<T>> done,
  const core::origin_ptr& origin = {}) {
  auto ask = [&context, question_of, read, origin](
               std::uint16_t shard, shard_desk::then<T> told) {
    context.desk.ask<T>(shard, question_of(shard), read, std::move(told), origin);
  };
  gather_from_shards<T>(
    context, ask, std::move(done), origin ? asking::zero_first : asking::all);
}

} // namespace codeq::http
