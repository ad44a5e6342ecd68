// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/store/reader.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace codeq::coordinator {

struct reader_driver_options {
  reader_options reader;
  /// Called when the store failed; must not return.
  std::function<void(const error&)> on_failure;
};

/// The actor of the reader, on a thread of its own.
class reader_driver : public reader_port {
public:
  static constexpr const char* name = "reader";

  void start(reader_actor::pointer self, reader_driver_options options);
  void fetch(coordinator::fetch_bodies& m);
  void answer(const coordinator::answer_inquiry& m);

  void reply(core::peer_id, shard_reply reply) override { self_->send(peer_, std::move(reply)); }

  void deliver(core::peer_id, task_delivery tasks) override {
    self_->send(peer_, std::move(tasks));
  }

  void tell_credits(core::peer_id, const credit_news& news) override { self_->send(peer_, news); }

  void fail(const error& reason) override { options_.on_failure(reason); }

private:
  reader_actor::pointer self_ = nullptr;
  reader_driver_options options_;
  std::optional<reader> reader_;
  /// Who is answered by the call under way.
  shard_peer_actor peer_;
};

[[nodiscard]] reader_actor::behavior_type drive_reader(
  reader_actor::stateful_pointer<reader_driver> self, const reader_driver_options& options);

} // namespace codeq::coordinator
