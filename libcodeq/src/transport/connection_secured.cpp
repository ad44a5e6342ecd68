// SPDX-License-Identifier: Apache-2.0
// TLS of a connection: the layer between the socket's bytes and the frames.
#include "codeq/limits.hpp"

#include "transport/connection_state.hpp"

#include <caf/io/middleman.hpp>

#include <algorithm>
#include <array>

namespace codeq::transport {

namespace {

/// Size of reads from the socket.
constexpr std::size_t read_bytes = 32u << 10;

/// Maximum size of one TLS record.
constexpr std::size_t record_bytes = 16u << 10;

/// Maximum size of handshake, certificates and hello of an unauthenticated peer.
constexpr std::size_t stranger_bytes_max = 64u << 10;

} // namespace

void connection_state::start_secured(std::unique_ptr<tls_stream> stream) {
  if (!stream)
    return abandon({errc::unavailable, "TLS cannot be used for this connection"});
  tls_ = std::move(stream);
  self_->configure_read(handle_, caf::io::receive_policy::at_most(read_bytes));
  // The side that dialled sends first.
  if (dialled_)
    static_cast<void>(shake_hands());
}

void connection_state::receive_secured(std::string_view received) {
  bool is_stranger = phase_ != phase::open;
  stranger_bytes_ += is_stranger ? received.size() : 0;
  if (stranger_bytes_ > stranger_bytes_max)
    return close({errc::protocol_error, "too many bytes before the hello was accepted"});
  tls_->put_received(received);
  if (!shake_hands())
    return;
  take_secured();
}

bool connection_state::shake_hands() {
  if (tls_->is_established())
    return true;
  auto done = tls_->shake_hands();
  // Needed also after an error, which TLS reports to the peer by an alert.
  flush_secured();
  if (!done) {
    close(done.error());
    return false;
  }
  // The hello was held back until the handshake is done.
  if (*done && dialled_)
    encrypt({});
  if (!*done && !dialled_)
    self_->trigger(handle_, 1);
  return *done && phase_ != phase::closing;
}

void connection_state::take_secured() {
  while (phase_ != phase::awaiting_registrar && phase_ != phase::closing) {
    part_.resize(part_bytes_);
    auto count = tls_->read(part_.data() + part_filled_, part_bytes_ - part_filled_);
    if (!count)
      return close(count.error());
    part_filled_ += *count;
    if (part_filled_ == part_bytes_) {
      part_filled_ = 0;
      take_part(std::exchange(part_, {}));
    } else if (*count == 0) {
      break;
    }
  }
  // TLS may have a reply of its own to send, for example to a key update.
  flush_secured();
  if (phase_ == phase::awaiting_hello)
    self_->trigger(handle_, 1);
}

void connection_state::write_secured(const protocol::wire_frame& frame) {
  // The header and the beginning of the body go into one record; the rest is encrypted without a
  // copy.
  std::array<char, record_bytes> first;
  auto header = header_of(frame);
  auto body = frame.body.view();
  auto beside = std::min(body.size(), first.size() - header.size());
  auto end = std::copy(header.begin(), header.end(), first.begin());
  end = std::copy_n(body.begin(), beside, end);
  encrypt({first.data(), static_cast<std::size_t>(end - first.begin())});
  if (beside < body.size() && phase_ != phase::closing)
    encrypt(body.substr(beside));
}

void connection_state::encrypt(std::string_view text) {
  auto& out = self_->wr_buf(handle_);
  auto before = out.size();
  if (auto ok = tls_->write(text, out); !ok)
    return abandon(ok.error());
  buffered_ += out.size() - before;
  self_->flush(handle_);
  check_outgoing();
}

void connection_state::flush_secured() {
  auto& out = self_->wr_buf(handle_);
  auto before = out.size();
  tls_->take_to_send(out);
  buffered_ += out.size() - before;
  self_->flush(handle_);
}

} // namespace codeq::transport
