// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "protocol/error_code.hpp"
#include "protocol/shared_data.hpp"
#include "worker/node/wire.hpp"

#include <string>

namespace codeq::worker {

namespace {

/// A payload shares the buffer of a large frame if the frame is at most this many times as large as
/// the payload. This bounds the memory that a task holds.
constexpr std::size_t shared_parts_max = 4;

std::string text_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

std::string text_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

error not_fitting(const char* what) {
  return {errc::protocol_error, std::string("task batch: ") + what};
}

/// Reads payload and headers from the body at `slice` of the batch's buffer.
result<void> read_body(task& made, const bytes& slice) {
  auto body = protocol::frame<schema::TaskBody>::parse(slice);
  if (!body)
    return body.error();
  return body->read([&](schema::TaskBody::Reader reader) -> result<void> {
    auto payload = reader.getPayload();
    if (payload.size() > 0) {
      auto offset = reinterpret_cast<const char*>(payload.begin()) - slice.data();
      made.payload = slice.slice(static_cast<std::size_t>(offset), payload.size());
    }
    for (auto header : reader.getHeaders())
      made.headers.emplace(text_of(header.getName()), text_of(header.getValue()));
    return {};
  });
}

/// The fields that all tasks of the run share.
task run_prototype(schema::TaskRun::Reader run) {
  task made;
  made.tenant = text_of(run.getQueue().getTenant());
  made.queue = text_of(run.getQueue().getQueue());
  made.priority = run.getPriority();
  made.max_attempts = run.getMaxAttempts();
  made.lease = duration{static_cast<std::int64_t>(run.getLeaseMs())};
  made.enqueued_at = timestamp{duration{run.getEnqueuedAtMs()}};
  made.group = text_of(run.getGroup());
  made.key = text_of(run.getKey());
  return made;
}

result<void> check_run(schema::TaskRun::Reader run, std::size_t bodies_left) {
  if (run.getCount() > bodies_left)
    return not_fitting("more tasks than bodies");
  if (run.getAttempts().size() != 0 && run.getAttempts().size() != run.getCount())
    return not_fitting("attempts do not match the tasks");
  if (run.getPriority() > limits::priority_max)
    return not_fitting("priority outside 0..9");
  auto lease = run.getLeaseMs();
  if (
    lease < static_cast<std::uint64_t>(limits::lease_min.count())
    || lease > static_cast<std::uint64_t>(duration{limits::lease_max}.count()))
    return not_fitting("lease outside 1 s..12 h");
  return {};
}

/// Iterates over the bodies of a batch in order.
class body_cursor {
public:
  body_cursor(schema::Packed::Reader packed, const bytes& frame) : ends_(packed.getEnds()) {
    auto data = packed.getBytes();
    if (data.size() == 0)
      return;
    auto offset = reinterpret_cast<const char*>(data.begin()) - frame.data();
    bytes_ = frame.slice(static_cast<std::size_t>(offset), data.size());
  }

  [[nodiscard]] std::size_t left() const { return ends_.size() - next_; }

  result<bytes> next() {
    std::size_t end = ends_[static_cast<unsigned>(next_++)];
    if (end <= begin_ || end > bytes_.size())
      return not_fitting("body ends are not ascending within the bytes");
    auto body = bytes_.slice(begin_, end - begin_);
    begin_ = end;
    return body;
  }

private:
  capnp::List<std::uint32_t>::Reader ends_;
  bytes bytes_;
  std::size_t next_ = 0;
  std::size_t begin_ = 0;
};

std::vector<saved_line> lines_of(
  std::size_t store,
  shard_id shard,
  capnp::List<schema::CheckpointsSaved::Saved>::Reader checkpoints) {
  std::vector<saved_line> lines;
  for (auto line : checkpoints)
    lines.push_back({{store, shard, fencing_token{line.getToken()}}, line.getNumber()});
  return lines;
}

/// Sets the checkpoints of the run's tasks, which are the last ones of `into`.
result<void>
read_checkpoints(delivery& into, schema::TaskRun::Reader run, const protocol::task_batch& batch) {
  auto first = into.tasks.size() - run.getCount();
  for (auto checkpoint : run.getCheckpoints()) {
    auto place = checkpoint.getSeq() - run.getFirst();
    if (checkpoint.getSeq() < run.getFirst() || place >= run.getCount())
      return not_fitting("a checkpoint of a task that is not there");
    into.tasks[first + place].checkpoint = protocol::share(batch.body(), checkpoint.getData());
  }
  return {};
}

result<void>
read_run(delivery& into, shard_id shard, schema::TaskRun::Reader run, body_cursor& bodies) {
  if (auto ok = check_run(run, bodies.left()); !ok)
    return ok;
  auto prototype = run_prototype(run);
  auto attempts = run.getAttempts();
  for (unsigned i = 0; i < run.getCount(); ++i) {
    auto body = bodies.next();
    if (!body)
      return body.error();
    auto& made = into.tasks.emplace_back(prototype);
    made.id = {shard, run.getFirst() + i};
    made.token = fencing_token{run.getFirstToken() + i};
    made.attempt = attempts.size() == 0 ? 1 : attempts[i];
    made.cancel = std::make_shared<cancellation>();
    if (auto ok = read_body(made, *body); !ok)
      return ok;
  }
  return {};
}

/// Copies payloads that are much smaller than the frame they came in. The frame lives as long as
/// one of its tasks waits or runs, so otherwise a small task could hold megabytes.
void copy_small_parts(const bytes& frame, delivery& from) {
  if (frame.size() <= tuning::shared_batch_bytes_max)
    return;
  for (auto& attempt : from.tasks)
    for (auto* part : {&attempt.payload, &attempt.checkpoint})
      if (part->size() < frame.size() / shared_parts_max)
        *part = part->empty() ? bytes{} : bytes(std::string(part->view()));
}

lease_ref ref_of(std::size_t store, std::uint16_t shard, schema::TaskLease::Reader lease) {
  return {lease.getSeq(), {store, shard_id{shard}, fencing_token{lease.getToken()}}};
}

} // namespace

result<delivery> read_task_batch(const protocol::task_batch& batch) {
  return batch.read([&](schema::TaskBatch::Reader reader) -> result<delivery> {
    delivery made;
    made.redelivered = reader.getRedelivered();
    body_cursor bodies(reader.getTasks(), batch.body());
    made.tasks.reserve(bodies.left());
    for (auto run : reader.getRuns()) {
      if (auto ok = read_run(made, shard_id{reader.getShard()}, run, bodies); !ok)
        return ok.error();
      if (auto ok = read_checkpoints(made, run, batch); !ok)
        return ok.error();
    }
    if (bodies.left() != 0)
      return not_fitting("more bodies than tasks");
    copy_small_parts(batch.body(), made);
    return made;
  });
}

result<std::vector<lease_ref>>
read_leases_lost(std::size_t store, const protocol::leases_lost& lost) {
  return lost.read([&](schema::LeasesLost::Reader reader) -> result<std::vector<lease_ref>> {
    std::vector<lease_ref> refs;
    for (auto lease : reader.getLeases())
      refs.push_back(ref_of(store, reader.getShard(), lease));
    return refs;
  });
}

result<extended_leases>
read_heartbeat_reply(std::size_t store, const protocol::heartbeat_reply& reply) {
  return reply.read([&](schema::HeartbeatReply::Reader reader) -> result<extended_leases> {
    extended_leases extended{reader.getNumber(), {}};
    for (auto lease : reader.getLeases())
      extended.leases.push_back(ref_of(store, reader.getShard(), lease).key);
    return extended;
  });
}

result<lease_ref> read_cancel_notice(std::size_t store, const protocol::cancel_notice& notice) {
  return notice.read([&](schema::CancelNotice::Reader reader) -> result<lease_ref> {
    return ref_of(store, reader.getShard(), reader.getLease());
  });
}

result<std::vector<report_answer>>
read_result_reply(std::size_t store, const protocol::result_reply& reply) {
  return reply.read([&](schema::ResultReply::Reader reader) -> result<std::vector<report_answer>> {
    std::vector<report_answer> answers;
    for (auto answer : reader.getAnswers())
      answers.push_back(
        {{store, shard_id{reader.getShard()}, fencing_token{answer.getToken()}},
         answer.getSeq(),
         protocol::from_schema(answer.getCode()),
         text_of(answer.getContext())});
    return answers;
  });
}

result<std::vector<saved_line>>
read_checkpoints_saved(std::size_t store, const protocol::checkpoints_saved& saved) {
  return saved.read(
    [&](schema::CheckpointsSaved::Reader reader) -> result<std::vector<saved_line>> {
      return lines_of(store, shard_id{reader.getShard()}, reader.getCheckpoints());
    });
}

result<std::vector<saved_line>>
read_checkpoints_postponed(std::size_t store, const protocol::checkpoints_saved& saved) {
  return saved.read(
    [&](schema::CheckpointsSaved::Reader reader) -> result<std::vector<saved_line>> {
      return lines_of(store, shard_id{reader.getShard()}, reader.getPostponed());
    });
}

result<shard_id> read_resume_reply(const protocol::resume_reply& reply) {
  return reply.read([](schema::ResumeReply::Reader reader) -> result<shard_id> {
    return shard_id{reader.getShard()};
  });
}

} // namespace codeq::worker
