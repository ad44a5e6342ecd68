// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/store/lookup_desk.hpp"
#include "coordinator/store/reader.hpp"
#include "observe/limit_meter.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace codeq::coordinator {

struct reader_driver_options {
  reader_options reader;
  /// Called when the store failed; must not return.
  std::function<void(const error&)> on_failure;
  /// Number of waiting look-ups; null: not counted.
  std::shared_ptr<std::atomic<std::size_t>> waiting{};
  lookup_bounds bounds{};
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
};

/// The actor of the reader, on a thread of its own. Delivers tasks at once. Other look-ups wait in
/// the `lookup_desk`, which decides which of them are refused and which come next.
class reader_driver : public reader_port {
public:
  static constexpr const char* name = "reader";

  void start(reader_actor::pointer self, reader_driver_options options);
  void fetch(coordinator::fetch_bodies& m);
  void keep(coordinator::answer_inquiry& m);
  void keep(coordinator::list_stored& m);
  void keep(coordinator::find_keys& m);
  void keep(coordinator::read_survivors& m);
  void look_up();
  void forget(const caf::actor_addr& gone);

  void reply(core::peer_id, shard_reply reply) override { self_->send(peer_, std::move(reply)); }

  void deliver(core::peer_id, task_delivery tasks) override {
    self_->send(peer_, std::move(tasks));
  }

  void tell_credits(core::peer_id, const credit_news& news) override { self_->send(peer_, news); }

  void
  keys_found(shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) override;

  void survivors_read(shard_id shard, core::copy_survivors found) override;
  void survivors_damaged(const survivors_wanted& wanted, const error& reason) override;

  void fail(const error& reason) override { options_.on_failure(reason); }

private:
  /// A peer with waiting look-ups.
  struct asker {
    shard_peer_actor actor;
    /// True when its many look-ups were logged.
    bool is_noted = false;
  };

  void schedule();

  /// Answers a query, or a list, for which there is no room.
  template <class Asked>
  void refuse(const shard_peer_actor& peer, const Asked& asked, const lookup_refusal& why);

  /// Keeps a peer that waits, until `leave`.
  asker& enter(core::peer_id id, const shard_peer_actor& actor);
  void leave(core::peer_id id);

  /// Keeps the actor of a shard until it ends. Returns its number.
  std::uint64_t enter(const shard_internal_actor& shard);

  /// Makes this the shard that the next call answers. False when its actor has ended.
  [[nodiscard]] bool turn_to(std::uint64_t shard);

  void carry_out(lookup_turn turn);
  void answer(const std::vector<stored_inquiry>& asked);
  void go_on(open_list list);
  void note_waiting(core::peer_id id, asker& peer);
  void note_size();

  reader_actor::pointer self_ = nullptr;
  reader_driver_options options_;
  std::optional<reader> reader_;
  lookup_desk desk_;
  /// The actors of shards, of which one may succeed another at the same shard, by their numbers.
  std::unordered_map<std::uint64_t, shard_internal_actor> shards_;
  std::unordered_map<core::peer_id, asker> askers_;
  bool is_scheduled_ = false;
  /// The peer, or the shard, that the current call answers.
  shard_peer_actor peer_;
  shard_internal_actor shard_;
};

[[nodiscard]] reader_actor::behavior_type drive_reader(
  reader_actor::stateful_pointer<reader_driver> self, const reader_driver_options& options);

} // namespace codeq::coordinator
