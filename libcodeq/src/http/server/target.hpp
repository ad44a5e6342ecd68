// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/message.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// What stands in a request's first line and header fields; pure.
namespace codeq::http {

/// Fills path and query of a request target such as `/v1/a%2Fb?x=1`. False when it is malformed: no
/// leading slash, a bad percent escape, or a zero byte.
[[nodiscard]] bool read_target(std::string_view target, request& to);

/// The token of `Authorization: Bearer TOKEN`; empty for anything else.
[[nodiscard]] std::string_view bearer_of(std::string_view authorization) noexcept;

/// True when `host` (`name`, `name:port`, `[::1]:port`) names this machine's loopback.
[[nodiscard]] bool is_loopback_host(std::string_view host) noexcept;

/// True when a page from `origin` (`http://name:port`) is one of this machine's loopback.
[[nodiscard]] bool is_loopback_origin(std::string_view origin) noexcept;

/// The largest body that a request for this target may have, in bytes.
[[nodiscard]] std::size_t body_bytes_max(std::string_view target) noexcept;

/// The client's id of a request if it may be echoed: 1 to 128 printable characters.
[[nodiscard]] std::optional<std::string> usable_request_id(std::string_view given);

} // namespace codeq::http
