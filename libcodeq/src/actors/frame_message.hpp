// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/frame.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

namespace caf {

/// A `frame<S>` is passed between actors of one process as it is: its buffer is shared. No CAF
/// message ever leaves a process, so none has a type id or an `inspect`.
template <class S>
struct allowed_unsafe_message_type<codeq::protocol::frame<S>> : std::true_type {};

} // namespace caf

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::protocol::wire_frame)
