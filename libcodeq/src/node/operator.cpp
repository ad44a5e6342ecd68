// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "client/answer_slot.hpp"
#include "client/inquiry_actor.hpp"
#include "transport/configure.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

namespace codeq {

namespace {

/// The latest of what the inquiry's actor told, for the thread that waits for it.
class connection_watch {
public:
  void tell(const client::connection_news& news) {
    {
      std::lock_guard lock(mutex_);
      news_ = news;
    }
    changed_.notify_all();
  }

  /// Waits until a connection is up or refused for good, or `until`; returns the latest news.
  client::connection_news wait(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [this] { return news_.up || news_.final; });
    return news_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  client::connection_news news_;
};

struct operator_system : caf::actor_system_config {
  operator_system() { transport::configure(*this, 1); }
};

std::string joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const auto& address : addresses)
    text += (text.empty() ? "" : ", ") + address;
  return text;
}

std::string within(duration wait) {
  return " within " + std::to_string(wait.count()) + " ms";
}

} // namespace

struct operator_client::impl {
  explicit impl(operator_options opts) : options(std::move(opts)), system(config) {
    auto tell = [this](const client::connection_news& news) { watch.tell(news); };
    client::client_identity identity{schema::Role::OPERATOR, "codeqctl", client::random_bits()};
    actor =
      system.spawn(client::inquiry, client::inquiry_settings{options.coordinators, identity, tell});
  }

  ~impl() {
    {
      caf::scoped_actor self{system};
      caf::anon_send(actor, actors::stop_client{});
      self->wait_for(actor);
    }
    actor = nullptr;
    transport::finish(system);
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  /// Waits for a connection. Errors: `disconnected`, or why it was refused for good.
  result<void> connected();

  /// Sends a question and waits for its answer; `Question` is a message with `done`.
  template <class T, class Question>
  result<T> ask(Question question);

  operator_options options;
  operator_system config;
  connection_watch watch;
  caf::actor_system system;
  actors::inquiry_actor actor;
};

result<void> operator_client::impl::connected() {
  auto news = watch.wait(client::deadline_after(options.timeout));
  if (news.up)
    return {};
  auto reason = news.reason.code == errc::none ? "" : ": " + news.reason.context;
  auto where = "no connection to " + joined(options.coordinators);
  if (news.final)
    return error{news.reason.code, where + reason};
  return error{errc::disconnected, where + within(options.timeout) + reason};
}

template <class T, class Question>
result<T> operator_client::impl::ask(Question question) {
  auto slot = std::make_shared<client::answer_slot<T>>();
  question.done = [slot](result<T> answer) { slot->put(std::move(answer)); };
  caf::anon_send(actor, std::move(question));
  if (auto answer = slot->wait(client::deadline_after(options.timeout)))
    return std::move(*answer);
  return error{errc::timeout, "the coordinator did not answer" + within(options.timeout)};
}

result<std::unique_ptr<operator_client>> operator_client::connect(operator_options options) {
  if (options.coordinators.empty())
    return error{
      errc::invalid_argument, "coordinators is empty; it must name at least one `host:port`"};
  auto state = std::make_unique<impl>(std::move(options));
  if (auto ok = state->connected(); !ok)
    return ok.error();
  return std::unique_ptr<operator_client>(new operator_client(std::move(state)));
}

operator_client::operator_client(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

operator_client::~operator_client() = default;

result<task_status> operator_client::status(task_id task) {
  return impl_->ask<task_status>(actors::ask_status{task, {}});
}

result<change_outcome> operator_client::change(task_id task, task_change what) {
  return impl_->ask<change_outcome>(actors::ask_task_change{task, what, {}});
}

result<coordinator_stats> operator_client::stats() {
  return impl_->ask<coordinator_stats>(actors::ask_stats{});
}

} // namespace codeq
