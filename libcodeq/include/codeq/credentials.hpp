// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace codeq {

/// How a client authenticates to the coordinator, and which CAs it trusts. A token is never sent
/// without TLS, except to a loopback address.
struct credentials {
  /// Bearer token; empty for a coordinator that needs none (`--dev`).
  std::string token{};
  /// File that holds only the token, in place of `token`; read again for each connection.
  std::filesystem::path token_file{};
  /// PEM file of the CA certificates that the coordinator's certificate is verified against; the
  /// certificate must also name the host that was dialled. Empty: no TLS.
  std::filesystem::path tls_authority{};
  /// PEM files of the client's certificate chain and its key: both or neither, and only with
  /// `tls_authority`.
  std::filesystem::path tls_certificate{};
  std::filesystem::path tls_key{};
};

} // namespace codeq
