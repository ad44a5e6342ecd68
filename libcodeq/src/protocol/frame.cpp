// SPDX-License-Identifier: Apache-2.0
#include "protocol/frame.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace codeq::protocol::detail {

namespace {

/// Nesting in our schema is below 8; deeper nesting is an attack on the stack.
constexpr int nesting_limit = 16;

capnp::ReaderOptions options_for(std::size_t body_bytes) {
  capnp::ReaderOptions options;
  // Twice the words, because lists of structs are counted twice when read, plus some for empty
  // messages. The limit is still proportional to the bytes that the peer really sent.
  options.traversalLimitInWords = body_bytes / sizeof(capnp::word) * 2 + 64;
  options.nestingLimit = nesting_limit;
  return options;
}

} // namespace

bytes flatten(capnp::MallocMessageBuilder& builder) {
  auto segments = builder.getSegmentsForOutput();
  if (segments.size() == 1) {
    // As integers, since a `capnp::word` need not be copyable.
    auto* begin = reinterpret_cast<const std::uint64_t*>(segments[0].begin());
    auto words = std::make_shared<std::vector<std::uint64_t>>(begin, begin + segments[0].size());
    auto size = words->size() * sizeof(std::uint64_t);
    return {words, {reinterpret_cast<const char*>(words->data()), size}};
  }
  // The message did not fit into the first allocation: copy it into one segment.
  std::size_t words_needed = 1;
  for (auto segment : segments)
    words_needed += segment.size();
  capnp::MallocMessageBuilder single(static_cast<capnp::uint>(words_needed));
  auto root = builder.getRoot<capnp::AnyPointer>();
  single.setRoot(root.asReader());
  return flatten(single);
}

result<void> check_shape(const bytes& body) {
  if (body.size() == 0 || body.size() % sizeof(capnp::word) != 0)
    return error{
      errc::protocol_error,
      "message body of " + std::to_string(body.size()) + " bytes is not a positive multiple of 8"};
  if (reinterpret_cast<std::uintptr_t>(body.data()) % alignof(capnp::word) != 0)
    return error{errc::protocol_error, "message body is not aligned to 8 bytes"};
  return {};
}

error malformed(const kj::Exception& e) {
  return {errc::protocol_error, std::string("malformed message: ") + e.getDescription().cStr()};
}

segment_reader::segment_reader(const bytes& body)
  : capnp::MessageReader(options_for(body.size())),
    words_(reinterpret_cast<const capnp::word*>(body.data()), body.size() / sizeof(capnp::word)) {
}

kj::ArrayPtr<const capnp::word> segment_reader::getSegment(capnp::uint id) {
  return id == 0 ? words_ : nullptr;
}

} // namespace codeq::protocol::detail
