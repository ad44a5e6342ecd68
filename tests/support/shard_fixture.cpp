// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include "core/state/apply.hpp"
#include "core/checks/invariants.hpp"
#include "support/task_builder.hpp"
#include "support/transcript.hpp"

namespace codeq::test {

namespace {

const std::string producer = "p";
const std::string operator_name = "o";

std::shared_ptr<const task_key> name_of(const std::string& queue, const std::string& key) {
  return std::make_shared<const task_key>(task_key{{"default", queue}, {}, key});
}

core::lease_report reported(disposition how) {
  core::lease_report r;
  r.how = how;
  return r;
}

/// A text that ends with `*` is a prefix.
void split_queues(
  const std::vector<std::string>& texts,
  std::vector<queue_address>& queues,
  std::vector<queue_address>& prefixes) {
  for (const auto& text : texts) {
    if (text.ends_with('*'))
      prefixes.push_back({"default", text.substr(0, text.size() - 1)});
    else
      queues.push_back({"default", text});
  }
}

} // namespace

shard_fixture::shard_fixture()
  : start_(clock_.now()),
    session_(make_producer_id(clock_.now().shard, 1, 2)),
    state_(std::make_unique<core::shard_state>(shard_id{}, 1)) {
}

shard_fixture::~shard_fixture() {
  EXPECT_EQ(core::find_violations(*state_), std::vector<std::string>{});
}

std::string shard_fixture::together(const std::function<void()>& all) {
  together_ = true;
  all();
  together_ = false;
  return seal();
}

std::string shard_fixture::run(const core::command& given) {
  auto c = given;
  std::visit(
    [this](auto& one) {
      if constexpr (requires { one.origin; })
        one.origin = origin_;
    },
    c);
  if (!turn_)
    turn_ = std::make_unique<core::turn>(*state_);
  if (auto recalled = closed_keys_.recall(c))
    turn_->decide(*recalled, clock_.now());
  turn_->decide(c, clock_.now());
  return together_ ? std::string() : seal();
}

std::string shard_fixture::seal() {
  auto sealed = turn_->seal(clock_.now());
  turn_.reset();
  transcript said(names_, start_);
  for (const auto& e : sealed.effects)
    said.add(e);
  closed_keys_.note(sealed.events);
  turns_.push_back(std::move(sealed.events));
  return said.text();
}

core::peer_id shard_fixture::peer_of(const std::string& name) {
  auto [at, is_new] = peers_.emplace(name, static_cast<core::peer_id>(peers_.size() + 1));
  names_.emplace(at->second, name);
  return at->second;
}

std::shared_ptr<const worker_identity> shard_fixture::identity_of(const std::string& worker) {
  auto incarnation = incarnations_.emplace(worker, 1).first->second;
  return std::make_shared<const worker_identity>(worker_identity{worker, incarnation});
}

std::string shard_fixture::enqueue(
  const std::string& queue, std::size_t count, const enqueue_options& options) {
  core::enqueue c;
  c.peer = peer_of(producer);
  c.request.producer = options.session ? *options.session : session_;
  c.request.number = options.request ? *options.request : next_request_++;
  c.request.answered_below = options.answered_below;
  c.allowed = options.allowed;
  c.runs.push_back(run_of(queue, count, options));
  return run(c);
}

std::string
shard_fixture::enqueue_all(const std::string& queue, const std::vector<enqueue_options>& tasks) {
  core::enqueue c;
  c.peer = peer_of(producer);
  c.request.producer = session_;
  c.request.number = tasks.front().request ? *tasks.front().request : next_request_++;
  for (const auto& options : tasks)
    c.runs.push_back(run_of(queue, 1, options));
  return run(c);
}

core::enqueue_run
shard_fixture::run_of(const std::string& queue, std::size_t count, const enqueue_options& options) {
  core::enqueue_run r;
  r.queue = {options.tenant, queue};
  r.priority = static_cast<std::uint8_t>(options.priority);
  r.settings = options.settings;
  r.allow_promotion = options.allow_promotion;
  r.group = options.group;
  r.left_to_queue = options.left_to_queue;
  r.key = options.key;
  r.duplicate = options.duplicate;
  r.replace_payload = options.replace_payload;
  r.fairness = options.fairness;
  r.limits = options.limits;
  if (options.delay != duration{0})
    r.not_before = clock_.now().shard + options.delay;
  r.tasks = encode_bodies(count, options.body_size);
  return r;
}

std::string
shard_fixture::attach(const std::string& worker, const std::vector<std::string>& queues) {
  core::attach_worker c{peer_of(worker), identity_of(worker), {}};
  split_queues(queues, c.queues, c.prefixes);
  return run(c);
}

std::string shard_fixture::detach(const std::string& peer) {
  return run(core::detach_peer{peer_of(peer)});
}

std::string
shard_fixture::claim_within(const std::string& worker, std::uint32_t credits, std::int64_t bytes) {
  return run(core::claim{peer_of(worker), credits, duration{0}, 0, bytes});
}

std::string shard_fixture::claim(
  const std::string& worker, std::uint32_t credits, duration lease, std::uint32_t batch_tasks) {
  return run(core::claim{peer_of(worker), credits, lease, batch_tasks, core::unbounded_bytes});
}

std::string shard_fixture::revoke(const std::string& worker, std::uint32_t credits) {
  return run(core::revoke_credits{peer_of(worker), credits});
}

std::string shard_fixture::beat(const std::string& worker, core::task_lease lease, bool queued) {
  return run(core::heartbeat{peer_of(worker), {{lease.seq, lease.token, queued}}});
}

std::string
shard_fixture::beat_for(const std::string& worker, core::task_lease lease, duration extend) {
  return run(core::heartbeat{peer_of(worker), {{lease.seq, lease.token, false, false, extend}}});
}

std::string
shard_fixture::beat_all(const std::string& worker, const std::vector<core::task_lease>& leases) {
  core::heartbeat c{peer_of(worker), {}};
  for (const auto& lease : leases)
    c.beats.push_back({lease.seq, lease.token, false});
  return run(c);
}

std::string shard_fixture::progress(const std::string& worker, core::task_lease lease) {
  return run(core::heartbeat{peer_of(worker), {{lease.seq, lease.token, false, true}}});
}

std::string
shard_fixture::save(const std::string& worker, core::task_lease lease, std::uint32_t number) {
  auto data = bytes("state " + std::to_string(number));
  return run(core::heartbeat{
    peer_of(worker), {}, {}, {{lease.seq, {lease.token, number}, std::move(data)}}});
}

std::string shard_fixture::tell_progress_twice(
  const std::string& worker, core::task_lease lease, std::string first, std::string last) {
  return run(core::heartbeat{
    peer_of(worker),
    {},
    {{lease.seq, lease.token, 1, std::move(first)}, {lease.seq, lease.token, 2, std::move(last)}}});
}

std::string shard_fixture::tell_progress(
  const std::string& worker, core::task_lease lease, std::uint8_t percent, std::string note) {
  return run(
    core::heartbeat{peer_of(worker), {}, {{lease.seq, lease.token, percent, std::move(note)}}});
}

std::string shard_fixture::change_queues(
  const std::string& worker,
  const std::vector<std::string>& queues,
  const std::vector<std::string>& without) {
  core::change_queues c{peer_of(worker), {}};
  split_queues(queues, c.queues, c.prefixes);
  for (const auto& queue : without)
    c.without.push_back({"default", queue});
  return run(c);
}

std::string shard_fixture::report(
  const std::string& worker, core::task_lease lease, const core::lease_report& how) {
  auto r = how;
  r.seq = lease.seq;
  r.token = lease.token;
  return run(core::report{peer_of(worker), {r}});
}

std::string shard_fixture::complete(
  const std::string& worker, core::task_lease lease, const std::string& text) {
  auto r = reported(disposition::completed);
  r.text = bytes(text);
  return report(worker, lease, r);
}

std::string shard_fixture::complete_with(
  const std::string& worker, core::task_lease lease, std::vector<core::follow_up> follow_ups) {
  auto r = reported(disposition::completed);
  r.follow_ups = std::move(follow_ups);
  return report(worker, lease, r);
}

std::string shard_fixture::take(core::take_follow_ups follow_ups) {
  return run(std::move(follow_ups));
}

std::string shard_fixture::confirm(std::uint16_t shard, std::uint64_t number) {
  return run(core::confirm_follow_ups{static_cast<shard_id>(shard), number});
}

std::string shard_fixture::complete_all(
  const std::string& worker, const std::vector<core::task_lease>& leases) {
  core::report c{peer_of(worker), {}};
  for (const auto& lease : leases) {
    c.reports.push_back(reported(disposition::completed));
    c.reports.back().seq = lease.seq;
    c.reports.back().token = lease.token;
  }
  return run(c);
}

std::string shard_fixture::fail(const std::string& worker, core::task_lease lease) {
  return report(worker, lease, reported(disposition::failed));
}

std::string shard_fixture::fail_permanently(const std::string& worker, core::task_lease lease) {
  return report(worker, lease, reported(disposition::failed_permanently));
}

std::string shard_fixture::nack(const std::string& worker, core::task_lease lease, duration delay) {
  auto r = reported(disposition::nack);
  r.delay = delay;
  return report(worker, lease, r);
}

std::string shard_fixture::abandon(const std::string& worker, core::task_lease lease) {
  return report(worker, lease, reported(disposition::abandon));
}

std::string shard_fixture::expire(core::task_lease lease) {
  return run(core::expire_lease{lease.seq, lease.token});
}

std::string shard_fixture::cancel(int number) {
  return run(core::cancel{peer_of(producer), 1, task(number)});
}

std::string shard_fixture::promote(int number) {
  return run(core::promote{peer_of(producer), 1, task(number)});
}

std::string shard_fixture::redrive(int number) {
  return run(core::redrive{peer_of(producer), 1, task(number)});
}

std::string shard_fixture::purge(int number) {
  return run(core::purge{peer_of(producer), 1, task(number)});
}

std::string shard_fixture::force(int number, force_kind how, const std::string& text) {
  return run(core::force{peer_of(producer), 1, task(number), how, bytes(text)});
}

std::string shard_fixture::change_many(core::bulk_kind what, core::task_part part) {
  return run(core::change_many{peer_of(producer), 1, what, std::move(part)});
}

std::string shard_fixture::cancel_key(const std::string& queue, const std::string& key) {
  return run(core::cancel{peer_of(producer), 1, 0, name_of(queue, key)});
}

std::string shard_fixture::promote_key(const std::string& queue, const std::string& key) {
  return run(core::promote{peer_of(producer), 1, 0, name_of(queue, key)});
}

std::string shard_fixture::describe_key(const std::string& queue, const std::string& key) {
  return run(core::describe_task{peer_of(producer), 1, 0, name_of(queue, key)});
}

std::string
shard_fixture::resume(const std::string& worker, const std::vector<core::task_lease>& leases) {
  return run(core::resume{peer_of(worker), identity_of(worker), leases});
}

std::string shard_fixture::release(const std::string& worker) {
  return run(core::release_worker{identity_of(worker)});
}

std::string shard_fixture::replace(const std::string& worker) {
  ++incarnations_.at(worker);
  return replace_again(worker);
}

std::string shard_fixture::replace_again(const std::string& worker) {
  return run(core::replace_worker{identity_of(worker)});
}

std::string shard_fixture::await(const std::string& peer, const std::vector<int>& tasks) {
  core::await_tasks c{peer_of(peer), {}};
  for (auto number : tasks)
    c.tasks.push_back(task(number));
  return run(c);
}

std::string shard_fixture::stop_awaiting(const std::string& peer, const std::vector<int>& tasks) {
  core::stop_awaiting c{peer_of(peer), {}};
  for (auto number : tasks)
    c.tasks.push_back(task(number));
  return run(c);
}

std::string shard_fixture::watch(const std::string& peer, int number) {
  return run(core::await_tasks{peer_of(peer), {task(number)}, true});
}

std::string shard_fixture::describe(const std::string& peer, int number) {
  return run(core::describe_task{peer_of(peer), 1, task(number)});
}

std::string shard_fixture::explain(int number) {
  return run(core::explain_task{peer_of(operator_name), 1, task(number)});
}

std::string shard_fixture::tell_history(int number) {
  return run(core::tell_history{peer_of(operator_name), 1, task(number)});
}

std::string shard_fixture::configure(const std::string& queue, const queue_config& config) {
  return run(core::configure_queue{peer_of(operator_name), 1, {"default", queue}, config});
}

std::string shard_fixture::weigh(const std::string& queue, const weight_changes& weights) {
  return run(core::weigh_keys{peer_of(operator_name), 1, {"default", queue}, weights});
}

std::string shard_fixture::set_limit(
  const std::string& name, const std::optional<limit_definition>& definition) {
  return run(core::set_limit{peer_of(operator_name), 1, {"default", name}, definition});
}

std::string
shard_fixture::close_key(const std::string& limit, const std::string& key, duration closed_for) {
  return run(
    core::close_limit_key{peer_of(operator_name), 1, {"default", limit}, key, closed_for});
}

std::string shard_fixture::pause(const std::string& queue) {
  return run(core::pause_queue{peer_of(operator_name), 1, {"default", queue}, true});
}

std::string shard_fixture::unpause(const std::string& queue) {
  return run(core::pause_queue{peer_of(operator_name), 1, {"default", queue}, false});
}

std::string shard_fixture::show(const std::string& queue) {
  return run(core::show_queue{peer_of(operator_name), 1, {"default", queue}});
}

std::string shard_fixture::list(const core::task_part& part) {
  return run(core::list_tasks{peer_of(operator_name), 1, part});
}

std::string shard_fixture::end_session(const producer_id& producer) {
  return run(core::end_session{producer});
}

std::string shard_fixture::take_snapshot() {
  return run(core::take_snapshot{});
}

std::string shard_fixture::bring(const core::copy_survivors& found) {
  return run(found);
}

std::string shard_fixture::advance(duration by) {
  clock_.advance(by);
  return run(core::tick{});
}

void shard_fixture::restart() {
  state_ = recovered(turns_.size());
}

std::unique_ptr<core::shard_state> shard_fixture::recovered(std::size_t turns) {
  auto state = std::make_unique<core::shard_state>(shard_id{}, state_->epoch + 1);
  state->steady = clock_.now().steady;
  for (std::size_t i = 0; i < turns; ++i)
    for (const auto& e : turns_[i])
      core::apply(*state, e);
  return state;
}

core::task_lease shard_fixture::held(int number, int token, std::uint32_t token_epoch) {
  auto given = core::first_of_epoch(token_epoch) + static_cast<std::uint64_t>(token) - 1;
  return {task(number), static_cast<fencing_token>(given)};
}

sequence shard_fixture::task(int number) {
  return core::first_of_epoch(1) + static_cast<std::uint64_t>(number) - 1;
}

core::task_entry shard_fixture::entry_of(int number) const {
  auto* s = core::find_segment(state_->segments, task(number));
  return s ? s->view(task(number)) : core::task_entry{};
}

std::string shard_fixture::state_of(int number) const {
  if (!core::find_segment(state_->segments, task(number)))
    return "not in memory";
  return std::string(to_string(entry_of(number).state));
}

} // namespace codeq::test
