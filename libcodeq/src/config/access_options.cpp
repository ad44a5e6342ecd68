// SPDX-License-Identifier: Apache-2.0
#include "config/access_options.hpp"

#include "base/errors.hpp"
#include "config/value_options.hpp"

#include <utility>

namespace codeq::config {

option file_option(const char* name, std::string help, std::filesystem::path& target) {
  return path_option(name, "FILE", std::move(help), target);
}

void add_access_options(option_set& options, credentials& target) {
  options.add(file_option(
    "token-file",
    "File that contains only the access token [default: none; the token is then taken from "
    "CODEQ_TOKEN]",
    target.token_file));
  options.add(file_option(
    "tls-ca",
    "PEM file with the CAs that must have signed the coordinator's certificate; turns TLS on "
    "[default: no TLS]",
    target.tls_authority));
  options.add(file_option(
    "tls-cert",
    "PEM file with the client's certificate chain, for coordinators that require one [default: "
    "none]",
    target.tls_certificate));
  options.add(file_option(
    "tls-key",
    "PEM file with the key of that certificate, without a password [default: none]",
    target.tls_key));
}

void take_token(credentials& target, const environment& env) {
  // In a program that a worker runs, this variable is the fencing token of its attempt.
  bool is_handler = env("CODEQ_TASK_ID").has_value();
  if (target.token_file.empty() && !is_handler)
    target.token = env("CODEQ_TOKEN").value_or("");
}

error with_advice(error refusal) {
  if (base::is_refused_with(refusal, base::token_required_words))
    refusal.context += "; give one with --token-file or CODEQ_TOKEN";
  else if (base::is_refused_with(refusal, base::no_claim_words))
    refusal.context += "; if the token is for another tenant, give that with --tenant; if it does "
                       "not name the queue, serve others with --queues, or make a token that does";
  return refusal;
}

} // namespace codeq::config
