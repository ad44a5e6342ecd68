// SPDX-License-Identifier: Apache-2.0
#include "encoding/limit_structs.hpp"
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/records/record_build.hpp"
#include "storage/records/record_codec.hpp"

namespace codeq::storage {

namespace {

capnp::Data::Reader data_field_of(const std::string& text) {
  return {reinterpret_cast<const kj::byte*>(text.data()), text.size()};
}

std::string text_of(capnp::Data::Reader data) {
  return {data.asChars().begin(), data.size()};
}

void write_run(schema::FollowUpRecord::Run::Builder to, const core::follow_up& from) {
  to.setShard(value(from.shard));
  to.setCount(static_cast<std::uint32_t>(from.run.tasks.count()));
  encoding::write_queue(to.initQueue(), from.run.queue);
  to.setPriority(from.run.priority);
  encoding::write_settings(to.initSettings(), from.run.settings);
  to.setLeftToQueue(from.run.left_to_queue);
  to.setNotBeforeMs(ms_of(from.run.not_before));
  to.setAllowPromotion(from.run.allow_promotion);
  to.setGroup(data_field_of(from.run.group));
  to.setKey(data_field_of(from.run.key));
  to.setOnDuplicate(static_cast<std::uint8_t>(from.run.duplicate));
  to.setReplacePayload(from.run.replace_payload);
  write_fairness(to, from.run.fairness);
  encoding::write_limits_of(to, from.run.limits);
}

/// Reads a run without its tasks.
core::follow_up read_run(schema::FollowUpRecord::Run::Reader from) {
  core::follow_up task;
  task.shard = static_cast<shard_id>(from.getShard());
  task.run.queue = encoding::read_queue(from.getQueue());
  task.run.priority = from.getPriority();
  task.run.settings = encoding::read_settings(from.getSettings());
  task.run.left_to_queue = from.getLeftToQueue();
  task.run.not_before = time_of(from.getNotBeforeMs());
  task.run.allow_promotion = from.getAllowPromotion();
  task.run.group = text_of(from.getGroup());
  task.run.key = text_of(from.getKey());
  task.run.duplicate = static_cast<on_duplicate>(from.getOnDuplicate());
  task.run.replace_payload = from.getReplacePayload();
  task.run.fairness = read_fairness(from);
  task.run.limits = encoding::read_limits(from.getLimits());
  return task;
}

} // namespace

std::string encode(const core::follow_ups_sent& e) {
  std::vector<core::encoded_tasks> bodies;
  std::size_t byte_count = 0;
  std::size_t tasks = 0;
  std::size_t words_of_limits = 0;
  for (const auto& task : e.tasks) {
    words_of_limits += encoding::limit_words(task.run.limits);
    bodies.push_back(task.run.tasks);
    byte_count += task.run.tasks.body.size();
    tasks += task.run.tasks.count();
  }
  auto words = encoding::packed_words(byte_count, tasks) + e.tasks.size() * 64 + words_of_limits
               + small_words;
  return build<schema::FollowUpRecord>(words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    auto runs = r.initRuns(static_cast<capnp::uint>(e.tasks.size()));
    for (capnp::uint i = 0; i < e.tasks.size(); ++i)
      write_run(runs[i], e.tasks[i]);
    encoding::write_packed(r.initTasks(), std::span<const core::encoded_tasks>(bodies));
  });
}

result<core::follow_ups_sent> decode_follow_ups(std::string_view value) {
  return parse<schema::FollowUpRecord>(value, [](auto r) -> result<core::follow_ups_sent> {
    core::follow_ups_sent e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    auto sizes = encoding::read_sizes(r.getTasks());
    if (!sizes)
      return mismatch("ends of bodies do not fit their bytes");
    auto data = r.getTasks().getBytes().asChars();
    core::encoded_tasks all{bytes(std::string(data.begin(), data.size())), std::move(*sizes)};
    std::size_t next = 0;
    for (auto run : r.getRuns()) {
      if (run.getCount() == 0 || run.getCount() > all.count() - next)
        return mismatch("runs do not fit the tasks");
      e.tasks.push_back(read_run(run));
      if (!is_valid(e.tasks.back().run.fairness))
        return mismatch("a task whose fairness key has no valid weight");
      if (!is_valid(e.tasks.back().run.limits))
        return mismatch("a task whose limits are not valid");
      e.tasks.back().run.tasks = all.part(next, run.getCount());
      next += run.getCount();
    }
    if (next != all.count())
      return mismatch("runs do not fit the tasks");
    return e;
  });
}

} // namespace codeq::storage
