// SPDX-License-Identifier: Apache-2.0
#include "transport/connection_state.hpp"

#include "base/tuning.hpp"
#include "protocol/error_code.hpp"
#include "protocol/version.hpp"

#include <caf/io/middleman.hpp>

#include <algorithm>

#include <sys/socket.h>

namespace codeq::transport {

namespace {

/// An outgoing buffer larger than this is released once it is empty.
constexpr std::size_t idle_buffer_bytes_max = 4u << 20;

/// Maximum size of reads while frames are small: separate reads of header and body cost more than a
/// copy.
constexpr std::size_t read_bytes_max = 8u << 10;

} // namespace

void connection_state::start(
  connection_self self, caf::io::connection_handle handle, const connection_settings& settings) {
  self_ = self;
  handle_ = handle;
  settings_ = settings;
  remote_ = self->remote_addr(handle) + ":" + std::to_string(self->remote_port(handle));
  last_received_ = self->clock().now();
  self->ack_writes(handle, true);
  self->configure_read(handle, caf::io::receive_policy::exactly(protocol::frame_header_bytes));
}

void connection_state::start_accepted(
  connection_self self,
  caf::io::connection_handle handle,
  const connection_settings& settings,
  const std::shared_ptr<const security::tls_context>& tls) {
  start(self, handle, settings);
  if (tls) {
    start_secured(tls_stream::accept(*tls));
    return self->trigger(handle, 1);
  }
  // Two reads, a header and a body; then nothing is read until the registrar has decided.
  self->trigger(handle, 2);
}

void connection_state::await_hello(
  actors::registrar_actor registrar, std::shared_ptr<admission_ticket> ticket) {
  registrar_ = std::move(registrar);
  ticket_ = std::move(ticket);
  static_cast<void>(await_progress());
}

bool connection_state::await_progress() {
  if (ticket_->wait_until(self_->address(), self_->clock().now() + settings_.hello_timeout))
    return true;
  close({errc::going_away, "the coordinator stops"});
  return false;
}

void connection_state::start_dialled(
  connection_self self, caf::io::connection_handle handle, const dialled_options& options) {
  start(self, handle, options.settings);
  phase_ = phase::awaiting_answer;
  dialled_ = options;
  // CAF would take the address of a terminated actor for a live one.
  if (auto link = caf::actor_cast<caf::strong_actor_ptr>(dialled_->link))
    self->monitor(link);
  else
    caf::anon_send(
      caf::actor_cast<caf::actor>(self->address()),
      caf::down_msg{dialled_->link, caf::exit_reason::unknown});
  if (dialled_->tls)
    start_secured(tls_stream::connect(*dialled_->tls, dialled_->host));
  write_own(dialled_->hello.to_wire());
  arm({connection_deadline::what::handshake}, settings_.hello_timeout);
}

std::size_t connection_state::body_bytes_max() const {
  return phase_ == phase::open ? frame_bytes_max_ : tuning::hello_bytes_max;
}

void connection_state::receive(caf::io::new_data_msg& data) {
  if (phase_ == phase::closing)
    return;
  last_received_ = self_->clock().now();
  answer_probes(true);
  if (tls_) {
    receive_secured({data.buf.data(), data.buf.size()});
    return end_read();
  }
  if (phase_ == phase::open) {
    adapt_reads(data.buf.size());
    take_received(data.buf);
  } else {
    take_part(std::move(data.buf));
  }
  end_read();
  if (phase_ != phase::closing)
    self_->configure_read(handle_, next_read());
}

void connection_state::end_read() const {
  if (read_done_)
    read_done_();
}

void connection_state::adapt_reads(std::size_t count) {
  // The middleman fills the rest of the buffer with zeros before each read.
  if (count >= read_bytes_)
    read_bytes_ = std::min(2 * read_bytes_, read_bytes_max);
  else if (count < read_bytes_ / 4)
    read_bytes_ = std::max(read_bytes_ / 2, read_bytes_min);
}

caf::io::receive_policy::config connection_state::next_read() const {
  auto missing = part_bytes_ - part_.size();
  if (phase_ == phase::open && missing <= read_bytes_max)
    return caf::io::receive_policy::at_most(std::max(missing, read_bytes_));
  return caf::io::receive_policy::exactly(missing);
}

void connection_state::take_received(std::vector<char>& received) {
  bool is_large_body = part_.empty() && part_bytes_ > read_bytes_max;
  if (is_large_body && received.size() == part_bytes_)
    return take_part(std::move(received));
  std::string_view left{received.data(), received.size()};
  while (!left.empty() && phase_ == phase::open) {
    if (!header_ && part_.empty() && left.size() >= part_bytes_) {
      take_header(left.substr(0, part_bytes_));
      left.remove_prefix(protocol::frame_header_bytes);
      continue;
    }
    auto count = std::min(part_bytes_ - part_.size(), left.size());
    part_.reserve(part_bytes_);
    part_.insert(part_.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
    left.remove_prefix(count);
    if (part_.size() == part_bytes_)
      take_part(std::exchange(part_, {}));
  }
}

void connection_state::take_part(std::vector<char> part) {
  if (header_) {
    protocol::wire_frame frame{header_->type, take_body(std::move(part))};
    header_.reset();
    part_bytes_ = protocol::frame_header_bytes;
    return take(frame);
  }
  take_header({part.data(), part.size()});
}

void connection_state::take_header(std::string_view bytes) {
  auto header = parse_header(bytes, body_bytes_max());
  if (!header)
    return refuse(header.error());
  part_bytes_ = header->length;
  header_ = *header;
}

void connection_state::take(const protocol::wire_frame& frame) {
  switch (phase_) {
  case phase::awaiting_hello:
    return take_hello(frame);
  case phase::awaiting_answer:
    return take_answer(frame);
  case phase::open:
    return take_open(frame);
  case phase::awaiting_registrar:
  case phase::closing:
    return;
  }
}

void connection_state::take_hello(const protocol::wire_frame& frame) {
  if (frame.type != protocol::frame_type<schema::Hello>)
    return refuse(
      {errc::protocol_error,
       "first frame is type=" + std::to_string(frame.type) + ", not a hello"});
  auto hello = protocol::hello::parse(frame.body);
  if (!hello)
    return refuse(hello.error());
  phase_ = phase::awaiting_registrar;
  if (!await_progress())
    return;
  caf::anon_send(
    registrar_, actors::peer_hello{std::move(*hello), actors::connection_actor{self_}, remote_});
}

void connection_state::take_answer(const protocol::wire_frame& frame) {
  if (frame.type == protocol::frame_type<schema::Refused>)
    return take_refused(frame);
  if (frame.type != protocol::frame_type<schema::HelloAck>)
    return refuse({errc::protocol_error, "answer to hello is type=" + std::to_string(frame.type)});
  auto ack = protocol::hello_ack::parse(frame.body);
  if (!ack)
    return refuse(ack.error());
  auto version =
    ack->read([](auto reader) -> result<std::uint16_t> { return reader.getVersion(); });
  if (!version)
    return refuse(version.error());
  if (*version != protocol::version) {
    refused_ = true;
    return refuse(
      {errc::protocol_error, "the coordinator chose protocol version=" + std::to_string(*version)});
  }
  was_up_ = true;
  sink_ = dialled_->sink;
  caf::anon_send(
    caf::actor_cast<caf::actor>(dialled_->owner),
    actors::link_up{dialled_->index, actors::connection_actor{self_}, std::move(*ack)});
  open();
}

void connection_state::take_open(const protocol::wire_frame& frame) {
  switch (frame.type) {
  case protocol::frame_type<schema::Ping>:
    return answer_ping(frame);
  case protocol::frame_type<schema::Pong>:
    return;
  case protocol::frame_type<schema::Refused>:
    return take_refused(frame);
  default:
    if (auto taken = sink_(frame); !taken)
      refuse(taken.error());
  }
}

void connection_state::take_refused(const protocol::wire_frame& frame) {
  auto parsed = protocol::refused::parse(frame.body);
  if (!parsed)
    return refuse(parsed.error());
  error reason;
  auto read = parsed->read([&](auto reader) -> result<void> {
    reason.code = protocol::from_schema(reader.getCode());
    reason.context = std::string(reader.getContext().cStr());
    return {};
  });
  if (!read)
    return refuse(read.error());
  refused_ = true;
  close(std::move(reason));
}

void connection_state::answer_ping(const protocol::wire_frame& frame) {
  auto parsed = protocol::ping::parse(frame.body);
  if (!parsed)
    return refuse(parsed.error());
  auto number =
    parsed->read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  if (!number)
    return refuse(number.error());
  write_own(protocol::pong::build([&](auto root) { root.setNumber(*number); }, 4).to_wire());
}

void connection_state::accept(const actors::connection_accepted& accepted) {
  if (phase_ != phase::awaiting_registrar) {
    caf::anon_send(caf::actor_cast<caf::actor>(accepted.owner), actors::connection_lost{reason_});
    return;
  }
  sink_ = accepted.sink;
  owner_ = accepted.owner;
  progress_ = accepted.progress;
  read_done_ = accepted.read_done;
  frame_bytes_max_ = accepted.frame_bytes_max;
  if (progress_ && !tls_)
    progress_->outlet = this;
  self_->monitor(owner_);
  ticket_->authenticated();
  open();
  self_->trigger(handle_);
  if (!tls_)
    return;
  take_secured();
  end_read();
}

void connection_state::open() {
  phase_ = phase::open;
  last_received_ = self_->clock().now();
  arm({connection_deadline::what::liveness}, settings_.ping_interval);
}

void connection_state::write(const protocol::wire_frame& frame) {
  if (progress_)
    taken_ += protocol::frame_header_bytes + frame.body.size();
  if (phase_ == phase::closing || is_overfull_)
    return;
  if (tls_)
    return write_secured(frame);
  append_frame(frame, out_);
  check_outgoing();
}

void connection_state::write_own(const protocol::wire_frame& frame) {
  auto taken = taken_;
  write(frame);
  taken_ = taken;
  flush();
}

void connection_state::flush() {
  if (out_.empty())
    return;
  // The middleman would watch the socket for the write, send, and stop watching.
  auto count = buffered_ == 0
                 ? ::send(fd(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                 : ssize_t{0};
  // The middleman meets an error again, and reports it.
  auto sent = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  if (sent < out_.size()) {
    auto& rest = self_->wr_buf(handle_);
    rest.insert(rest.end(), out_.begin() + static_cast<std::ptrdiff_t>(sent), out_.end());
    buffered_ += out_.size() - sent;
    self_->flush(handle_);
  }
  if (out_.capacity() > idle_buffer_bytes_max)
    std::vector<char>{}.swap(out_);
  else
    out_.clear();
  note_progress();
}

void connection_state::close_outlet() {
  if (progress_)
    progress_->outlet = nullptr;
}

void connection_state::note_progress() {
  if (progress_)
    progress_->written.store(
      taken_ - std::min<std::uint64_t>(taken_, unsent()), std::memory_order_relaxed);
}

void connection_state::sent(const caf::io::data_transferred_msg& progress) {
  buffered_ = progress.remaining;
  // A large frame is under way, and the pings behind it cannot be answered yet. A peer that hangs
  // takes no more than its socket holds.
  if (dialled_ && buffered_ > 0)
    last_received_ = self_->clock().now();
  note_progress();
  if (buffered_ == 0) {
    auto& out = self_->wr_buf(handle_);
    if (out.capacity() > idle_buffer_bytes_max)
      std::vector<char>{}.swap(out);
  }
  if (phase_ == phase::closing) {
    if (buffered_ == 0)
      finish_sending();
    return;
  }
  check_outgoing();
}

void connection_state::check_outgoing() {
  if (dialled_)
    return;
  auto waiting = unsent();
  if (waiting > 2 * settings_.outgoing_bytes_high) {
    is_overfull_ = true;
    error reason{
      errc::overloaded, "the peer reads too slowly, buffered_bytes=" + std::to_string(waiting)};
    // The message has no sender: see the pitfalls in README.md.
    return caf::anon_send(
      actors::connection_actor{self_}, actors::close_connection{std::move(reason), true});
  }
  bool changed = pressure_ ? waiting < settings_.outgoing_bytes_low
                           : waiting > settings_.outgoing_bytes_high;
  if (!changed || !owner_)
    return;
  pressure_ = !pressure_;
  caf::anon_send(caf::actor_cast<caf::actor>(owner_), actors::outgoing_pressure{pressure_});
}

caf::result<bool> connection_state::probe() {
  auto promise = self_->make_response_promise<bool>();
  if (phase_ == phase::closing) {
    promise.deliver(false);
    return promise;
  }
  auto number = ++last_number_;
  probes_.push_back({number, promise});
  write_own(protocol::ping::build([&](auto root) { root.setNumber(number); }, 4).to_wire());
  arm({connection_deadline::what::probe, number}, settings_.probe_timeout);
  return promise;
}

void connection_state::answer_probes(bool alive) {
  for (auto& probe : std::exchange(probes_, {}))
    probe.promise.deliver(alive);
}

void connection_state::arm(connection_deadline deadline, duration after) {
  // The message has no sender: see the pitfalls in README.md.
  caf::delayed_anon_send(caf::actor_cast<caf::actor>(self_), after, deadline);
}

void connection_state::fire(const connection_deadline& deadline) {
  using what = connection_deadline::what;
  switch (deadline.kind) {
  case what::handshake:
    if (phase_ == phase::awaiting_answer)
      close({errc::timeout, "the coordinator did not answer the hello"});
    return;
  case what::liveness:
    return check_liveness();
  case what::probe:
    // Probes have ascending numbers and the same timeout, so all up to this one are overdue.
    while (!probes_.empty() && probes_.front().number <= deadline.number) {
      probes_.front().promise.deliver(false);
      probes_.erase(probes_.begin());
    }
    return;
  case what::linger:
    return abandon({errc::disconnected, "the peer did not read what was written"});
  }
}

void connection_state::check_liveness() {
  if (phase_ != phase::open)
    return;
  auto silent = self_->clock().now() - last_received_;
  if (silent >= settings_.silent_peer_max)
    return close({errc::disconnected, "the peer has been silent for too long"});
  if (silent >= settings_.ping_interval)
    send_ping();
  arm({connection_deadline::what::liveness}, settings_.ping_interval);
}

void connection_state::send_ping() {
  write_own(
    protocol::ping::build([&](auto root) { root.setNumber(++last_number_); }, 4).to_wire());
}

} // namespace codeq::transport
