// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/message.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Functions for the request's first line and header fields; pure.
namespace codeq::http {

/// Sets path and query from a request target such as `/v1/a%2Fb?x=1`. False when the target is
/// malformed: it has no leading slash, a malformed percent escape, or a zero byte.
[[nodiscard]] bool read_target(std::string_view target, request& to);

/// The token of `Authorization: Bearer TOKEN`; empty for any other value.
[[nodiscard]] std::string_view bearer_of(std::string_view authorization) noexcept;

/// True when `host` (`name`, `name:port`, `[::1]:port`) names this machine's loopback.
[[nodiscard]] bool is_loopback_host(std::string_view host) noexcept;

/// True when `origin` (`http://name:port`) names this machine's loopback.
[[nodiscard]] bool is_loopback_origin(std::string_view origin) noexcept;

/// The largest body that a request for this target may have, in bytes.
[[nodiscard]] std::size_t body_bytes_max(std::string_view target) noexcept;

/// The client's request id when it may be echoed, that is, has 1 to 128 printable characters.
[[nodiscard]] std::optional<std::string> usable_request_id(std::string_view given);

} // namespace codeq::http
