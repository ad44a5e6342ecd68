// SPDX-License-Identifier: Apache-2.0
// The part of `session` that tells a client of a cluster where shards are and where tasks wait, and
// an operator how the cluster is.
#include "coordinator/session/session.hpp"
#include "protocol/cluster_convert.hpp"
#include "protocol/map_convert.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

void session::tell_places(shard_id shard) {
  told_not_here_.insert(shard);
  const std::vector<shard_id> not_here{shard};
  port_.send(protocol::make_cluster_map(take_news(), not_here).to_wire());
}

void session::tell_arrival(shard_id shard) {
  const auto& map = options_.places->map();
  const auto* place = map.of(shard);
  if (told_not_here_.erase(shard) > 0 && place)
    port_.send(protocol::make_cluster_map({map.shards(), {{shard, *place}}}, {}).to_wire());
}

void session::map_changed() {
  if (const auto news = take_news(); !news.items.empty())
    port_.send(protocol::make_cluster_map(news, {}).to_wire());
}

cluster::map_news session::take_news() {
  const auto& map = options_.places->map();
  return map.news_after(std::exchange(options_.map_changes, map.changes()));
}

void session::take_back(std::uint32_t credits) {
  const auto held = std::min(held_credits_, credits);
  held_credits_ -= held;
  returned_credits_ += held;
  is_asked_back_ = true;
  carry_out(router_.take_back(credits - held));
}

void session::tell_credits() {
  const auto returned = std::exchange(returned_credits_, 0) + router_.take_returned();
  const auto wants = held_credits_ == 0 && router_.is_starving(wants_credits_);
  // The worker asks again only after an answer, also when nothing has come back.
  const auto answers = is_asked_back_ && !router_.is_taking_back();
  if (returned == 0 && wants == wants_credits_ && !answers)
    return;
  is_asked_back_ = is_asked_back_ && !answers;
  wants_credits_ = wants;
  port_.send(protocol::credit_news::build([&](auto news) {
               news.setReturned(returned);
               news.setWants(wants);
             }).to_wire());
}

result<void> session::allow_cluster(const cluster_change& change) {
  if (auto ok = count_request(); !ok)
    return ok;
  if (!options_.places)
    return error{errc::unsupported, "this coordinator is alone; it belongs to no cluster"};
  const auto* bearer = options_.bearer.get();
  const auto is_change = change.what != cluster_change::kind::none;
  const auto is_allowed =
    !bearer || (bearer->is_of_all_tenants()
                && (is_change ? bearer->may_operate() : bearer->may_inspect()));
  if (is_allowed)
    return {};
  return error{errc::unauthorized, "this takes the token of an admin of all tenants"};
}

void session::take_request(const protocol::cluster_request& m) {
  auto asked = protocol::read_cluster_request(m);
  if (!asked)
    return refuse(asked.error());
  if (auto ok = allow_cluster(asked->change); !ok)
    return tell_cluster(asked->number, ok.error());
  const auto is_change = asked->change.what != cluster_change::kind::none;
  const auto by = is_change ? origin_of(asked->change.operation) : nullptr;
  port_.ask_cluster(asked->number, asked->change, by);
}

void session::tell_cluster(std::uint64_t number, const result<cluster_status>& told) {
  using request = schema::ClusterRequest;
  auto frame = told ? protocol::make_cluster_reply(number, *told).to_wire()
                    : protocol::make_refusal<request>(number, told.error()).to_wire();
  if (auto ok = take_answer(frame.body.size()); !ok)
    frame = protocol::make_refusal<request>(number, ok.error()).to_wire();
  port_.send(frame);
}

void session::take_request(const protocol::acting_for& m) {
  auto asker = protocol::read_acting_for(m);
  if (!asker)
    return refuse(asker.error());
  acting_for_ = std::move(*asker);
}

} // namespace codeq::coordinator
