// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/peer_links.hpp"

#include "base/tuning.hpp"
#include "coordinator/replica/replica_wire.hpp"
#include "observe/log.hpp"
#include "protocol/messages.hpp"
#include "protocol/shared_data.hpp"
#include "protocol/version.hpp"
#include "replication/bounds.hpp"
#include "transport/link.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace codeq::coordinator {

namespace {

using namespace std::chrono_literals;

/// A frame is sent before it has more bytes, but for a message that is larger alone.
constexpr std::size_t frame_bytes = 1u << 20;

/// Interval of log lines about a coordinator that refuses this one.
constexpr auto refusal_pause = 30s;

/// A failed coordinator is noticed, and one that is back is found, within the time of a fail-over.
transport::connection_settings settings() {
  transport::connection_settings s;
  s.ping_interval = 500ms;
  s.silent_peer_max = 1500ms;
  return s;
}

protocol::hello make_hello(const peer_links_options& options, bool is_for_copies) {
  const auto token = options.token ? options.token() : std::string();
  return protocol::hello::build([&](auto r) {
    r.setMinVersion(protocol::version);
    r.setMaxVersion(protocol::version);
    r.setRole(schema::Role::COORDINATOR);
    r.setName(options.node);
    r.setIncarnation(options.incarnation);
    r.setToken(protocol::data_of(token));
    r.setCluster(options.cluster);
    r.setCopies(is_for_copies);
  });
}

result<void> refuse_frame(const protocol::wire_frame& frame) {
  return error{
    errc::protocol_error,
    "a coordinator sends a frame of type " + std::to_string(frame.type)
      + " on a connection that it did not dial"};
}

} // namespace

peer_links::peer_links(
  caf::actor_system& system, caf::strong_actor_ptr owner, peer_links_options options)
  : system_(system), owner_(std::move(owner)), options_(std::move(options)) {
}

peer_links::~peer_links() {
  for (const auto& [number, link] : links_)
    end(link, "the coordinator stops");
}

void peer_links::end(const link& which, const char* why) {
  caf::anon_send(which.actor, actors::close_link{{errc::going_away, why}, {}});
}

void peer_links::set_addresses(
  const std::map<std::string, std::string>& addresses,
  const std::set<std::string>& may_come_back) {
  std::erase_if(links_, [&](const auto& known) {
    const auto& [number, link] = known;
    const auto wanted = addresses.find(link.node);
    const auto is_there = wanted != addresses.end();
    const auto stays =
      is_there ? wanted->second == link.address : may_come_back.contains(link.node);
    if (!stays)
      end(link, is_there ? "the coordinator has another address" : "the coordinator is gone");
    return !stays;
  });
  std::erase_if(lines_, [&](const auto& line) {
    return !addresses.contains(line.first) && !may_come_back.contains(line.first);
  });
  for (const auto& [node, address] : addresses)
    for (auto is_for_copies : {false, true})
      if (node != options_.node && !has_link(node, is_for_copies))
        dial(node, address, is_for_copies);
}

bool peer_links::has_link(const std::string& node, bool is_for_copies) const {
  return std::any_of(links_.begin(), links_.end(), [&](const auto& known) {
    return known.second.node == node && known.second.is_for_copies == is_for_copies;
  });
}

void peer_links::dial(const std::string& node, const std::string& address, bool is_for_copies) {
  transport::link_options link;
  link.index = ++last_number_;
  link.coordinator = address;
  link.make_hello = [options = options_, is_for_copies] {
    return coordinator::make_hello(options, is_for_copies);
  };
  link.sink = refuse_frame;
  link.owner = owner_;
  link.connection = settings();
  link.tls = options_.tls;
  link.connect_timeout = 500ms;
  link.reconnect_delay_min = 50ms;
  link.reconnect_delay_max = 500ms;
  link.owner_reports = true;
  const auto number = link.index;
  auto actor = transport::spawn_link(system_, std::move(link));
  links_.emplace(number, peer_links::link{node, is_for_copies, address, std::move(actor)});
}

std::string peer_links::up(const actors::link_up& m) {
  const auto at = links_.find(m.link);
  if (at == links_.end())
    return {};
  at->second.connection = m.connection;
  at->second.is_lost = false;
  if (at->second.is_for_copies)
    return {};
  lines_.erase(at->second.node);
  CODEQ_LOG_INFO("coordinator is reached node={} address={}", at->second.node, at->second.address);
  return at->second.node;
}

std::string peer_links::down(const actors::link_down& m) {
  const auto at = links_.find(m.link);
  if (at == links_.end())
    return {};
  const auto was_lost = std::exchange(at->second.is_lost, at->second.connection != nullptr);
  const auto ended = was_lost && !at->second.is_for_copies ? at->second.node : std::string();
  at->second.connection = nullptr;
  at->second.gathered.clear();
  at->second.bytes_gathered = 0;
  if (!at->second.is_for_copies)
    note_down(at->second, m.reason);
  // It is dialled anew with the next look at the nodes, which may tell another address.
  if (m.is_refused) {
    caf::anon_send(at->second.actor, actors::close_link{m.reason});
    links_.erase(at);
  }
  return ended;
}

void peer_links::note_down(const link& lost, const error& reason) {
  const auto now = std::chrono::steady_clock::now();
  const auto is_refused = reason.code == errc::unauthorized;
  auto text = to_string(reason);
  auto& line = lines_[lost.node];
  // A coordinator may be away for hours. What an administrator has to mend is repeated.
  if (line.reason == text && (!is_refused || now < line.next))
    return;
  line = {std::move(text), now + refusal_pause};
  if (is_refused)
    CODEQ_LOG_ERROR(
      "coordinator is refused by another one and takes no part with it node={} address={} "
      "reason=\"{}\" advice=\"--cluster-token-file must have the token of an admin of tenant * "
      "that is in the --tokens of that one, too\"",
      lost.node,
      lost.address,
      line.reason);
  else
    CODEQ_LOG_WARN(
      "coordinator has no connection to another one, will try again node={} address={} "
      "reason=\"{}\"",
      lost.node,
      lost.address,
      line.reason);
}

bool peer_links::reaches(const std::string& node) const {
  return std::any_of(links_.begin(), links_.end(), [&](const auto& one) {
    return one.second.node == node && !one.second.is_for_copies && one.second.connection;
  });
}

bool peer_links::gather(const std::string& node, bytes message, bool is_copy) {
  for (auto& [number, link] : links_) {
    if (link.node != node || link.is_for_copies != is_copy || !link.connection)
      continue;
    if (!link.gathered.empty() && link.bytes_gathered + message.size() > frame_bytes)
      send(link);
    link.bytes_gathered += message.size();
    link.gathered.push_back(std::move(message));
    const auto is_full = link.bytes_gathered >= frame_bytes
                         || link.gathered.size() >= replication::bounds::frame_messages;
    if (is_full)
      send(link);
    return true;
  }
  return false;
}

void peer_links::send(link& to, const head_news* news) {
  const auto messages = std::exchange(to.gathered, {});
  to.bytes_gathered = 0;
  caf::anon_send(
    to.connection,
    protocol::wire_frame{
      protocol::frame_type<schema::ReplicaFrame>, encode_frame(messages, news)});
}

void peer_links::tell(const head_news& news) {
  for (auto& [number, link] : links_)
    if (link.connection && !link.is_for_copies)
      send(link, &news);
}

void peer_links::tell(const std::string& node, const head_news& news) {
  for (auto& [number, link] : links_)
    if (link.node == node && link.connection && !link.is_for_copies)
      send(link, &news);
}

void peer_links::flush() {
  for (auto& [number, link] : links_)
    if (!link.gathered.empty())
      send(link);
}

} // namespace codeq::coordinator
