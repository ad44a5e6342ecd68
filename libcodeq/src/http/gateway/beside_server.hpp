// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/server_loop.hpp"

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/detail/init_fun_factory.hpp>
#include <caf/intrusive_ptr.hpp>
#include <caf/resumable.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace codeq::http {

/// Runs actors on the thread of a server. The actors that they wake run where they usually do.
class server_unit final : public caf::execution_unit,
                          public std::enable_shared_from_this<server_unit> {
public:
  server_unit(caf::actor_system& system, std::shared_ptr<server_loop> loop)
    : caf::execution_unit(&system), outside_(&system), loop_(std::move(loop)) {}

  void exec_later(caf::resumable* actor) override {
    // The closure takes over the reference.
    loop_->post([self = shared_from_this(), one = caf::intrusive_ptr(actor, false)] {
      if (one->resume(&self->outside_, messages_max) != caf::resumable::resume_later)
        return;
      caf::intrusive_ptr_add_ref(one.get());
      self->exec_later(one.get());
    });
  }

  /// Number of actors that have not ended.
  [[nodiscard]] std::size_t actors() const noexcept { return actors_; }

  void begin_actor() noexcept { ++actors_; }

  void end_actor() noexcept { --actors_; }

private:
  /// Maximum number of messages that an actor handles before the sockets are looked at again.
  static constexpr std::size_t messages_max = 100;

  caf::scoped_execution_unit outside_;
  std::shared_ptr<server_loop> loop_;
  std::atomic<std::size_t> actors_{0};
};

/// An actor of class `Base` that runs on the thread of a server.
template <class Base>
class beside_server : public Base {
public:
  beside_server(caf::actor_config& config, std::shared_ptr<server_unit> unit)
    : Base(config), unit_(std::move(unit)) {
    unit_->begin_actor();
  }

  bool cleanup(caf::error&& reason, caf::execution_unit* thread) override {
    bool is_first = Base::cleanup(std::move(reason), thread);
    if (is_first)
      unit_->end_actor();
    return is_first;
  }

  void enqueue(caf::mailbox_element_ptr message, caf::execution_unit*) override {
    Base::enqueue(std::move(message), unit_.get());
  }

private:
  std::shared_ptr<server_unit> unit_;
};

/// Spawns an actor, as `system.spawn(behavior, arguments...)` does, on the thread of a server. A
/// request wakes no other thread for it. It must not block.
template <class F, class... Ts>
caf::infer_handle_from_fun_t<F> spawn_beside_server(
  caf::actor_system& system,
  const std::shared_ptr<server_unit>& unit,
  F behavior,
  Ts&&... arguments) {
  using actor = caf::infer_impl_from_fun_t<F>;
  caf::actor_config config{unit.get()};
  caf::detail::init_fun_factory<actor, F> make_start;
  config.init_fun = make_start(std::move(behavior), std::forward<Ts>(arguments)...);
  return system.spawn_impl<beside_server<actor>, caf::no_spawn_options>(config, unit);
}

} // namespace codeq::http
