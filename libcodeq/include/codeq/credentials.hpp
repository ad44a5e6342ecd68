// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace codeq {

/// What a node shows to a coordinator, and by what it knows the coordinator. A token is never sent
/// to an address that is not loopback without TLS.
struct credentials {
  /// Bearer token; empty where the coordinator takes everybody in (`--dev`).
  std::string token{};
  /// File that holds the token and nothing else, in place of `token`; read at the start.
  std::filesystem::path token_file{};
  /// PEM file with the certificates of those who may vouch for a coordinator. Empty: no TLS. With
  /// it the coordinator's certificate has to name the host that was dialled.
  std::filesystem::path tls_authority{};
  /// PEM files of the own certificate chain and its key, both or neither; with `tls_authority`
  /// only.
  std::filesystem::path tls_certificate{};
  std::filesystem::path tls_key{};
};

} // namespace codeq
