// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "actors/ask_coordinator.hpp"
#include "protocol/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::client {

/// Names a connection to a coordinator for as long as the process runs; 0: none.
using connection_number = std::uint64_t;

/// The fields that every reply has.
struct reply_head {
  /// That of the request.
  std::uint64_t number = 0;
  errc code = errc::none;
};

/// The coordinators of the cluster, as far as they are connected.
struct reached_members {
  std::vector<connection_number> connections;
  /// Number of those that serve shards and are not connected; 1 before the first map.
  std::size_t missing = 0;
  /// The shards whose coordinator is not connected or not known, ascending.
  std::vector<shard_id> unreached{};
};

/// The question's interface to its driver. Calls return before they call the question back.
class open_question_port {
public:
  virtual ~open_question_port() = default;

  virtual void send(connection_number to, protocol::wire_frame request) = 0;

  /// Closes the connection in use because its peer violated the protocol.
  virtual void drop(const error& reason) = 0;

  /// Requests a call of `ask_members(number)` after `wait`.
  virtual void ask_members_after(duration wait, std::uint64_t number) = 0;

  /// True when the connection in use is to a coordinator of a cluster.
  [[nodiscard]] virtual bool is_cluster() const = 0;

  /// In a cluster, the connection to the coordinator that serves the shard; 0: there is none.
  [[nodiscard]] virtual connection_number connection_of(shard_id shard) const = 0;

  [[nodiscard]] virtual reached_members all_members() const = 0;

  /// In a cluster: which coordinator serves the shard, for people.
  [[nodiscard]] virtual std::string place_of(shard_id shard) const = 0;

  /// In a cluster: why the shard is not reached. @pre connection_of(shard) == 0
  [[nodiscard]] virtual error unreached(shard_id shard) const = 0;
};

/// At most one open request of an operator's tool: which connection it is sent on, when it is sent
/// again, and when it fails. A new request replaces one that is still open. A request to every
/// coordinator of a cluster has a number for each of them. Uses no actor, clock or socket: its
/// driver calls it from one thread.
class open_question {
public:
  /// @pre `port` outlives the question
  explicit open_question(open_question_port& port) : port_(port) {}

  void ask(actors::ask_coordinator question);

  /// Ends the open request, since its caller has waited long enough. Returns why a request for a
  /// shard of a cluster has no answer: `disconnected` when the shard is not reached or not served,
  /// `timeout` when it has not answered. Empty for another request, and when none is open.
  [[nodiscard]] std::optional<error> give_up(duration waited);

  /// Why the open request waits, if it does because its shard is not reached or not served.
  [[nodiscard]] std::optional<error> obstacle() const;

  /// The wait for links to all coordinators is over, for the request with that number.
  void ask_members(std::uint64_t number);

  /// Handles a reply of any type; a reply to an earlier request is ignored.
  void take(const reply_head& head, const protocol::wire_frame& reply);

  /// The connection to use from now on.
  void use(connection_number connection);

  /// Asks again, on the connection `by`, what was asked on the connection `ended`. Both lead to the
  /// same coordinator.
  void replace(connection_number ended, connection_number by);

  /// The connection was lost. A request that was sent on it fails when it may not be sent again.
  void lose(connection_number lost, const error& reason);

  /// Shards are at other places, where the request may be wanted.
  void send_moved();

  /// True when a connection is in use.
  [[nodiscard]] bool is_connected() const noexcept { return in_use_ != 0; }

private:
  void send_open();
  void send_to_all(bool waits);

  /// The connection for a request: in a cluster that of its shard, if it has one; 0: none is up.
  [[nodiscard]] connection_number way_of(const protocol::wire_frame& request) const;

  /// In a cluster, the shard that the open request is for, if it is for one. @pre one is open
  [[nodiscard]] std::optional<shard_id> open_shard() const;

  /// Why a shard that is reached has not answered.
  [[nodiscard]] error unanswered(shard_id shard, duration waited) const;

  /// Forgets that shards were away that are reached again.
  void note_reached();

  void note_lost(connection_number lost, const error& reason);
  /// @pre a request is open
  void fail(const error& reason);
  void note_end(std::uint64_t number);

  open_question_port& port_;
  connection_number in_use_ = 0;
  std::uint64_t number_ = 0;
  std::optional<actors::ask_coordinator> open_;
  /// The connection that the open request was sent on last, which may be lost, so that it may have
  /// been executed there; 0 when it was not sent, or refused without effect.
  connection_number said_to_ = 0;
  /// How often the open request was sent to a coordinator that did not refuse it without effect.
  std::size_t unrefused_ = 0;
  /// The requests to all coordinators that are not answered, by their numbers.
  std::map<std::uint64_t, connection_number> asked_;
  /// Coordinators whose answer will not come, and their shards.
  std::size_t missing_ = 0;
  std::set<shard_id> missing_shards_;
  /// The shards that were not reached when a request for one of them was given up after a second or
  /// more, nor since. A request for one of them fails at once, so that a command for all shards
  /// waits for one only.
  std::set<shard_id> away_;
  /// A call of `ask_members` was requested.
  bool waits_for_members_ = false;
};

} // namespace codeq::client
