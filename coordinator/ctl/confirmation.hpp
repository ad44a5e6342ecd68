// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ctl/command.hpp"

#include <optional>
#include <string>

namespace codeq::ctl {

/// `--yes`.
[[nodiscard]] config::option confirmation_option(bool& is_confirmed);

/// Asks on the terminal whether to go on with something that cannot be undone. `effect` is a clause
/// such as "removes every task of queue `q` for good". Returns nothing when it was confirmed, else
/// the exit status, after a message.
[[nodiscard]] std::optional<int>
refuse_unconfirmed(const context& with, bool is_confirmed, const std::string& effect);

} // namespace codeq::ctl
