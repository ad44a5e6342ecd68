// SPDX-License-Identifier: Apache-2.0
#include "protocol/convert.hpp"

#include "codeq/limits.hpp"

#include "encoding/shared_structs.hpp"
#include "task.capnp.h"

namespace codeq::protocol {

namespace {

error malformed(const std::string& what) {
  return {errc::protocol_error, what};
}

error out_of_range(const char* field, const std::string& found, const std::string& allowed) {
  return {errc::invalid_argument, std::string(field) + " is " + found + "; it must be " + allowed};
}

error too_many(const char* what, std::size_t found, std::size_t limit) {
  return {
    errc::too_large,
    std::to_string(found) + " " + what + " in one request; the limit is " + std::to_string(limit)};
}

result<void> check_name(const char* field, const std::string& name) {
  if (is_valid_name(name))
    return {};
  return out_of_range(field, "\"" + name.substr(0, 64) + "\"", "[A-Za-z0-9._-]{1,128}");
}

result<void> check_range(const char* field, duration found, duration least, duration most) {
  if (found >= least && found <= most)
    return {};
  return out_of_range(
    field,
    std::to_string(found.count()) + " ms",
    std::to_string(least.count()) + ".." + std::to_string(most.count()) + " ms");
}

result<void> check_settings(const core::task_settings& s) {
  if (s.max_attempts < 1 || s.max_attempts > limits::attempts_max)
    return out_of_range(
      "max_attempts", std::to_string(s.max_attempts), "1.." + std::to_string(limits::attempts_max));
  if (s.retry.kind > retry_kind::exponential_jitter)
    return out_of_range("retry", "of an unknown kind", "one of the four kinds");
  if (s.when_dead > on_dead::block)
    return out_of_range("on_dead", "unknown", "skip or block");
  if (auto ok = check_range("retry base", s.retry.base, duration{0}, limits::retry_max); !ok)
    return ok;
  if (auto ok = check_range("retry cap", s.retry.cap, duration{0}, limits::retry_max); !ok)
    return ok;
  if (auto ok = check_range("lease", s.lease, limits::lease_min, limits::lease_max); !ok)
    return ok;
  if (auto ok = check_range("run_timeout", s.run_timeout, duration{0}, limits::run_timeout_max);
      !ok)
    return ok;
  return check_range("progress_timeout", s.progress_timeout, duration{0}, limits::run_timeout_max);
}

/// The largest body that payload and headers within their limits can make: one header per byte of
/// them takes four words.
constexpr std::size_t body_bytes_max =
  limits::payload_bytes_max + limits::headers_bytes_max * 4 * sizeof(capnp::word) + 64;

/// Looks into a body as far as its limits need it; it is forwarded as it came.
result<void> check_body(const bytes& body) {
  // What no field tells of would be stored and forwarded all the same.
  if (body.size() > body_bytes_max)
    return error{
      errc::too_large,
      "body has " + std::to_string(body.size()) + " bytes; the limit is "
        + std::to_string(body_bytes_max)};
  auto parsed = frame<schema::TaskBody>::parse(body);
  if (!parsed)
    return parsed.error();
  return parsed->read([](auto task) -> result<void> {
    if (task.getPayload().size() > limits::payload_bytes_max)
      return error{
        errc::too_large,
        "payload has " + std::to_string(task.getPayload().size()) + " bytes; the limit is "
          + std::to_string(limits::payload_bytes_max)};
    std::size_t header_bytes = 0;
    for (auto header : task.getHeaders())
      header_bytes += header.getName().size() + header.getValue().size();
    if (header_bytes > limits::headers_bytes_max)
      return error{
        errc::too_large,
        "headers have " + std::to_string(header_bytes) + " bytes; the limit is "
          + std::to_string(limits::headers_bytes_max)};
    return {};
  });
}

/// The slice of the message's own buffer that a data field is.
bytes share(const bytes& body, capnp::Data::Reader data) {
  if (data.size() == 0)
    return {};
  auto offset = reinterpret_cast<const char*>(data.begin()) - body.data();
  return body.slice(static_cast<std::size_t>(offset), data.size());
}

result<core::encoded_tasks> read_tasks(const bytes& body, schema::Packed::Reader packed) {
  auto sizes = encoding::read_sizes(packed);
  if (!sizes)
    return malformed("the ends of the tasks do not fit their bytes");
  core::encoded_tasks tasks{share(body, packed.getBytes()), std::move(*sizes)};
  std::size_t at = 0;
  for (auto size : tasks.sizes) {
    if (auto ok = check_body(tasks.body.slice(at, size)); !ok)
      return ok.error();
    at += size;
  }
  return tasks;
}

/// When the tasks of a run may be claimed; the epoch (0) is now.
result<timestamp> read_not_before(schema::EnqueueRun::Reader run, timestamp now) {
  duration delay{static_cast<duration::rep>(run.getDelayMs())};
  if (run.getNotBeforeMs() != 0 && delay != duration{0})
    return out_of_range("delay", "given beside not_before", "one of the two");
  if (auto ok = check_range("delay", delay, duration{0}, limits::not_before_ahead_max); !ok)
    return ok.error();
  if (delay != duration{0})
    return now + delay;
  timestamp not_before{duration{run.getNotBeforeMs()}};
  if (not_before < timestamp{} || not_before - limits::not_before_ahead_max > now)
    return out_of_range(
      "not_before", std::to_string(run.getNotBeforeMs()), "within ten years from now");
  return not_before;
}

result<core::enqueue_run> read_run(schema::EnqueueRun::Reader run, timestamp now) {
  core::enqueue_run r;
  r.queue = encoding::read_queue(run.getQueue());
  r.priority = run.getPriority();
  r.settings = encoding::read_settings(run.getSettings());
  if (auto ok = check_name("tenant", r.queue.tenant); !ok)
    return ok.error();
  if (auto ok = check_name("queue", r.queue.queue); !ok)
    return ok.error();
  if (r.priority > limits::priority_max)
    return out_of_range(
      "priority", std::to_string(r.priority), "0.." + std::to_string(limits::priority_max));
  if (auto ok = check_settings(r.settings); !ok)
    return ok.error();
  auto not_before = read_not_before(run, now);
  if (!not_before)
    return not_before.error();
  r.not_before = *not_before;
  r.allow_promotion = run.getAllowPromotion();
  return r;
}

result<core::enqueue>
read_enqueue(const bytes& body, schema::EnqueueRequest::Reader reader, timestamp now) {
  core::enqueue c;
  c.request = {
    encoding::read_producer(reader.getProducer()), reader.getNumber(), reader.getAnsweredBelow()};
  if (c.request.number == 0 || c.request.answered_below > c.request.number)
    return malformed("request numbers start at 1 and answered_below is not above them");
  if (is_internal(c.request.producer))
    return error{
      errc::invalid_argument,
      "the upper half of producer is 0, which is reserved for the coordinator itself"};
  auto tasks = read_tasks(body, reader.getTasks());
  if (!tasks)
    return tasks.error();
  if (tasks->count() == 0 || tasks->count() > limits::enqueue_tasks_max)
    return out_of_range(
      "tasks",
      std::to_string(tasks->count()),
      "1.." + std::to_string(limits::enqueue_tasks_max) + " per request");
  std::size_t next = 0;
  for (auto run : reader.getRuns()) {
    if (run.getCount() == 0 || run.getCount() > tasks->count() - next)
      return malformed("the runs do not fit the tasks");
    auto r = read_run(run, now);
    if (!r)
      return r.error();
    r->tasks = tasks->part(next, run.getCount());
    next += run.getCount();
    c.runs.push_back(std::move(*r));
  }
  if (next != tasks->count())
    return malformed("the runs do not fit the tasks");
  return c;
}

result<core::lease_report> read_report(schema::ResultRequest::Report::Reader from, bytes text) {
  core::lease_report r;
  r.seq = from.getSeq();
  r.token = static_cast<fencing_token>(from.getToken());
  r.started = from.getStarted();
  if (from.getDisposition() > schema::Disposition::CANCELLED)
    return malformed("an unknown disposition");
  r.how = static_cast<core::disposition>(from.getDisposition());
  if (r.how == core::disposition::nack && from.getDelayMs() >= 0)
    r.delay = duration{from.getDelayMs()};
  if (r.delay && *r.delay > limits::retry_max)
    return malformed(
      "a nack's delay is above " + std::to_string(limits::retry_max.count()) + " ms");
  bool is_result = r.how == core::disposition::completed;
  auto limit = is_result ? limits::result_bytes_max : limits::error_text_bytes_max;
  if (text.size() > limit)
    return malformed(
      std::string(is_result ? "result" : "error text") + " has " + std::to_string(text.size())
      + " bytes; the limit is " + std::to_string(limit));
  r.text = std::move(text);
  return r;
}

} // namespace

result<std::uint64_t> number_of(const enqueue_request& message) {
  return message.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
}

result<core::enqueue>
to_command(const enqueue_request& message, core::peer_id peer, timestamp now) {
  auto command =
    message.read([&](auto reader) { return read_enqueue(message.body(), reader, now); });
  if (command)
    command->peer = peer;
  return command;
}

result<core::heartbeat> to_command(const heartbeat_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::heartbeat> {
    core::heartbeat c{peer, {}};
    auto leases = reader.getLeases();
    if (leases.size() > limits::beats_per_request_max)
      return too_many("beats", leases.size(), limits::beats_per_request_max);
    c.beats.reserve(leases.size());
    for (auto beat : leases)
      c.beats.push_back(
        {beat.getSeq(),
         static_cast<fencing_token>(beat.getToken()),
         beat.getPhase() == schema::LeasePhase::QUEUED});
    return c;
  });
}

result<core::report> to_command(const result_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::report> {
    core::report c{peer, {}};
    auto reports = reader.getReports();
    if (reports.size() > limits::reports_per_request_max)
      return too_many("reports", reports.size(), limits::reports_per_request_max);
    auto sizes = encoding::read_sizes(reader.getTexts());
    if (!sizes || sizes->size() != reports.size())
      return malformed("the texts do not fit the reports");
    auto texts = share(message.body(), reader.getTexts().getBytes());
    std::size_t at = 0;
    for (capnp::uint i = 0; i < reports.size(); ++i) {
      auto r = read_report(reports[i], texts.slice(at, (*sizes)[i]));
      if (!r)
        return r.error();
      at += (*sizes)[i];
      c.reports.push_back(std::move(*r));
    }
    return c;
  });
}

result<core::resume> to_command(
  const resume_request& message,
  core::peer_id peer,
  const std::shared_ptr<const worker_identity>& worker) {
  return message.read([&](auto reader) -> result<core::resume> {
    core::resume c{peer, worker, {}};
    auto leases = reader.getLeases();
    if (leases.size() > limits::holdings_per_request_max)
      return too_many("leases", leases.size(), limits::holdings_per_request_max);
    for (auto lease : leases)
      c.leases.push_back({lease.getSeq(), static_cast<fencing_token>(lease.getToken())});
    return c;
  });
}

result<core::await_tasks> to_command(const await_request& message, core::peer_id peer) {
  return message.read([&](auto reader) -> result<core::await_tasks> {
    auto seqs = reader.getSeqs();
    if (seqs.size() > limits::awaited_tasks_per_request_max)
      return too_many("awaited tasks", seqs.size(), limits::awaited_tasks_per_request_max);
    core::await_tasks c{peer, {}};
    c.tasks.reserve(seqs.size());
    for (auto seq : seqs)
      c.tasks.push_back(seq);
    return c;
  });
}

result<change_order> to_order(const change_request& message) {
  return message.read([](auto reader) -> result<change_order> {
    change_order order;
    order.number = reader.getNumber();
    order.task = {static_cast<shard_id>(reader.getTask().getShard()), reader.getTask().getSeq()};
    order.change = reader.getChange();
    return order;
  });
}

result<node_introduction> to_introduction(const hello& message) {
  return message.read([](auto reader) -> result<node_introduction> {
    node_introduction n;
    n.role = reader.getRole();
    n.identity = {encoding::read_text(reader.getName()), reader.getIncarnation()};
    n.min_version = reader.getMinVersion();
    n.max_version = reader.getMaxVersion();
    if (n.role > schema::Role::OPERATOR)
      return malformed("an unknown role");
    if (auto ok = check_name("name", n.identity.name); !ok)
      return ok.error();
    if (reader.getQueues().size() > limits::queues_per_worker_max)
      return too_many("queues", reader.getQueues().size(), limits::queues_per_worker_max);
    for (auto queue : reader.getQueues()) {
      n.queues.push_back(encoding::read_queue(queue));
      if (auto ok = check_name("tenant", n.queues.back().tenant); !ok)
        return ok.error();
      if (auto ok = check_name("queue", n.queues.back().queue); !ok)
        return ok.error();
    }
    return n;
  });
}

} // namespace codeq::protocol
