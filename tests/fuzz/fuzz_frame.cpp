// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "protocol/messages.hpp"
#include "transport/framing.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

/// Reads frames until one is refused or incomplete.
void read_stream(std::string_view stream) {
  using namespace codeq;
  while (stream.size() >= protocol::frame_header_bytes) {
    auto header = transport::parse_header(
      stream.substr(0, protocol::frame_header_bytes), tuning::frame_bytes_max);
    if (!header)
      return;
    if (header->length == 0 || header->length > tuning::frame_bytes_max)
      std::abort();
    stream.remove_prefix(protocol::frame_header_bytes);
    if (stream.size() < header->length)
      return;
    auto body = stream.substr(0, header->length);
    stream.remove_prefix(header->length);
    protocol::wire_frame frame{
      header->type, transport::take_body(std::vector<char>(body.begin(), body.end()))};
    static_cast<void>(protocol::visit_frame(frame, [&](const auto& typed) {
      // A frame that was read must be written with the same bytes.
      std::vector<char> again;
      transport::append_frame(typed.to_wire(), again);
      if (std::string_view(again.data(), again.size()).substr(protocol::frame_header_bytes) != body)
        std::abort();
    }));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  read_stream({reinterpret_cast<const char*>(data), size});
  return 0;
}
