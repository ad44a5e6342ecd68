// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"

#include "actors/actors.hpp"
#include "coordinator/replica/head_news.hpp"
#include "security/tls_context.hpp"

#include <caf/actor_system.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace codeq::coordinator {

struct peer_links_options {
  std::string cluster;
  std::string node;
  /// Counts the starts of the store.
  std::uint64_t incarnation = 0;
  /// Returns the token that is shown to the other coordinators; called for each connection. May be
  /// empty when they need none.
  std::function<std::string()> token;
  /// Null without TLS.
  std::shared_ptr<security::tls_source> tls{};
};

/// Two connections to each other coordinator, which this one dials: one for messages, and one for
/// the parts of copies. What the others send arrives on the connections that they dial. Messages
/// are gathered into frames; without a connection they are dropped. Used by the replicas' actor.
class peer_links {
public:
  /// @pre `owner` gets `link_up` and `link_down`, and outlives the links
  peer_links(caf::actor_system& system, caf::strong_actor_ptr owner, peer_links_options options);

  peer_links(const peer_links&) = delete;
  peer_links& operator=(const peer_links&) = delete;
  ~peer_links();

  /// The nodes that are there, with their addresses. Of those that were there before, the ones that
  /// may come back stay.
  void set_addresses(
    const std::map<std::string, std::string>& addresses,
    const std::set<std::string>& may_come_back);

  /// Returns the node whose connection for messages is new; empty when it is another one.
  std::string up(const actors::link_up& m);

  /// Returns the node that seems to have ended: its connection for messages was lost, and it takes
  /// no other. Empty otherwise.
  std::string down(const actors::link_down& m);

  /// Whether the connection for messages is up.
  [[nodiscard]] bool reaches(const std::string& node) const;

  /// Adds an encoded message to the next frame. False: there is no connection.
  bool gather(const std::string& node, bytes message, bool is_copy);

  /// Sends what was gathered.
  void flush();

  /// Sends all coordinators news about ready tasks, together with what was gathered for them.
  void tell(const head_news& news);

  /// The same to the coordinator with that name only.
  void tell(const std::string& node, const head_news& news);

private:
  struct link {
    std::string node;
    bool is_for_copies = false;
    std::string address;
    actors::link_actor actor;
    /// Null while it is down.
    actors::connection_actor connection{};
    /// A connection was lost, and no other was dialled since.
    bool is_lost = false;
    std::vector<bytes> gathered{};
    std::size_t bytes_gathered = 0;
  };

  [[nodiscard]] bool has_link(const std::string& node, bool is_for_copies) const;
  void dial(const std::string& node, const std::string& address, bool is_for_copies);
  static void send(link& to, const head_news* news = nullptr);
  static void end(const link& which, const char* why);
  /// Logs that a connection for messages is down, once for each reason and node.
  void note_down(const link& lost, const error& reason);

  /// The last line about a node that cannot be reached.
  struct down_line {
    std::string reason{};
    std::chrono::steady_clock::time_point next{};
  };

  caf::actor_system& system_;
  caf::strong_actor_ptr owner_;
  peer_links_options options_;
  /// By number.
  std::map<std::size_t, link> links_;
  /// By node, for those that were not reached since.
  std::map<std::string, down_line> lines_;
  std::size_t last_number_ = 0;
};

} // namespace codeq::coordinator
