// SPDX-License-Identifier: Apache-2.0
// The part of `session` that tells a client of a cluster where shards are and where tasks wait.
#include "coordinator/session/session.hpp"
#include "protocol/map_convert.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

void session::tell_places(shard_id shard) {
  const std::vector<shard_id> not_here{shard};
  port_.send(protocol::make_cluster_map(take_news(), not_here).to_wire());
}

void session::map_changed() {
  if (const auto news = take_news(); !news.items.empty())
    port_.send(protocol::make_cluster_map(news, {}).to_wire());
}

cluster::map_news session::take_news() {
  const auto& map = options_.places->map();
  auto news = map.news_after(std::exchange(options_.map_changes, map.changes()));
  // With another epoch of a shard that is still here, the peer resumes there once more.
  for (const auto& item : news.items)
    resumes_.erase(item.shard);
  return news;
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

} // namespace codeq::coordinator
