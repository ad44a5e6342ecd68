// SPDX-License-Identifier: Apache-2.0
#include "protocol/schedule_convert.hpp"

#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/run_convert.hpp"
#include "protocol/shared_data.hpp"
#include "protocol/task_convert.hpp"
#include "schedule/overlap.hpp"

#include <capnp/serialize-packed.h>
#include <kj/io.h>

#include <utility>

namespace codeq::protocol {

namespace {

/// Room in the headers of a task for those of an occurrence.
constexpr std::size_t occurrence_headers_bytes = schedule_header.size()
                                                 + nominal_time_header.size()
                                                 + limits::name_bytes_max + 64;

std::string copy_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

std::string pack(capnp::MessageBuilder& message) {
  kj::VectorOutputStream out;
  capnp::writePackedMessage(out, message);
  auto bytes = out.getArray().asChars();
  return {bytes.begin(), bytes.size()};
}

/// Calls `fn` with the spec in a definition.
template <class F>
auto with_spec(const core::schedule_definition& definition, F&& fn)
  -> std::invoke_result_t<F, schema::ScheduleSpec::Reader> {
  try {
    const auto& packed = definition.spec;
    kj::ArrayInputStream in(
      kj::arrayPtr(reinterpret_cast<const kj::byte*>(packed.data()), packed.size()));
    capnp::PackedMessageReader message(in);
    return fn(message.getRoot<schema::ScheduleSpec>());
  } catch (const kj::Exception& e) {
    return malformed(e.getDescription().cStr());
  }
}

/// The run in the task of a spec; its body is a copy.
result<core::enqueue_run> read_task(capnp::Data::Reader data) {
  auto message = frame<schema::FollowUps>::parse(bytes(string_of(data)));
  if (!message)
    return message.error();
  return message->read([&](auto from) -> result<core::enqueue_run> {
    auto runs = read_runs(message->body(), {from.getRuns(), from.getTasks(), {}}, timestamp{});
    if (!runs)
      return runs.error();
    if (runs->size() != 1 || runs->front().tasks.count() != 1)
      return out_of_range("the number of tasks of a schedule", std::to_string(runs->size()), "1");
    return std::move(runs->front());
  });
}

result<void> check_run(const core::enqueue_run& run, const std::string& tenant) {
  if (run.queue.tenant != tenant)
    return out_of_range("tenant of the task", '"' + run.queue.tenant + '"', "the schedule's");
  if (run.not_before != timestamp{})
    return out_of_range("delay or not_before of the task", "set", "unset; the schedule has times");
  auto body = frame<schema::TaskBody>::parse(run.tasks.body);
  if (!body)
    return body.error();
  return body->read([](auto task) -> result<void> {
    std::size_t header_bytes = 0;
    for (auto header : task.getHeaders()) {
      auto text = header.getName();
      std::string_view name(text.cStr(), text.size());
      if (name == schedule_header || name == nominal_time_header)
        return out_of_range("header", std::string(name), "another one; the coordinator sets it");
      header_bytes += name.size() + header.getValue().size();
    }
    return check_size(
      "headers", header_bytes, limits::headers_bytes_max - occurrence_headers_bytes);
  });
}

/// The rule and the policies of a spec.
result<schedule_content> read_times(schema::ScheduleSpec::Reader spec) {
  if (auto ok = check_size("rule", spec.getRule().size(), schedule::rule_bytes_max); !ok)
    return ok.error();
  auto rule = schedule::parse_rule(copy_of(spec.getRule()));
  if (!rule)
    return rule.error();
  auto misfire = schedule::parse_misfire_policy(copy_of(spec.getMisfire()));
  if (!misfire)
    return misfire.error();
  duration window{static_cast<duration::rep>(spec.getCatchUpMs())};
  if (auto ok = check_duration("catch_up", window, duration{0}, schedule::catch_up_max); !ok)
    return ok.error();
  return schedule_content{std::move(*rule), {window, *misfire}, {}};
}

void write_time(schema::ScheduleTime::Builder to, const schedule_time& from) {
  to.setNominal(text_of(from.nominal));
  to.setAtMs(from.at.time_since_epoch().count());
  to.setLocal(text_of(from.local));
}

void write_occurrence(
  schema::ScheduleOccurrence::Builder to, const schedule_occurrence& from) {
  to.setNumber(from.number);
  write_time(to.initWhen(), from.when);
  to.setDecidedAtMs(from.decided_at.time_since_epoch().count());
  to.setCause(static_cast<schema::OccurrenceCause>(from.cause));
  to.setState(static_cast<schema::OccurrenceState>(from.state));
  to.setCount(from.count);
  if (from.task) {
    to.initTask().setShard(value(from.task->shard));
    to.getTask().setSeq(from.task->seq);
  }
  if (from.ended_at)
    to.setEndedAtMs(from.ended_at->time_since_epoch().count());
}

void write_view(schema::ScheduleReply::View::Builder to, const schedule_part& from) {
  to.setName(text_of(from.view.name.name));
  if (from.view.definition) {
    auto written = with_spec(*from.view.definition, [&](auto spec) -> result<void> {
      to.setSpec(spec);
      return {};
    });
    static_cast<void>(written);
  }
  const auto& progress = from.view.progress;
  to.setPaused(progress.paused);
  auto next = to.initNext(static_cast<capnp::uint>(from.next.size()));
  for (capnp::uint i = 0; i < next.size(); ++i)
    write_time(next[i], from.next[i]);
  if (from.latest)
    write_occurrence(to.initLatest(), *from.latest);
  to.setRunning(static_cast<std::uint32_t>(progress.open.size()));
  to.setHasWaiting(progress.waiting.has_value());
  to.setOccurrences(progress.occurrences);
}

result<schedule_question>
read_question(schema::ScheduleRequest::Reader from, schedule_question question) {
  using kind = schedule_question::kind;
  switch (question.what) {
  case kind::SET: {
    auto definition = pack_spec(from.getSet(), question.name.tenant);
    if (!definition)
      return definition.error();
    question.definition = std::move(*definition);
    return question;
  }
  case kind::BACKFILL:
    question.from = timestamp{duration{from.getBackfill().getFromMs()}};
    question.until = timestamp{duration{from.getBackfill().getUntilMs()}};
    if (question.from >= question.until)
      return out_of_range(
        "until", to_string(question.until), "after from, " + to_string(question.from));
    return question;
  case kind::NEXT: {
    auto preview = from.getNext();
    question.count = preview.getCount();
    if (auto ok = check_count("count", question.count, 1, limits::schedule_next_max); !ok)
      return ok.error();
    if (!preview.hasSpec())
      return question;
    auto definition = pack_spec(preview.getSpec(), question.name.tenant);
    if (!definition)
      return definition.error();
    question.definition = std::move(*definition);
    return question;
  }
  case kind::LIST:
    question.count = from.getList().getLimit();
    question.after = copy_of(from.getList().getAfter());
    if (auto ok = check_count("limit", question.count, 1, limits::schedules_listed_max); !ok)
      return ok.error();
    if (auto ok = check_size("after", question.after.size(), limits::name_bytes_max); !ok)
      return ok.error();
    return question;
  case kind::SHOW:
  case kind::DELETE:
  case kind::PAUSE:
  case kind::RESUME:
  case kind::RUN:
  case kind::HISTORY:
    return question;
  }
  return error{
    errc::unsupported,
    "schedule request " + std::to_string(static_cast<unsigned>(question.what))
      + " is not known to this coordinator"};
}

/// Takes a task apart into the fields that users set.
task_spec spec_of(const core::enqueue_run& run) {
  using bit = core::setting_bit;
  task_spec task;
  task.tenant = run.queue.tenant;
  task.queue = run.queue.queue;
  task.priority = run.priority;
  task.allow_promotion = run.allow_promotion;
  task.group = run.group;
  task.key = run.key;
  task.duplicate = run.duplicate;
  task.replace_payload = run.replace_payload;
  task.fairness_key = run.fairness.key;
  task.fairness_weight = run.fairness.weight;
  task.limits = run.limits;
  auto is_own = [&](bit b) { return (run.left_to_queue & static_cast<std::uint16_t>(b)) == 0; };
  const auto& s = run.settings;
  if (is_own(bit::max_attempts))
    task.max_attempts = s.max_attempts;
  if (is_own(bit::retry))
    task.retry = s.retry;
  if (is_own(bit::lease))
    task.lease = s.lease;
  if (is_own(bit::run_timeout))
    task.run_timeout = s.run_timeout;
  if (is_own(bit::progress_timeout))
    task.progress_timeout = s.progress_timeout;
  if (is_own(bit::retention))
    task.retention = s.retention;
  if (is_own(bit::dead_retention))
    task.dead_retention = s.dead_retention;
  if (is_own(bit::on_dead))
    task.when_dead = s.when_dead;
  return task;
}

result<void> read_body(const bytes& encoded, task_spec& to) {
  auto body = frame<schema::TaskBody>::parse(encoded);
  if (!body)
    return body.error();
  return body->read([&](auto from) -> result<void> {
    to.payload = bytes(string_of(from.getPayload()));
    for (auto header : from.getHeaders())
      to.headers.emplace(copy_of(header.getName()), copy_of(header.getValue()));
    return {};
  });
}

} // namespace

shard_id shard_of_schedule(const schedule_address& name, std::uint16_t shard_count) {
  return core::shard_of_name({name.tenant, {}}, name.name, shard_count);
}

result<core::definition_ptr>
pack_spec(schema::ScheduleSpec::Reader spec, const std::string& tenant) {
  auto times = read_times(spec);
  if (!times)
    return times.error();
  auto overlap = schedule::parse_overlap_policy(copy_of(spec.getOverlap()));
  if (!overlap)
    return overlap.error();
  // Taken once: each time counts as bytes that were read, which are bounded.
  auto task = spec.getTask();
  if (auto ok = check_size("task", task.size(), limits::schedule_bytes_max); !ok)
    return ok.error();
  auto run = read_task(task);
  if (!run)
    return run.error();
  if (auto ok = check_run(*run, tenant); !ok)
    return ok.error();
  capnp::MallocMessageBuilder message;
  auto packed = message.initRoot<schema::ScheduleSpec>();
  packed.setRule(text_of(schedule::to_string(times->rule)));
  packed.setMisfire(text_of(std::string(to_string(times->catch_up.policy))));
  packed.setCatchUpMs(spec.getCatchUpMs());
  packed.setOverlap(text_of(std::string(to_string(*overlap))));
  packed.setTask(task);
  return std::make_shared<const core::schedule_definition>(
    core::schedule_definition{pack(message), *overlap});
}

result<frame<schema::ScheduleSpec>>
encode_spec(const schedule_spec& spec, std::string_view tenant) {
  auto tasks = encoded_tasks::encode({&spec.task, 1}, {}, tenant);
  if (!tasks)
    return tasks.error();
  auto task = frame<schema::FollowUps>::build([&](auto to) { tasks->write_follow_ups(to); });
  auto size = task.body().size();
  if (auto ok = check_size("task", size, limits::schedule_bytes_max); !ok)
    return ok.error();
  return frame<schema::ScheduleSpec>::build([&](auto to) {
    to.setRule(text_of(spec.rule));
    to.setMisfire(text_of(std::string(to_string(spec.misfire))));
    to.setCatchUpMs(static_cast<std::uint64_t>(spec.catch_up.count()));
    to.setOverlap(text_of(std::string(to_string(spec.overlap))));
    to.setTask(data_of(task.body().view()));
  });
}

result<schedule_content> read_content(const core::schedule_definition& definition) {
  return with_spec(definition, [](auto spec) -> result<schedule_content> {
    auto content = read_times(spec);
    if (!content)
      return content;
    auto run = read_task(spec.getTask());
    if (!run)
      return run.error();
    content->run = std::move(*run);
    return content;
  });
}

result<schedule_spec> read_spec(schema::ScheduleSpec::Reader from) {
  auto misfire = schedule::parse_misfire_policy(copy_of(from.getMisfire()));
  if (!misfire)
    return misfire.error();
  auto overlap = schedule::parse_overlap_policy(copy_of(from.getOverlap()));
  if (!overlap)
    return overlap.error();
  schedule_spec spec;
  spec.rule = copy_of(from.getRule());
  spec.misfire = *misfire;
  spec.catch_up = duration{static_cast<duration::rep>(from.getCatchUpMs())};
  spec.overlap = *overlap;
  auto run = read_task(from.getTask());
  if (!run)
    return run.error();
  spec.task = spec_of(*run);
  if (auto ok = read_body(run->tasks.body, spec.task); !ok)
    return ok.error();
  return spec;
}

result<schedule_spec> read_spec(const core::schedule_definition& definition) {
  return with_spec(
    definition, [](schema::ScheduleSpec::Reader spec) { return read_spec(spec); });
}

result<core::enqueue_run> run_of_occurrence(
  const core::enqueue_run& run, const schedule_address& schedule, const std::string& nominal) {
  auto body = frame<schema::TaskBody>::parse(run.tasks.body);
  if (!body)
    return body.error();
  auto built = body->read([&](auto from) -> result<frame<schema::TaskBody>> {
    return frame<schema::TaskBody>::build([&](schema::TaskBody::Builder to) {
      to.setPayload(from.getPayload());
      auto old = from.getHeaders();
      auto headers = to.initHeaders(old.size() + 2);
      for (capnp::uint i = 0; i < old.size(); ++i)
        headers.setWithCaveats(i, old[i]);
      headers[old.size()].setName(schedule_header.data());
      headers[old.size()].setValue(text_of(schedule.name));
      headers[old.size() + 1].setName(nominal_time_header.data());
      headers[old.size() + 1].setValue(text_of(nominal));
    });
  });
  if (!built)
    return built.error();
  auto occurrence = run;
  occurrence.tasks.body = built->body();
  occurrence.tasks.sizes = {static_cast<std::uint32_t>(built->body().size())};
  return occurrence;
}

result<schedule_question>
read_schedule_request(const schedule_request& message, shard_place place) {
  return message.read([&](auto from) -> result<schedule_question> {
    schedule_question question;
    question.what = from.which();
    question.number = from.getNumber();
    question.name = {copy_of(from.getTenant()), copy_of(from.getName())};
    if (auto ok = check_name("tenant", question.name.tenant); !ok)
      return ok.error();
    if (question.what != schedule_question::kind::LIST) {
      if (auto ok = check_name("schedule", question.name.name); !ok)
        return ok.error();
      if (shard_of_schedule(question.name, place.shard_count) != place.shard)
        return out_of_range(
          "shard of schedule \"" + question.name.name + '"',
          std::to_string(value(place.shard)),
          std::to_string(value(shard_of_schedule(question.name, place.shard_count))));
    }
    auto read = read_question(from, std::move(question));
    return read;
  });
}

schedule_reply make_schedule_reply(const schedules_told& answer) {
  return schedule_reply::build([&](auto to) {
    to.setNumber(answer.number);
    to.setResult(static_cast<schema::ScheduleResult>(answer.what));
    auto schedules = to.initSchedules(static_cast<capnp::uint>(answer.schedules.size()));
    for (capnp::uint i = 0; i < schedules.size(); ++i)
      write_view(schedules[i], answer.schedules[i]);
    to.setMore(answer.more);
    auto history = to.initHistory(static_cast<capnp::uint>(answer.history.size()));
    for (capnp::uint i = 0; i < history.size(); ++i)
      write_occurrence(history[i], answer.history[i]);
  });
}

} // namespace codeq::protocol
