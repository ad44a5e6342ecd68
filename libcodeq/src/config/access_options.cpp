// SPDX-License-Identifier: Apache-2.0
#include "config/access_options.hpp"

#include "config/value_options.hpp"

#include <utility>

namespace codeq::config {

option file_option(const char* name, std::string help, std::filesystem::path& target) {
  return path_option(name, "FILE", std::move(help), target);
}

void add_access_options(option_set& options, credentials& target) {
  options.add(file_option(
    "token-file",
    "File that holds the access token and nothing else; without it the token is taken from "
    "CODEQ_TOKEN [default: none]",
    target.token_file));
  options.add(file_option(
    "tls-ca",
    "PEM file with the certificates of those who may vouch for a coordinator; turns TLS on "
    "[default: no TLS]",
    target.tls_authority));
  options.add(file_option(
    "tls-cert",
    "PEM file with the own certificate chain, for coordinators that ask for one [default: none]",
    target.tls_certificate));
  options.add(file_option(
    "tls-key", "PEM file with its key, without a password [default: none]", target.tls_key));
}

void take_token(credentials& target, const environment& env) {
  // In a program that a worker runs, this variable is the fencing token of its attempt.
  bool is_handler = env("CODEQ_TASK_ID").has_value();
  if (target.token_file.empty() && !is_handler)
    target.token = env("CODEQ_TOKEN").value_or("");
}

} // namespace codeq::config
