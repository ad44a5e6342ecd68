// SPDX-License-Identifier: Apache-2.0
#include "codeq/producer.hpp"

#include "base/random.hpp"
#include "base/errors.hpp"
#include "client/answer_slot.hpp"
#include "client/producer_actor.hpp"
#include "client/room.hpp"
#include "node/clients/connection_watch.hpp"
#include "node/link_security.hpp"
#include "observe/log.hpp"
#include "transport/configure.hpp"
#include "transport/spawn_beside_sockets.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace codeq {

namespace {

using base::wrong;

/// The producer whose callback runs on this thread. A callback must not wait for room, since the
/// producer's thread is the one that frees room.
thread_local const void* calling_back = nullptr;

/// How long the producer's thread has to say whether a request was sent; it answers at once unless
/// a callback blocks it.
constexpr duration withdraw_wait{1000};

/// Runs `call` as a callback of `owner`. Exceptions are caught here: they would end the producer's
/// actor, and with it all pending answers.
template <class F>
void call_back(const void* owner, F&& call) {
  auto before = std::exchange(calling_back, owner);
  try {
    call();
  } catch (const std::exception& e) {
    CODEQ_LOG_ERROR("producer's callback threw reason=\"{}\"", e.what());
  } catch (...) {
    CODEQ_LOG_ERROR("producer's callback threw reason=unknown");
  }
  calling_back = before;
}

/// Wraps `told` as a callback of `owner`; an empty function stays empty.
producer::progressed guarded(const void* owner, producer::progressed told) {
  if (!told)
    return {};
  return [owner, told = std::move(told)](const task_progress& progress) {
    call_back(owner, [&] { told(progress); });
  };
}

/// Passes progress on until it is closed. The producer's actor may still have progress to deliver
/// after the watching thread has given up, which then may have destroyed what the callback uses.
class progress_gate {
public:
  explicit progress_gate(producer::progressed told) : told_(std::move(told)) {}

  void pass(const task_progress& progress) {
    std::lock_guard lock(mutex_);
    if (!is_closed_)
      told_(progress);
  }

  /// Waits for a callback that is running; none is called afterwards.
  void close() {
    // Not under the lock, which the actor's thread could take for one waiting report after the
    // other.
    is_closed_ = true;
    std::lock_guard lock(mutex_);
    told_ = nullptr;
  }

private:
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;
  producer::progressed told_;
};

result<void> check_producer(const producer_options& options) {
  if (auto ok = node::check_coordinators(options.coordinators); !ok)
    return ok;
  if (!is_valid_name(options.name))
    return wrong(
      "name is `" + options.name + "`; it must be 1 to 128 letters, digits, `.`, `_` or `-`");
  if (!is_valid_name(options.tenant))
    return wrong(
      "tenant is `" + options.tenant + "`; it must be 1 to 128 letters, digits, `.`, `_` or `-`");
  if (options.window_requests < 1 || options.window_requests > limits::producer_requests_max)
    return wrong(
      "window_requests is " + std::to_string(options.window_requests) + "; it must be 1.."
      + std::to_string(limits::producer_requests_max));
  return {};
}

result<void> check_count(std::size_t count) {
  if (count <= limits::enqueue_tasks_max)
    return {};
  return error{
    errc::too_large,
    "the request has " + std::to_string(count) + " tasks; it must have at most "
      + std::to_string(limits::enqueue_tasks_max)};
}

error window_is_full(client::room::owner of) {
  return {
    errc::overloaded,
    of ? "the producer's window has no room for shard " + std::to_string(value(*of))
           + ", which has not answered earlier requests"
       : "the producer's window is full"};
}

/// Atomic enqueues are restricted to tasks that any shard may own.
result<void> check_unaddressed(const std::vector<task_spec>& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& task = tasks[i];
    const auto* what = !task.key.empty()     ? "key"
                       : !task.group.empty() ? "group"
                       : !task.limits.empty() ? "limit"
                                              : nullptr;
    if (what)
      return error{
        errc::invalid_argument,
        "task " + std::to_string(i) + " has a " + what
          + "; enqueue takes batches with keys, groups and limits"};
  }
  return {};
}

/// Ids of tasks that were all created, or why none was.
result<std::vector<task_id>> ids_of(const result<enqueue_answers>& answers) {
  if (!answers)
    return answers.error();
  std::vector<task_id> ids;
  ids.reserve(answers->size());
  for (const auto& answer : *answers)
    ids.push_back(answer->id);
  return ids;
}

/// One answer per task; an error of the whole request is the answer of each of its `tasks`.
enqueue_answers each_of(result<enqueue_answers> answers, std::size_t tasks) {
  if (answers)
    return std::move(*answers);
  return {tasks, result<enqueued_task>(answers.error())};
}

std::string within(duration wait) {
  return " within " + std::to_string(wait.count()) + " ms";
}

/// A refusal of tasks that named no tenant, with the field that helps; goes by the text of
/// coordinators, which know no fields.
error with_tenant_advice(error reason) {
  if (base::is_refused_with(reason, base::other_tenant_words))
    reason.context += "; set producer_options::tenant";
  return reason;
}

/// The same for each task that was refused.
result<enqueue_answers> with_tenant_advice(result<enqueue_answers> answers) {
  if (!answers)
    return with_tenant_advice(answers.error());
  for (auto& answer : *answers)
    if (!answer)
      answer = with_tenant_advice(answer.error());
  return answers;
}

/// Why there is no connection. A refused certificate or token keeps its code, because waiting
/// longer does not help.
error no_connection(
  const std::vector<std::string>& coordinators, const error& reason, duration wait) {
  auto why = client::no_connection(coordinators, reason, wait);
  if (reason.code == errc::unauthorized || reason.code == errc::protocol_error)
    why.code = reason.code;
  return why;
}

client::producer_settings
settings_of(const producer_options& options, const node::link_security& access) {
  client::producer_settings settings;
  settings.coordinators = options.coordinators;
  settings.identity = {schema::Role::PRODUCER, options.name, base::random_bits(), access.token};
  settings.tls = access.tls;
  settings.in_flight_max = options.window_requests;
  return settings;
}

} // namespace

struct producer::impl {
  struct system_config : caf::actor_system_config {
    system_config() { transport::configure(*this, 1); }
  };

  impl(const producer_options& options, const node::link_security& access)
    : coordinators(options.coordinators),
      tenant(options.tenant),
      system(config),
      room(options.window_requests) {
    auto settings = settings_of(options, access);
    settings.tell = [this](const client::connection_news& news) { connection.tell(news); };
    actor = transport::spawn_beside_sockets(system, client::producer, std::move(settings));
  }

  ~impl() {
    room.open_for_ever();
    {
      caf::scoped_actor self{system};
      caf::anon_send(actor, actors::stop_client{});
      self->wait_for(actor);
    }
    // The last handle. The system waits for the actor's end, not for handles; but the handle keeps
    // the actor's state alive.
    actor = nullptr;
    transport::finish(system);
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  using answered = std::function<void(result<enqueue_answers>)>;
  using tasks_ptr = std::shared_ptr<const protocol::encoded_tasks>;
  using answers_slot = std::shared_ptr<client::answer_slot<enqueue_answers>>;

  /// Encodes the tasks, takes room and passes the tasks to the actor. Errors: those of a task;
  /// without room until `until` those of `no_room`, which are the only retryable ones.
  result<tasks_ptr>
  submit(const std::vector<task_spec>& tasks, answered done, client::room::deadline until);

  /// The same without a deadline. Calls `done` at once when the request is refused or empty.
  void submit(const std::vector<task_spec>& tasks, const answered& done);

  /// Submits the tasks and waits for all answers.
  result<enqueue_answers> enqueue(const std::vector<task_spec>& tasks, duration wait);

  /// Ends the wait for answers: takes the request back if it was not sent.
  result<enqueue_answers>
  give_up(const tasks_ptr& tasks, const answers_slot& slot, duration wait);

  /// The shard of a cluster that all of the tasks belong to, if it is one.
  client::room::owner owner_of(const protocol::encoded_tasks& tasks);

  /// Why the window has no room for a request. Errors: `overloaded`; `disconnected` when it is for
  /// a shard that is not reached.
  error no_room(client::room::owner of);

  /// The request was not sent; `cause` applies while there is a connection.
  error not_sent(const error& cause, duration wait);

  /// `unreached`: why a shard that the request waits for is not reached.
  error not_answered(duration wait, const std::optional<error>& unreached);
  error not_ended(task_id task, duration wait);

  std::vector<std::string> coordinators;
  /// The tenant of tasks that name none.
  std::string tenant;
  node::connection_watch connection;
  system_config config;
  caf::actor_system system;
  client::room room;
  actors::producer_actor actor;
  std::atomic<std::uint64_t> watches{0};
};

client::room::owner producer::impl::owner_of(const protocol::encoded_tasks& tasks) {
  const auto shards = connection.cluster_shard_count();
  if (shards == 0 || !tasks.is_addressed())
    return std::nullopt;
  const auto parts = tasks.split(tasks.all_runs(), shards, shard_id{});
  return parts.size() == 1 ? client::room::owner(parts.front().shard) : std::nullopt;
}

result<producer::impl::tasks_ptr> producer::impl::submit(
  const std::vector<task_spec>& tasks, answered done, client::room::deadline until) {
  if (auto ok = check_count(tasks.size()); !ok)
    return ok.error();
  auto encoded = protocol::encoded_tasks::encode(tasks, {}, tenant);
  if (!encoded)
    return encoded.error();
  auto shared = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
  auto bytes = shared->request_bytes();
  const auto owner = owner_of(*shared);
  if (calling_back == this)
    room.take_over(bytes, owner);
  else if (!room.take(bytes, until, owner))
    return no_room(owner);
  auto is_unset = [](const task_spec& task) { return task.tenant.empty(); };
  bool is_advised = std::any_of(tasks.begin(), tasks.end(), is_unset);
  auto answered = [this, bytes, owner, is_advised, done = std::move(done)](
                    result<enqueue_answers> answer) {
    room.give_back(bytes, owner);
    if (is_advised)
      answer = with_tenant_advice(std::move(answer));
    call_back(this, [&] { done(std::move(answer)); });
  };
  caf::anon_send(actor, actors::submit_tasks{shared, std::move(answered)});
  return shared;
}

void producer::impl::submit(const std::vector<task_spec>& tasks, const answered& done) {
  if (tasks.empty())
    done(enqueue_answers{});
  else if (auto ok = submit(tasks, done, std::nullopt); !ok)
    done(ok.error());
}

result<enqueue_answers>
producer::impl::enqueue(const std::vector<task_spec>& tasks, duration wait) {
  if (tasks.empty())
    return enqueue_answers{};
  auto until = client::deadline_after(wait);
  auto slot = std::make_shared<client::answer_slot<enqueue_answers>>();
  auto put = [slot](result<enqueue_answers> answer) { slot->put(std::move(answer)); };
  auto submitted = submit(tasks, put, until);
  if (!submitted && is_retryable(submitted.error().code))
    return not_sent(submitted.error(), wait);
  if (!submitted)
    return submitted.error();
  if (auto answer = slot->wait(until))
    return std::move(*answer);
  return give_up(*submitted, slot, wait);
}

result<enqueue_answers>
producer::impl::give_up(const tasks_ptr& tasks, const answers_slot& slot, duration wait) {
  auto unsent = [this, wait](const std::optional<error>& unreached) {
    const error full{errc::overloaded, "earlier requests are not answered"};
    return not_sent(unreached.value_or(full), wait);
  };
  auto was_sent = [this, slot, wait](const std::optional<error>& unreached) {
    slot->put(not_answered(wait, unreached));
  };
  caf::anon_send(actor, actors::withdraw_tasks{tasks, std::move(unsent), std::move(was_sent)});
  if (auto answer = slot->wait(client::deadline_after(withdraw_wait)))
    return std::move(*answer);
  return not_answered(wait, std::nullopt);
}

error producer::impl::no_room(client::room::owner of) {
  auto slot = std::make_shared<client::answer_slot<std::optional<error>>>();
  auto put = [slot](const std::optional<error>& unreached) { slot->put(unreached); };
  caf::anon_send(actor, actors::ask_unreached{of, std::move(put)});
  const auto told = slot->wait(client::deadline_after(withdraw_wait));
  const auto unreached = told ? told->value_or(std::nullopt) : std::nullopt;
  if (of && unreached)
    return *unreached;
  auto why = window_is_full(of);
  if (unreached)
    why.context += "; " + unreached->context;
  return why;
}

error producer::impl::not_sent(const error& cause, duration wait) {
  auto news = connection.latest();
  auto why = news.up ? error{cause.code, "not sent" + within(wait) + ": " + cause.context}
                     : no_connection(coordinators, news.reason, wait);
  why.context += "; nothing was enqueued";
  return why;
}

error
producer::impl::not_answered(duration wait, const std::optional<error>& unreached) {
  error why{
    errc::timeout,
    "no answer" + within(wait)
      + "; the request was sent and goes on, whether its tasks were added is unknown"};
  if (auto news = connection.latest(); !news.up)
    why.context += "; " + client::no_connection(coordinators, news.reason, std::nullopt).context;
  else if (unreached)
    why.context += "; " + unreached->context;
  return why;
}

error producer::impl::not_ended(task_id task, duration wait) {
  auto name = to_string(task);
  if (connection.latest().up)
    return {
      errc::timeout,
      "task " + name + " has not ended" + within(wait) + "; `codeqctl explain " + name
        + "` says why"};
  auto why = no_connection(coordinators, connection.latest().reason, wait);
  why.context += "; whether task " + name + " has ended is unknown";
  return why;
}

result<std::unique_ptr<producer>> producer::connect(producer_options options) {
  if (auto ok = check_producer(options); !ok)
    return ok.error();
  auto access = node::open_credentials(options.access, options.coordinators);
  if (!access)
    return access.error();
  return std::unique_ptr<producer>(new producer(std::make_unique<impl>(options, *access)));
}

producer::producer(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

producer::~producer() = default;

result<enqueued_task> producer::enqueue(task_spec task, duration wait) {
  std::vector<task_spec> tasks;
  tasks.push_back(std::move(task));
  auto answers = impl_->enqueue(tasks, wait);
  if (!answers)
    return answers.error();
  return std::move(answers->front());
}

enqueue_answers producer::enqueue_each(std::vector<task_spec> tasks, duration wait) {
  return each_of(impl_->enqueue(tasks, wait), tasks.size());
}

void producer::enqueue(task_spec task, added done) {
  std::vector<task_spec> tasks;
  tasks.push_back(std::move(task));
  impl_->submit(tasks, [done = std::move(done)](result<enqueue_answers> answers) {
    done(answers ? std::move(answers->front()) : result<enqueued_task>(answers.error()));
  });
}

void producer::enqueue_each(std::vector<task_spec> tasks, enqueued done) {
  impl_->submit(tasks, [done = std::move(done), count = tasks.size()](auto answers) {
    done(each_of(std::move(answers), count));
  });
}

result<std::vector<task_id>>
producer::enqueue_all_or_none(std::vector<task_spec> tasks, duration wait) {
  if (auto ok = check_unaddressed(tasks); !ok)
    return ok.error();
  return ids_of(impl_->enqueue(tasks, wait));
}

void producer::enqueue_all_or_none(std::vector<task_spec> tasks, all_enqueued done) {
  if (auto ok = check_unaddressed(tasks); !ok)
    return done(ok.error());
  impl_->submit(tasks, [done = std::move(done)](const auto& answers) { done(ids_of(answers)); });
}

result<ended_task> producer::await(task_id task, duration wait) {
  return watch(task, {}, wait);
}

result<ended_task> producer::watch(task_id task, progressed told, duration wait) {
  auto slot = std::make_shared<client::answer_slot<ended_task>>();
  auto watch = ++impl_->watches;
  auto put = [slot](result<ended_task> how) { slot->put(std::move(how)); };
  // Progress is requested only when it is wanted.
  const bool is_wanted = told != nullptr;
  auto gate = std::make_shared<progress_gate>(guarded(impl_.get(), std::move(told)));
  progressed pass;
  if (is_wanted)
    pass = [gate](const task_progress& progress) { gate->pass(progress); };
  caf::anon_send(impl_->actor, actors::watch_tasks{watch, {task}, put, std::move(pass)});
  auto how = slot->wait(client::deadline_after(wait));
  if (!how)
    caf::anon_send(impl_->actor, actors::unwatch_tasks{watch, {task}});
  gate->close();
  if (how)
    return std::move(*how);
  return impl_->not_ended(task, wait);
}

void producer::await(std::vector<task_id> tasks, ended done) {
  watch(std::move(tasks), {}, std::move(done));
}

void producer::watch(std::vector<task_id> tasks, progressed told, ended done) {
  auto ended = [owner = impl_.get(), done = std::move(done)](result<ended_task> how) {
    call_back(owner, [&] { done(std::move(how)); });
  };
  caf::anon_send(
    impl_->actor,
    actors::watch_tasks{
      ++impl_->watches, std::move(tasks), std::move(ended), guarded(impl_.get(), std::move(told))});
}

} // namespace codeq
