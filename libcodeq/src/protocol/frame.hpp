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

/// Type number of schema struct `S` in frame headers; `messages.hpp` defines it for the members of
/// `schema::Message`.
template <class S>
inline constexpr std::uint16_t frame_type = 0xffff;

/// Size of the header before each body on the wire: length, type, flags.
inline constexpr std::size_t frame_header_bytes = 8;

/// A message of any type, ready to be sent. Copies share the bytes.
struct wire_frame {
  std::uint16_t type = 0xffff;
  bytes body;
};

namespace detail {

/// Takes the words of a message as a single segment, with at most one copy.
[[nodiscard]] bytes flatten(capnp::MallocMessageBuilder& builder);

/// Refuses bodies that cannot be a message: odd size, wrong alignment.
[[nodiscard]] result<void> check_shape(const bytes& body);

/// The error for a malformed body.
[[nodiscard]] error malformed(const kj::Exception& e);

/// Reads one segment in place. The traversal limit follows from the body's size, so that
/// overlapping pointers cannot make the content larger than the body.
class segment_reader : public capnp::MessageReader {
public:
  explicit segment_reader(const bytes& body);
  kj::ArrayPtr<const capnp::word> getSegment(capnp::uint id) override;

private:
  kj::ArrayPtr<const capnp::word> words_;
};

} // namespace detail

/// An immutable Cap'n Proto message of schema struct `S` in one shared, 8-byte aligned buffer.
/// Copies share the bytes. Each use creates a new reader (0.1 µs), because a reader's traversal
/// limit is used up and its arena is not thread-safe.
template <class S>
class frame {
public:
  using reader_type = typename S::Reader;
  using builder_type = typename S::Builder;

  /// An unusable frame; needed by CAF.
  frame() = default;

  /// Parses a body received from outside. Errors: `protocol_error`.
  [[nodiscard]] static result<frame> parse(bytes body) {
    if (auto ok = detail::check_shape(body); !ok)
      return ok.error();
    frame f;
    f.body_ = std::move(body);
    return f;
  }

  /// Builds a message: `fn` fills the root. `words` is a hint for the size of the first allocation.
  template <class F>
  [[nodiscard]] static frame build(F&& fn, std::size_t words = 128) {
    capnp::MallocMessageBuilder builder(static_cast<capnp::uint>(words));
    fn(builder.initRoot<S>());
    frame f;
    f.body_ = detail::flatten(builder);
    return f;
  }

  /// Calls `fn(reader)` and returns its result, a `result<T>`. If `fn` reads a malformed part of
  /// the body, returns `protocol_error`. No reader may outlive the call.
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
