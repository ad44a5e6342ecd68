// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/session.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {

/// Serves shard 0.
class one_shard final : public map_source {
public:
  one_shard() { map_.set_shards(2); }

  [[nodiscard]] std::optional<replication::epoch_number>
  served_epoch(shard_id shard) const override {
    return shard == shard_id{0} ? std::optional(epoch_) : std::nullopt;
  }

  [[nodiscard]] const cluster::cluster_map& map() const override { return map_; }

  /// From now on the shard is served in that epoch, which etcd may have told or not.
  void serve_in(replication::epoch_number epoch, bool is_told = true) {
    epoch_ = epoch;
    if (is_told)
      map_.merge(shard_id{0}, {"c1", "c1:4000", "", epoch, epoch});
  }

private:
  cluster::cluster_map map_;
  replication::epoch_number epoch_ = 1;
};

/// Keeps what the session passes on.
class keeping_port final : public session_port {
public:
  void pass_claim(const claim_place& place, const claim_step&) override { passed.push_back(place); }

  void hold_claim(const claim_place& place, bool is_held) override {
    (is_held ? held : released).push_back(place);
  }

  void send(const protocol::wire_frame& frame) override {
    sent.push_back(frame);
    if (frame.type != protocol::frame_type<schema::ClaimNews>)
      return;
    auto read = read_claim_news(*protocol::claim_news::parse(frame.body));
    refused.push_back(std::get<claim_left>(read->second).reason.code);
  }

  void note_limit(std::string_view name, std::uint64_t) override { met.emplace_back(name); }

  void ask_shard(shard_id shard, peer_request) override { shards_asked.push_back(shard); }

  void command_shard(shard_id, core::command command) override {
    commands.push_back(std::move(command));
  }

  void close(const error&) override {}

  void gather_stats(bool with_leases) override { gathered.push_back(with_leases); }

  void ask_cluster(
    std::uint64_t number, const cluster_change& change, const core::origin_ptr& by) override {
    asked.push_back({number, change, by});
  }

  void wake_after(duration, session_wake) override {}

  [[nodiscard]] outgoing_bytes outgoing() const override { return {}; }

  [[nodiscard]] result<void> keep_unread(std::uint64_t) override { return {}; }

  [[nodiscard]] duration
  take_rate(const security::principal&, security::rate_scope, std::uint64_t) override {
    return duration{0};
  }

  [[nodiscard]] timestamp now() override { return timestamp{duration{77}}; }

  [[nodiscard]] std::map<std::string, std::int64_t> gauges() const override {
    return {{"codeq_connections", 5}};
  }

  [[nodiscard]] result<backup_status> back_up(const backup_wish& wish) override {
    backups.push_back(wish);
    backup_status status;
    status.number = 4;
    return status;
  }

  [[nodiscard]] result<std::string> set_log_level(const std::string& level) override {
    if (!level.empty())
      log_level = level;
    return log_level;
  }

  [[nodiscard]] result<drain_outcome>
  drain_worker(const std::string& name, bool is_drained) override {
    drains.emplace_back(name, is_drained);
    return drain_outcome::changed;
  }

  void mark_drained(std::vector<base::worker_counts>& workers) const override {
    for (auto& worker : workers)
      worker.is_draining = worker.name == drained;
  }

  [[nodiscard]] result<std::vector<backup_info>> list_backups() const override {
    return std::vector<backup_info>(3);
  }

  void note_goodbye() override { ++goodbyes; }

  void note_refused(const error& reason) override { refusals.push_back(reason.code); }

  /// A request for the state of the cluster, or for a change of it.
  struct cluster_question {
    std::uint64_t number = 0;
    cluster_change change{};
    core::origin_ptr by{};
  };

  std::vector<protocol::wire_frame> sent;
  std::vector<claim_place> passed;
  std::vector<claim_place> held;
  std::vector<claim_place> released;
  std::vector<errc> refused;
  std::vector<std::string> met;
  std::vector<cluster_question> asked;
  /// The counts that were requested: whether those of workers were.
  std::vector<bool> gathered;
  std::vector<core::command> commands;
  /// The shards that requests were passed on to.
  std::vector<shard_id> shards_asked;
  std::vector<backup_wish> backups;
  std::string log_level = "info";
  int goodbyes = 0;
  /// Why the session was ended as refused.
  std::vector<errc> refusals;
  /// Workers that were drained, or taken back.
  std::vector<std::pair<std::string, bool>> drains;
  /// The name of the worker that counts as drained.
  std::string drained;
};

} // namespace codeq::coordinator
