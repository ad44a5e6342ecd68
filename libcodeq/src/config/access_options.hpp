// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"

#include "config/option_set.hpp"

#include <string>

namespace codeq::config {

/// A file whose name `target` gets; it must outlive the option.
[[nodiscard]] option file_option(const char* name, std::string help, std::filesystem::path& target);

/// `--token-file` and the TLS options of a program that connects to coordinators; `target` must
/// outlive them.
void add_access_options(option_set& options, credentials& target);

/// Takes the token of `CODEQ_TOKEN` unless there is a file with one: a token on the command line
/// could be seen by everybody on the machine, so there is no flag for it. In the environment of a
/// handler's program that name means something else and is left alone.
void take_token(credentials& target, const environment& env);

} // namespace codeq::config
