// SPDX-License-Identifier: Apache-2.0
#include "integration/worker_fixture.hpp"

#include "protocol/shared_data.hpp"
#include "transport/configure.hpp"

#include <algorithm>
#include <utility>

namespace codeq::test {

namespace {

using frame_channel = std::shared_ptr<channel<protocol::wire_frame>>;

actors::connection_actor::behavior_type
pretended_connection(actors::connection_actor::pointer self, frame_channel frames) {
  return {
    [frames](const protocol::wire_frame& wire) { frames->push(wire); },
    [](const actors::connection_accepted&) {},
    [](const actors::probe_peer&) { return true; },
    [self](const actors::close_connection&) { self->quit(); }};
}

std::string body_of(const std::string& payload) {
  auto body = protocol::frame<schema::TaskBody>::build([&](schema::TaskBody::Builder root) {
    auto data = root.initPayload(static_cast<unsigned>(payload.size()));
    std::copy(payload.begin(), payload.end(), data.begin());
  });
  return std::string(body.body().view());
}

std::vector<seen_report> read_reports(const protocol::result_request& request) {
  std::vector<seen_report> seen;
  auto ok = request.read([&](schema::ResultRequest::Reader reader) -> result<void> {
    auto ends = reader.getTexts().getEnds();
    auto data = reader.getTexts().getBytes().asChars();
    // Each list is read once, since Cap'n Proto limits how often a message may be traversed.
    auto reports = reader.getReports();
    std::size_t begin = 0;
    for (unsigned i = 0; i < reports.size(); ++i) {
      auto line = reports[i];
      seen.push_back(
        {line.getSeq(),
         line.getToken(),
         line.getDisposition(),
         line.getStarted(),
         std::string(data.begin() + begin, ends[i] - begin),
         line.getCheckpointNumber(),
         protocol::string_of(line.getCheckpoint())});
      begin = ends[i];
    }
    return {};
  });
  EXPECT_TRUE(ok);
  return seen;
}

void fill(schema::TaskLease::Builder line, const grant& task) {
  line.setSeq(task.seq);
  line.setToken(task.token);
}

void fill(schema::TaskRun::Builder run, const grant& task) {
  run.setFirst(task.seq);
  run.setCount(1);
  run.setFirstToken(task.token);
  run.setLeaseMs(static_cast<std::uint64_t>(task.lease.count()));
  run.setMaxAttempts(5);
  run.getQueue().setTenant("default");
  run.getQueue().setQueue(task.queue);
  run.setGroup(protocol::data_of(task.group));
  if (task.checkpoint.empty())
    return;
  auto checkpoint = run.initCheckpoints(1)[0];
  checkpoint.setSeq(task.seq);
  checkpoint.setData(protocol::data_of(task.checkpoint));
}

} // namespace

worker_fixture::worker_fixture()
  : frames(std::make_shared<channel<protocol::wire_frame>>()),
    ends(std::make_shared<channel<result<void>>>()) {
  transport::configure(config_, 2);
  system_ = std::make_unique<caf::actor_system>(config_);
}

worker_fixture::~worker_fixture() {
  caf::anon_send(dispatcher, actors::drain_request{duration{0}});
  caf::anon_send(dispatcher, actors::drain_request{duration{0}});
  dispatcher = nullptr;
  caf::anon_send_exit(connection_, caf::exit_reason::user_shutdown);
  connection_ = nullptr;
}

void worker_fixture::start(std::size_t slots, std::size_t prefetch) {
  worker::dispatcher_driver_options options;
  options.handlers = handlers.entries();
  options.dispatcher.slots = slots;
  options.dispatcher.prefetch = prefetch;
  options.on_end = [ends = ends](result<void> how) { ends->push(std::move(how)); };
  dispatcher = worker::spawn_dispatcher(*system_, std::move(options));
}

void worker_fixture::connect(bool answer_resume) {
  connection_ = system_->spawn(pretended_connection, frames);
  auto ack =
    protocol::hello_ack::build([](schema::HelloAck::Builder root) { root.setShardCount(1); });
  caf::anon_send(dispatcher, actors::link_up{0, connection_, ack});
  if (answer_resume)
    send_resumed();
}

void worker_fixture::disconnect(bool is_refused, error reason) {
  caf::anon_send(dispatcher, actors::link_down{0, std::move(reason), is_refused});
}

void worker_fixture::send_grant(const grant& task) {
  send_grants({task});
}

void worker_fixture::send_grants(const std::vector<grant>& tasks) {
  send_frame(protocol::task_batch::build([&](schema::TaskBatch::Builder root) {
    root.setRedelivered(tasks.front().redelivered);
    auto runs = root.initRuns(static_cast<unsigned>(tasks.size()));
    auto ends = root.getTasks().initEnds(static_cast<unsigned>(tasks.size()));
    std::string bodies;
    for (unsigned i = 0; i < runs.size(); ++i) {
      fill(runs[i], tasks[i]);
      bodies += body_of(tasks[i].payload);
      ends.set(i, static_cast<std::uint32_t>(bodies.size()));
    }
    root.getTasks().setBytes({reinterpret_cast<const kj::byte*>(bodies.data()), bodies.size()});
  }));
}

void worker_fixture::send_lost(const grant& task) {
  send_frame(protocol::leases_lost::build(
    [&](schema::LeasesLost::Builder root) { fill(root.initLeases(1)[0], task); }));
}

void worker_fixture::send_cancel(const grant& task) {
  send_frame(protocol::cancel_notice::build(
    [&](schema::CancelNotice::Builder root) { fill(root.getLease(), task); }));
}

void worker_fixture::send_answer(
  const grant& task, schema::ErrorCode code, const std::string& context) {
  send_frame(protocol::result_reply::build([&](schema::ResultReply::Builder root) {
    auto line = root.initAnswers(1)[0];
    line.setSeq(task.seq);
    line.setToken(task.token);
    line.setCode(code);
    line.setContext(context);
  }));
}

void worker_fixture::send_saved(const grant& task, std::uint32_t number) {
  send_frame(protocol::checkpoints_saved::build([&](schema::CheckpointsSaved::Builder root) {
    auto line = root.initCheckpoints(1)[0];
    line.setSeq(task.seq);
    line.setToken(task.token);
    line.setNumber(number);
  }));
}

void worker_fixture::send_postponed(const grant& task, std::uint32_t number) {
  send_frame(protocol::checkpoints_saved::build([&](schema::CheckpointsSaved::Builder root) {
    auto line = root.initPostponed(1)[0];
    line.setSeq(task.seq);
    line.setToken(task.token);
    line.setNumber(number);
  }));
}

void worker_fixture::send_resumed() {
  send_frame(protocol::resume_reply::build([](schema::ResumeReply::Builder) {}));
}

void worker_fixture::drain(duration limit) {
  caf::anon_send(dispatcher, actors::drain_request{limit});
}

seen_report worker_fixture::await_report() {
  if (unread_.empty())
    unread_ = read_reports(await<schema::ResultRequest>());
  if (unread_.empty())
    return {};
  auto next = unread_.front();
  unread_.erase(unread_.begin());
  return next;
}

std::size_t worker_fixture::await_credits() {
  auto credits = await<schema::ClaimRequest>().read(
    [](schema::ClaimRequest::Reader reader) -> result<std::size_t> {
      return std::size_t{reader.getCredits()};
    });
  return credits ? *credits : 0;
}

std::vector<std::string> worker_fixture::await_queues() {
  std::vector<std::string> queues;
  for (bool said = false; !said && !HasFailure();) {
    auto ok =
      await<schema::ClaimRequest>().read([&](schema::ClaimRequest::Reader reader) -> result<void> {
        said = reader.getSetsQueues();
        for (auto queue : reader.getQueues())
          queues.emplace_back(queue.getQueue().cStr());
        for (auto queue : reader.getWithout())
          std::erase(queues, queue.getQueue().cStr());
        return {};
      });
    EXPECT_TRUE(ok);
  }
  return queues;
}

std::vector<std::uint16_t> worker_fixture::await_types_until(std::uint16_t last) {
  std::vector<std::uint16_t> types;
  while (auto wire = frames->pop()) {
    if (wire->type != protocol::frame_type<schema::ClaimRequest>)
      types.push_back(wire->type);
    if (wire->type == last)
      break;
  }
  return types;
}

} // namespace codeq::test
