// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "http/server/connection.hpp"

#include <utility>

#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>

/// Responses that go on: one chunk for each event.
namespace codeq::http {

namespace {

namespace asio = boost::asio;
namespace field = boost::beast::http;

constexpr std::size_t read_chunk_bytes = 512;

} // namespace

void connection::write_events() {
  expire_after(tuning::http_write_time_max);
  asio::async_write(
    stream_, asio::buffer(header_), [self = shared_from_this()](error_code failure, std::size_t) {
      self->release_answer();
      if (failure)
        return self->end_events();
      self->expire_never();
      self->watch_events();
      self->events_->open([weak = self->weak_from_this()](live_event event) {
        if (auto open = weak.lock())
          open->take_event(std::move(event));
      });
    });
}

void connection::take_event(live_event event) {
  if (!event.whole) {
    if (std::exchange(have_events_ended_, true))
      return;
  } else {
    has_missed_event_ = has_missed_event_ || waiting_event_.whole;
    waiting_event_ = std::move(event);
  }
  write_next_event();
}

void connection::write_next_event() {
  if (event_text_)
    return;
  auto next = std::exchange(waiting_event_, {});
  if (!next.whole)
    return have_events_ended_ ? end_response() : expire_never();
  bool is_whole = std::exchange(has_missed_event_, false) || !next.change;
  event_text_ = is_whole ? next.whole : next.change;
  expire_after(tuning::http_write_time_max);
  asio::async_write(
    stream_,
    field::make_chunk(asio::buffer(*event_text_)),
    [self = shared_from_this()](error_code failure, std::size_t) {
      self->event_text_.reset();
      if (failure)
        return self->end_events();
      self->write_next_event();
    });
}

void connection::end_response() {
  expire_after(tuning::http_write_time_max);
  asio::async_write(
    stream_, field::make_chunk_last(), [self = shared_from_this()](error_code, std::size_t) {
      self->end_events();
    });
}

void connection::watch_events() {
  // The client has nothing to send, so that what it sends is dropped.
  buffer_.clear();
  stream_.async_read_some(
    buffer_.prepare(read_chunk_bytes),
    [self = shared_from_this()](error_code failure, std::size_t) {
      if (!self->events_)
        return;
      if (failure)
        return self->end_events();
      self->watch_events();
    });
}

void connection::end_events() {
  if (auto events = std::exchange(events_, nullptr))
    events->close();
  close();
}

} // namespace codeq::http
