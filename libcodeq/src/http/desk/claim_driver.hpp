// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/claims/claim_run.hpp"
#include "http/desk/gateway_actors.hpp"
#include "observe/line_pace.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

struct claim_driver_options {
  /// The driver sets `shard_count` and `reached`.
  claim_run_options run;
  gateway_actor gateway;
  /// Indexed by shard number.
  std::vector<coordinator::shard_actor> shards;
  /// Indexed by shard number: the connections to other coordinators of the cluster that serve
  /// shards; null without one. Empty when this coordinator is alone.
  std::vector<actors::connection_actor> far{};
  /// Bounds the log lines about refused claims of a worker; the claims of a gateway share it.
  std::shared_ptr<observe::line_pace> refusal_lines = std::make_shared<observe::line_pace>(1);
};

/// The actor of a claim: passes its messages to shards, connections and the gateway.
class claim_driver : public claim_run_port {
public:
  static constexpr const char* name = "claim";

  void start(claim_actor::pointer self, const claim_driver_options& options);

  [[nodiscard]] claim_run& hosted() { return *run_; }

  void take(const far_shards_found& m);
  void take(const far_shards_lost& m);

  void attach(
    shard_id to,
    coordinator::peer_attached who,
    const std::optional<core::claim>& first_claim) override;
  void detach(shard_id from) override;
  void command(shard_id to, core::command command) override;
  void ask(shard_id to, protocol::queue_request question) override;
  void tell(const coordinator::claim_place& at, const coordinator::claim_step& step) override;
  void waits() override;
  void ended(claimed_tasks how) override;
  void give_back(const std::vector<task>& tasks) override;
  void look_again_soon() override;
  void end_after(duration wait) override;
  void close() override;
  void close_after(duration wait) override;
  void note_refused(const std::string& by, const error& reason) override;
  void note_unread(std::string_view what, const error& reason) override;
  void note_left(shard_id shard, const std::string& reason) override;

private:
  /// The connection to the coordinator of the shard is another one; null: there is none any more.
  void connect(shard_id shard, const actors::connection_actor& to);

  claim_actor::pointer self_ = nullptr;
  claim_driver_options options_;
  std::optional<claim_run> run_;
};

[[nodiscard]] claim_actor::behavior_type drive_claim(
  claim_actor::stateful_pointer<claim_driver> self, const claim_driver_options& options);

} // namespace codeq::http
