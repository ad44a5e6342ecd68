// SPDX-License-Identifier: Apache-2.0
#include "protocol/error_code.hpp"

#include <array>

namespace codeq::protocol {

namespace {

/// Index i contains the code that has number i in the schema.
constexpr std::array codes{
  errc::none,
  errc::invalid_argument,
  errc::too_large,
  errc::protocol_error,
  errc::unauthorized,
  errc::unsupported,
  errc::stale_lease,
  errc::unknown_task,
  errc::duplicate,
  errc::key_taken,
  errc::session_expired,
  errc::name_in_use,
  errc::superseded,
  errc::already,
  errc::overloaded,
  errc::queue_full,
  errc::going_away,
  errc::disconnected,
  errc::timeout,
  errc::disk_full,
  errc::io_error,
  errc::corruption,
  errc::incompatible_store,
  errc::unavailable,
  errc::unknown_queue,
  errc::unknown_schedule,
  errc::not_owner,
  errc::unknown_limit,
  errc::not_completed,
};

} // namespace

schema::ErrorCode to_schema(errc code) noexcept {
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] == code)
      return static_cast<schema::ErrorCode>(i);
  return schema::ErrorCode::UNAVAILABLE;
}

errc from_schema(schema::ErrorCode code) noexcept {
  auto index = static_cast<std::size_t>(code);
  return index < codes.size() ? codes[index] : errc::unsupported;
}

} // namespace codeq::protocol
