// SPDX-License-Identifier: Apache-2.0
#include "client/watch_list.hpp"

#include "base/tuning.hpp"
#include "client/status_convert.hpp"
#include "protocol/error_code.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

error no_such_task(task_id task) {
  return {errc::unknown_task, "no task " + to_string(task) + ", or it is past its retention"};
}

} // namespace

protocol::await_request watch_list::request_for(std::span<const task_id> tasks, interest in) {
  auto fill = [&](schema::AwaitRequest::Builder request) {
    request.setShard(value(tasks.front().shard));
    request.setProgress(in == interest::ends_and_progress);
    request.setWithdraws(in == interest::nothing);
    auto seqs = request.initSeqs(static_cast<capnp::uint>(tasks.size()));
    for (std::size_t i = 0; i < tasks.size(); ++i)
      seqs.set(static_cast<capnp::uint>(i), tasks[i].seq);
  };
  return protocol::await_request::build(fill, tasks.size() + 16);
}

void watch_list::connect(send_function send, store_identity store) {
  connect(way::to_all(std::move(send)), store);
}

void watch_list::connect(way to, store_identity store) {
  if (store_ && *store_ != store)
    fail_all({errc::session_expired, "the coordinator now serves another store"});
  store_ = store;
  way_ = std::move(to);
  put_off_.clear();
  ask_for([](task_id) { return true; });
}

void watch_list::resend(std::span<const shard_id> shards) {
  if (way_)
    ask_for([shards](task_id task) {
      return std::binary_search(shards.begin(), shards.end(), task.shard);
    });
}

void watch_list::ask_for(const std::function<bool(task_id)>& is_meant) {
  std::vector<task_id> plain;
  std::vector<task_id> with_progress;
  for (auto at = watched_.begin(); at != watched_.end();) {
    auto task = at->first;
    auto next = watched_.equal_range(task).second;
    if (is_meant(task))
      (wants_progress(at, next) ? with_progress : plain).push_back(task);
    at = next;
  }
  ask(std::move(plain), interest::ends);
  ask(std::move(with_progress), interest::ends_and_progress);
}

void watch_list::ask_again() {
  std::vector<task_id> plain;
  std::vector<task_id> with_progress;
  while (!put_off_.empty() && plain.size() + with_progress.size() < asked_again_max) {
    auto task = put_off_.front();
    put_off_.pop_front();
    auto [begin, end] = watched_.equal_range(task);
    if (begin != end)
      (wants_progress(begin, end) ? with_progress : plain).push_back(task);
  }
  ask(std::move(plain), interest::ends);
  ask(std::move(with_progress), interest::ends_and_progress);
}

bool watch_list::wants_progress(
  watcher_map::const_iterator begin, watcher_map::const_iterator end) {
  return std::any_of(begin, end, [](const auto& entry) { return entry.second.progressed; });
}

std::size_t watch_list::size() const {
  std::size_t tasks = 0;
  for (auto at = watched_.begin(); at != watched_.end(); ++tasks)
    at = watched_.equal_range(at->first).second;
  return tasks;
}

void watch_list::disconnect() {
  way_ = {};
}

void watch_list::add(
  std::uint64_t watch,
  const std::vector<task_id>& tasks,
  ended_function ended,
  progressed_function progressed) {
  auto shared = std::make_shared<ended_function>(std::move(ended));
  std::shared_ptr<progressed_function> told;
  if (progressed)
    told = std::make_shared<progressed_function>(std::move(progressed));
  std::vector<task_id> unasked;
  for (auto task : tasks) {
    auto [begin, end] = watched_.equal_range(task);
    if (begin == end || (told && !wants_progress(begin, end)))
      unasked.push_back(task);
    watched_.emplace_hint(begin, task, watcher{watch, shared, told});
  }
  ask(std::move(unasked), told ? interest::ends_and_progress : interest::ends);
}

void watch_list::remove(std::uint64_t watch, const std::vector<task_id>& tasks) {
  std::vector<task_id> unwanted;
  for (auto task : tasks) {
    auto [at, end] = watched_.equal_range(task);
    bool was_wanted = at != end;
    while (at != end)
      at = at->second.watch == watch ? watched_.erase(at) : std::next(at);
    if (was_wanted && !watched_.contains(task))
      unwanted.push_back(task);
  }
  ask(std::move(unwanted), interest::nothing);
}

void watch_list::ask(std::vector<task_id> tasks, interest in) {
  if (!way_)
    return;
  std::sort(tasks.begin(), tasks.end());
  for (std::size_t begin = 0; begin < tasks.size();) {
    auto end = begin + 1;
    while (end < tasks.size() && end - begin < tuning::awaited_tasks_per_request_max
           && tasks[end].shard == tasks[begin].shard)
      ++end;
    auto part = std::span(tasks).subspan(begin, end - begin);
    auto shard = part.front().shard;
    if (value(shard) < store_->shard_count) {
      if (way_.reaches(shard))
        way_.send(shard, request_for(part, in));
    } else {
      for (auto task : part)
        finish(task, no_such_task(task));
    }
    begin = end;
  }
}

result<void> watch_list::accept(const protocol::tasks_ended& ended) {
  auto each = [this](task_id task, const result<ended_task>& how) { finish(task, how); };
  return ended.read([&](auto reader) -> result<void> {
    auto shard = static_cast<shard_id>(reader.getShard());
    auto ends = reader.getTexts().getEnds();
    auto texts = reader.getTexts().getBytes().asChars();
    auto tasks = reader.getTasks();
    if (ends.size() != tasks.size())
      return error{errc::protocol_error, "ended tasks and their texts differ in number"};
    std::uint32_t begin = 0;
    for (capnp::uint i = 0; i < tasks.size(); ++i) {
      if (ends[i] < begin || ends[i] > texts.size())
        return error{errc::protocol_error, "the texts of ended tasks are not in order"};
      std::string text(texts.begin() + begin, ends[i] - begin);
      begin = ends[i];
      task_id task{shard, tasks[i].getSeq()};
      auto code = protocol::from_schema(tasks[i].getCode());
      if (code == errc::none && tasks[i].getState() == schema::TaskState::LEASED)
        tell(
          {task,
           tasks[i].getAttempt(),
           std::min<int>(tasks[i].getPercent(), 100),
           std::move(text)});
      else if (code == errc::none)
        each(task, read_ended(task, tasks[i], std::move(text)));
      else if (code == errc::overloaded)
        put_off_.push_back(task);
      else if (code == errc::unknown_task)
        each(task, no_such_task(task));
      else
        each(task, error{code, std::move(text)});
    }
    return {};
  });
}

void watch_list::tell(const task_progress& progress) {
  auto [begin, end] = watched_.equal_range(progress.id);
  // A copy, since the callbacks may add or remove watchers.
  std::vector<std::pair<task_id, watcher>> watchers(begin, end);
  for (const auto& [task, watcher] : watchers)
    if (watcher.progressed)
      (*watcher.progressed)(progress);
}

void watch_list::finish(task_id task, const result<ended_task>& how) {
  auto [begin, end] = watched_.equal_range(task);
  if (begin == end)
    return;
  if (std::next(begin) == end)
    return (*watched_.extract(begin).mapped().ended)(how);
  // Removed first, since the callbacks may add or remove watchers.
  std::vector<std::pair<task_id, watcher>> watchers(begin, end);
  watched_.erase(begin, end);
  for (auto& [id, watcher] : watchers)
    (*watcher.ended)(how);
}

void watch_list::fail_all(const error& reason) {
  for (auto& [task, watcher] : std::exchange(watched_, {}))
    (*watcher.ended)(reason);
}

} // namespace codeq::client
