// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/gathered_wakeups.hpp"

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/detail/init_fun_factory.hpp>
#include <caf/io/middleman.hpp>

#include <utility>

namespace codeq::transport {

/// An actor of class `Base` that runs on the thread of the sockets, as a broker does.
template <class Base>
class beside_sockets : public Base {
public:
  explicit beside_sockets(caf::actor_config& config)
    : Base(config),
      gatherer_(this->system()),
      wakeups_(caf::make_counted<gathered_wakeups>(this->system())) {}

  caf::resumable::subtype_t subtype() const override { return caf::resumable::io_actor; }

  void enqueue(caf::mailbox_element_ptr message, caf::execution_unit*) override {
    Base::enqueue(std::move(message), &this->system().middleman().backend());
  }

  caf::resumable::resume_result
  resume(caf::execution_unit* thread, std::size_t messages_max) override {
    auto next = Base::resume(&gatherer_, messages_max);
    this->context(thread);
    wakeups_->run(gatherer_.woken);
    return next;
  }

private:
  wakeup_gatherer gatherer_;
  caf::intrusive_ptr<gathered_wakeups> wakeups_;
};

/// Spawns an actor, as `system.spawn(behavior, arguments...)` does, on the thread of the sockets.
/// Messages between it and connections wake no other thread, which is most of the cost of a small
/// message. Handlers cannot delay it, since they run on other threads. It must not block. In a
/// system without sockets this is `system.spawn`.
template <class F, class... Ts>
caf::infer_handle_from_fun_t<F>
spawn_beside_sockets(caf::actor_system& system, F behavior, Ts&&... arguments) {
  if (!system.has_middleman())
    return system.spawn(std::move(behavior), std::forward<Ts>(arguments)...);
  using actor = caf::infer_impl_from_fun_t<F>;
  caf::actor_config config{&system.middleman().backend()};
  caf::detail::init_fun_factory<actor, F> make_start;
  config.init_fun = make_start(std::move(behavior), std::forward<Ts>(arguments)...);
  return system.spawn_impl<beside_sockets<actor>, caf::no_spawn_options>(config);
}

} // namespace codeq::transport
