// SPDX-License-Identifier: Apache-2.0
// The end of a connection: the part of `connection_state` that begins with the decision to close.
#include "observe/log.hpp"
#include "protocol/error_code.hpp"
#include "transport/connection_state.hpp"

#include <caf/io/middleman.hpp>

#include <sys/socket.h>

namespace codeq::transport {

namespace {

constexpr auto peer_closed_text = "the peer closed the connection";

/// Size of reads whose bytes are discarded, from a peer that still sends while the connection
/// closes.
constexpr std::size_t discard_bytes = 4096;

protocol::wire_frame make_refused(const error& reason) {
  auto frame = protocol::refused::build([&](auto root) {
    root.setCode(protocol::to_schema(reason.code));
    root.setContext(reason.context);
  });
  return frame.to_wire();
}

} // namespace

void connection_state::refuse(error reason) {
  write_own(make_refused(reason));
  close(std::move(reason));
}

void connection_state::close(error reason) {
  if (phase_ == phase::closing)
    return;
  flush();
  enter_closing(std::move(reason));
  if (tls_) {
    tls_->end_writing();
    flush_secured();
  }
  // A socket that is closed with unread bytes resets the connection, and the peer may lose our last
  // frame. So send our end, then read until the peer closes its end.
  self_->configure_read(handle_, caf::io::receive_policy::at_most(discard_bytes));
  self_->trigger(handle_);
  arm({connection_deadline::what::linger}, settings_.linger);
  if (buffered_ == 0)
    finish_sending();
}

void connection_state::abandon(error reason) {
  enter_closing(std::move(reason));
  tell_owner();
  // Otherwise bytes that the peer does not read would keep the socket in the middleman's loop.
  if (self_->valid(handle_))
    ::shutdown(fd(), SHUT_RDWR);
  self_->quit();
}

void connection_state::close_as_asked(const actors::close_connection& request) {
  is_reason_logged_ = request.is_logged;
  if (request.at_once)
    return abandon(request.reason);
  close(request.reason);
}

void connection_state::peer_closed() {
  error reason{errc::disconnected, peer_closed_text};
  if (phase_ == phase::awaiting_answer && !tls_)
    reason.context += " without an answer; it may expect TLS, which takes --tls-ca";
  enter_closing(std::move(reason));
  tell_owner();
  self_->quit();
}

void connection_state::enter_closing(error reason) {
  if (phase_ == phase::closing)
    return;
  log_closing(reason);
  phase_ = phase::closing;
  reason_ = std::move(reason);
  answer_probes(false);
  sink_ = nullptr;
  close_outlet();
}

void connection_state::log_closing(const error& reason) const {
  // Tools come and go all the time. The registrar logs the end of a worker's session.
  bool is_routine =
    phase_ == phase::open && (reason.code == errc::none || reason.context == peer_closed_text);
  // The link of a dialled connection logs the reason itself, once until it changes.
  if (dialled_ || is_routine || is_reason_logged_)
    CODEQ_LOG_DEBUG("connection closes remote={} reason=\"{}\"", remote_, to_string(reason));
  else if (auto left_out = ticket_->take_log_line(self_->clock().now()))
    CODEQ_LOG_INFO(
      "connection closes remote={} left_out={} reason=\"{}\"",
      remote_,
      *left_out,
      to_string(reason));
}

void connection_state::finish_sending() {
  if (sending_finished_)
    return;
  sending_finished_ = true;
  ::shutdown(fd(), SHUT_WR);
  tell_owner();
}

void connection_state::tell_owner() {
  if (auto owner = std::exchange(owner_, nullptr))
    caf::anon_send(caf::actor_cast<caf::actor>(owner), actors::connection_lost{reason_});
  if (!dialled_)
    return;
  auto link = caf::actor_cast<caf::strong_actor_ptr>(std::exchange(dialled_->link, {}));
  if (!link)
    return;
  // The message about the link's end would be sent in its name. If the middleman stops meanwhile,
  // the message would stay unread and hold the link, whose thread the actor system waits for.
  self_->demonitor(link->address());
  caf::anon_send(
    caf::actor_cast<caf::actor>(link), dialled_lost{dialled_->attempt, reason_, was_up_, refused_});
}

int connection_state::fd() const {
  // CAF uses the socket as a connection's number; it stays open as long as the broker holds it.
  return static_cast<int>(handle_.id());
}

} // namespace codeq::transport
