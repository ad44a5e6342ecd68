// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace codeq::security {

/// PEM files. An empty path means that there is no such file.
struct tls_files {
  /// The own certificate, followed by the intermediate certificates.
  std::filesystem::path certificate{};
  std::filesystem::path key{};
  /// CA certificates that the peer's certificate is verified against.
  std::filesystem::path authority{};
  /// Server: refuse clients without a certificate. Otherwise a certificate is verified if
  /// presented.
  bool require_peer_certificate = false;
  /// Client: also trust the CAs of the system.
  bool trust_system = false;
};

enum class tls_side { server, client };

/// TLS configuration shared by all connections of one side: TLS 1.3 only, the own certificate, and
/// the trusted CAs. Immutable. OpenSSL counts references, so a connection may outlive this object.
class tls_context {
public:
  /// A server needs a certificate and a key, a client a CA to trust. Errors: `invalid_argument`
  /// when a required file is not given; `unavailable` for a file that cannot be used, naming it.
  [[nodiscard]] static result<std::shared_ptr<const tls_context>>
  load(const tls_files& files, tls_side side);

  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  /// The `SSL_CTX`, owned by this object; call `SSL_CTX_up_ref` to keep it.
  [[nodiscard]] ssl_ctx_st* native() const noexcept { return native_; }

private:
  explicit tls_context(ssl_ctx_st* native) : native_(native) {}

  ssl_ctx_st* native_;
};

/// The current TLS context, loaded from files and replaced as a whole; existing connections keep
/// theirs. Thread-safe.
class tls_source {
public:
  /// Errors: of `tls_context::load`.
  [[nodiscard]] static result<std::shared_ptr<tls_source>> open(tls_files files, tls_side side);

  /// Never null.
  [[nodiscard]] std::shared_ptr<const tls_context> current() const;

  /// Reads the files again. After an error the old context stays in use.
  [[nodiscard]] result<void> reload();

private:
  tls_source(tls_files files, tls_side side) : files_(std::move(files)), side_(side) {}

  tls_files files_;
  tls_side side_;
  mutable std::mutex mutex_;
  std::shared_ptr<const tls_context> context_;
};

/// Requires that the peer's certificate names `host`, a name or an address. False when `host` is
/// neither.
[[nodiscard]] bool expect_name(ssl_st* connection, const std::string& host);

/// Describes the calling thread's latest failure in OpenSSL, in words for an operator, and clears
/// it.
[[nodiscard]] std::string take_tls_error();

/// Why a peer's certificate was refused, in words for an operator. `verified` is the result of
/// `SSL_get_verify_result`.
[[nodiscard]] std::string certificate_fault(long verified);

/// Describes an OpenSSL reason, as its error texts name it, in words for an operator.
[[nodiscard]] std::string describe_tls_reason(std::string_view reason);

} // namespace codeq::security
