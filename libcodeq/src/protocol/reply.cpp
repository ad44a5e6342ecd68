// SPDX-License-Identifier: Apache-2.0
#include "protocol/reply.hpp"

#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/error_code.hpp"
#include "protocol/shared_data.hpp"

namespace codeq::protocol {

namespace {

void write_run(schema::TaskRun::Builder to, const core::granted_run& run) {
  to.setFirst(run.first);
  to.setCount(run.count);
  to.setFirstToken(value(run.first_token));
  if (!run.attempts.empty()) {
    auto attempts = to.initAttempts(count_of(run.attempts.size()));
    for (capnp::uint i = 0; i < run.attempts.size(); ++i)
      attempts.set(i, run.attempts[i]);
  }
  encoding::write_queue(to.initQueue(), run.queue);
  to.setPriority(run.priority);
  to.setLeaseMs(static_cast<std::uint64_t>(run.lease.count()));
  to.setMaxAttempts(run.max_attempts);
  to.setEnqueuedAtMs(ms_of(run.enqueued_at));
  if (!run.group.empty())
    to.setGroup(data_of(run.group));
  if (!run.key.empty())
    to.setKey(data_of(run.key));
  if (run.checkpoints.empty())
    return;
  auto checkpoints = to.initCheckpoints(count_of(run.checkpoints.size()));
  for (capnp::uint i = 0; i < run.checkpoints.size(); ++i) {
    auto data = run.checkpoints[i].data.view();
    checkpoints[i].setSeq(run.checkpoints[i].seq);
    checkpoints[i].setData({reinterpret_cast<const kj::byte*>(data.data()), data.size()});
  }
}

void write_leases(
  capnp::List<schema::TaskLease>::Builder to, std::span<const core::task_lease> leases) {
  for (capnp::uint i = 0; i < leases.size(); ++i) {
    to[i].setSeq(leases[i].seq);
    to[i].setToken(value(leases[i].token));
  }
}

void write_checkpoints(
  capnp::List<schema::CheckpointsSaved::Saved>::Builder to,
  std::span<const core::saved_checkpoint> checkpoints) {
  for (capnp::uint i = 0; i < checkpoints.size(); ++i) {
    to[i].setSeq(checkpoints[i].seq);
    to[i].setToken(value(checkpoints[i].mark.token));
    to[i].setNumber(checkpoints[i].mark.number);
  }
}

std::size_t checkpoint_bytes(const core::granted_run& run) {
  std::size_t total = 0;
  for (const auto& checkpoint : run.checkpoints)
    total += checkpoint.data.size();
  return total;
}

} // namespace

enqueue_reply
make_enqueue_reply(shard_id shard, const core::enqueue_answered& answer, duration retry_after) {
  return enqueue_reply::build([&](auto r) {
    r.setNumber(answer.number);
    r.setShard(value(shard));
    encoding::write_runs(r.initTasks(count_of(answer.tasks.size())), answer.tasks);
    if (!answer.kinds.empty()) {
      auto kinds = r.initKinds(count_of(answer.kinds.size()));
      for (capnp::uint i = 0; i < kinds.size(); ++i)
        kinds[i] = static_cast<kj::byte>(answer.kinds[i]);
    }
    r.setCode(to_schema(answer.allowed.error().code));
    r.setContext(text_of(answer.allowed.error().context));
    r.setRetryAfterMs(static_cast<std::uint32_t>(retry_after.count()));
  });
}

task_batch make_task_batch(
  shard_id shard, const core::tasks_granted& granted, std::span<const core::encoded_tasks> bodies) {
  std::size_t byte_count = 0;
  std::size_t tasks = 0;
  for (const auto& b : bodies) {
    byte_count += b.body.size();
    tasks += b.count();
  }
  std::size_t name_words = 0;
  for (const auto& run : granted.runs)
    name_words += (run.group.size() + run.key.size() + checkpoint_bytes(run)) / sizeof(capnp::word)
                  + 2 + 4 * run.checkpoints.size();
  auto words =
    encoding::packed_words(byte_count, tasks) + granted.runs.size() * 32 + tasks + name_words;
  return task_batch::build(
    [&](auto r) {
      r.setShard(value(shard));
      r.setRedelivered(granted.redelivered);
      auto runs = r.initRuns(count_of(granted.runs.size()));
      for (capnp::uint i = 0; i < granted.runs.size(); ++i)
        write_run(runs[i], granted.runs[i]);
      encoding::write_packed(r.initTasks(), bodies);
    },
    words);
}

result_reply make_result_reply(shard_id shard, std::span<const core::report_answer> answers) {
  return result_reply::build(
    [&](auto r) {
      r.setShard(value(shard));
      auto list = r.initAnswers(count_of(answers.size()));
      for (capnp::uint i = 0; i < answers.size(); ++i) {
        list[i].setSeq(answers[i].seq);
        list[i].setToken(value(answers[i].token));
        list[i].setCode(to_schema(answers[i].code));
        if (!answers[i].context.empty())
          list[i].setContext(text_of(answers[i].context));
      }
    },
    answers.size() * 4 + 16);
}

checkpoints_saved
make_checkpoints_saved(shard_id shard, std::span<const core::saved_checkpoint> checkpoints) {
  return checkpoints_saved::build([&](auto r) {
    r.setShard(value(shard));
    write_checkpoints(r.initCheckpoints(count_of(checkpoints.size())), checkpoints);
  });
}

checkpoints_saved
make_checkpoints_postponed(shard_id shard, std::span<const core::saved_checkpoint> checkpoints) {
  return checkpoints_saved::build([&](auto r) {
    r.setShard(value(shard));
    write_checkpoints(r.initPostponed(count_of(checkpoints.size())), checkpoints);
  });
}

leases_lost make_leases_lost(shard_id shard, std::span<const core::task_lease> leases) {
  return leases_lost::build([&](auto r) {
    r.setShard(value(shard));
    write_leases(r.initLeases(count_of(leases.size())), leases);
  });
}

heartbeat_reply make_heartbeat_reply(
  shard_id shard, std::uint64_t number, std::span<const core::task_lease> leases) {
  return heartbeat_reply::build(
    [&](auto r) {
      r.setShard(value(shard));
      r.setNumber(number);
      write_leases(r.initLeases(count_of(leases.size())), leases);
    },
    leases.size() * 2 + 16);
}

resume_reply make_resume_reply(shard_id shard) {
  return resume_reply::build([&](auto r) { r.setShard(value(shard)); });
}

tasks_ended make_tasks_ended(shard_id shard, std::span<const awaited_task> tasks) {
  std::vector<bytes> texts;
  std::size_t byte_count = 0;
  for (const auto& t : tasks) {
    texts.push_back(t.text);
    byte_count += t.text.size();
  }
  return tasks_ended::build(
    [&](auto r) {
      r.setShard(value(shard));
      auto list = r.initTasks(count_of(tasks.size()));
      for (capnp::uint i = 0; i < tasks.size(); ++i) {
        list[i].setSeq(tasks[i].seq);
        list[i].setState(encoding::to_schema(tasks[i].state));
        list[i].setCode(to_schema(tasks[i].code));
        list[i].setAttempt(tasks[i].attempt);
        list[i].setPercent(tasks[i].percent);
      }
      encoding::write_packed(r.initTexts(), std::span<const bytes>(texts));
    },
    encoding::packed_words(byte_count, tasks.size()) + tasks.size() * 3);
}

cancel_notice make_cancel_notice(shard_id shard, const core::cancel_wanted& wanted) {
  return cancel_notice::build([&](auto r) {
    r.setShard(value(shard));
    r.initLease().setSeq(wanted.lease.seq);
    r.getLease().setToken(value(wanted.lease.token));
    r.setGraceMs(static_cast<std::uint64_t>(wanted.grace.count()));
  });
}

refused make_refused(const error& reason) {
  return refused::build([&](auto r) {
    r.setCode(to_schema(reason.code));
    r.setContext(text_of(reason.context));
  });
}

goodbye make_goodbye(errc code, const producer_id& finished) {
  return goodbye::build([&](auto r) {
    r.setCode(to_schema(code));
    if (finished != producer_id{})
      encoding::write_producer(r.initFinished(), finished);
  });
}

} // namespace codeq::protocol
