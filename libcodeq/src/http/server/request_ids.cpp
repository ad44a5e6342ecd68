// SPDX-License-Identifier: Apache-2.0
#include "http/server/request_ids.hpp"

#include "base/text_encoding.hpp"
#include "http/server/target.hpp"

#include <array>

namespace codeq::http {

std::string request_ids::id_for(std::string_view given) {
  if (auto usable = usable_request_id(given))
    return std::move(*usable);
  std::array<std::uint64_t, 2> bits{bits_(), bits_()};
  return base::to_hex({reinterpret_cast<const char*>(bits.data()), sizeof(bits)});
}

} // namespace codeq::http
