// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/result.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace codeq::protocol {

/// The number that stands for schema struct `S` in a frame's header; `messages.hpp` has those of
/// the members of `schema::Message`.
template <class S>
inline constexpr std::uint16_t frame_type = 0xffff;

/// Bytes of the header that precedes each body on the wire: length, type, flags.
inline constexpr std::size_t frame_header_bytes = 8;

/// A message of any type, ready to be written to a connection. Shares its bytes.
struct wire_frame {
  std::uint16_t type = 0xffff;
  bytes body;
};

namespace detail {

/// Takes the words of a single-segment message; never more than one copy.
[[nodiscard]] bytes flatten(capnp::MallocMessageBuilder& builder);

/// Refuses bodies that cannot be a message: odd size, wrong alignment.
[[nodiscard]] result<void> check_shape(const bytes& body);

/// The error that stands for a malformed body.
[[nodiscard]] error malformed(const kj::Exception& e);

/// One segment, read in place; the traversal limit is the body's own size, so that pointers that
/// overlap cannot make it larger than it is.
class segment_reader : public capnp::MessageReader {
public:
  explicit segment_reader(const bytes& body);
  kj::ArrayPtr<const capnp::word> getSegment(capnp::uint id) override;

private:
  kj::ArrayPtr<const capnp::word> words_;
};

} // namespace detail

/// An immutable Cap'n Proto message of schema struct `S` in one shared, 8-byte aligned buffer.
/// Copies share the bytes; a reader is made afresh for each use (0.1 µs), because its traversal
/// limit is used up and its arena is not safe between threads.
template <class S>
class frame {
public:
  using reader_type = typename S::Reader;
  using builder_type = typename S::Builder;

  /// An unusable frame; only so that CAF can hold one.
  frame() = default;

  /// Takes a body that came from outside. Errors: `protocol_error`.
  [[nodiscard]] static result<frame> parse(bytes body) {
    if (auto ok = detail::check_shape(body); !ok)
      return ok.error();
    frame f;
    f.body_ = std::move(body);
    return f;
  }

  /// Builds a message: `fn` fills the root. `words` is a hint for the first allocation.
  template <class F>
  [[nodiscard]] static frame build(F&& fn, std::size_t words = 128) {
    capnp::MallocMessageBuilder builder(static_cast<capnp::uint>(words));
    fn(builder.initRoot<S>());
    frame f;
    f.body_ = detail::flatten(builder);
    return f;
  }

  /// Calls `fn(reader)` and returns what it returned; a body that is malformed where `fn` looks is
  /// a `protocol_error`. `fn` returns a `result<T>`; no reader may outlive the call.
  template <class F>
  [[nodiscard]] auto read(F&& fn) const -> std::invoke_result_t<F, reader_type> {
    try {
      detail::segment_reader message(body_);
      return std::forward<F>(fn)(message.template getRoot<S>());
    } catch (const kj::Exception& e) {
      return detail::malformed(e);
    }
  }

  [[nodiscard]] const bytes& body() const noexcept { return body_; }

  [[nodiscard]] wire_frame to_wire() const { return {frame_type<S>, body_}; }

private:
  bytes body_;
};

} // namespace codeq::protocol
