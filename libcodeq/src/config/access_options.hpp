// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/result.hpp"

#include "config/option_set.hpp"

#include <string>

namespace codeq::config {

/// An option that stores a file name in `target`, which must outlive the option.
[[nodiscard]] option file_option(const char* name, std::string help, std::filesystem::path& target);

/// `--token-file` and the TLS options of a program that connects to coordinators; `target` must
/// outlive them.
void add_access_options(option_set& options, credentials& target);

/// Reads the token from `CODEQ_TOKEN`, unless a token file is given. There is no flag for the
/// token, because every user of the machine could see it in the command line. In the environment of
/// a handler's program the variable has another meaning and is ignored.
void take_token(credentials& target, const environment& env);

/// The reason why a coordinator refused a program, with the options that help when it wants a token
/// or another one; otherwise unchanged. Goes by the texts of coordinators, which know no options.
[[nodiscard]] error with_advice(error refusal);

} // namespace codeq::config
