// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace codeq::security {

/// PEM files. Empty paths are files that there are not.
struct tls_files {
  /// The own certificate, followed by those between it and the authority.
  std::filesystem::path certificate{};
  std::filesystem::path key{};
  /// Who may vouch for the other side.
  std::filesystem::path authority{};
  /// Of a server: takes nobody in without a certificate. Otherwise one is checked when it is shown.
  bool require_peer_certificate = false;
  /// Of a client: also trusts whom this machine trusts.
  bool trust_system = false;
};

enum class tls_side { server, client };

/// What connections of one side share: TLS 1.3 and nothing older, the own certificate and whom to
/// trust. Immutable; OpenSSL counts its users, so that a connection may outlive this.
class tls_context {
public:
  /// A server needs certificate and key, a client somebody to trust. Errors: `invalid_argument` for
  /// a file that is missing where it is needed; `unavailable` for one that cannot be used, naming
  /// it.
  [[nodiscard]] static result<std::shared_ptr<const tls_context>>
  load(const tls_files& files, tls_side side);

  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  /// An `SSL_CTX`, owned by this; whoever keeps it calls `SSL_CTX_up_ref`.
  [[nodiscard]] ssl_ctx_st* native() const noexcept { return native_; }

private:
  explicit tls_context(ssl_ctx_st* native) : native_(native) {}

  ssl_ctx_st* native_;
};

/// The context in force, read from files and replaced as a whole; connections that exist keep
/// theirs. Thread-safe.
class tls_source {
public:
  /// Errors: of `tls_context::load`.
  [[nodiscard]] static result<std::shared_ptr<tls_source>> open(tls_files files, tls_side side);

  /// Never null.
  [[nodiscard]] std::shared_ptr<const tls_context> current() const;

  /// Reads the files again. After an error the old context stays in force.
  [[nodiscard]] result<void> reload();

private:
  tls_source(tls_files files, tls_side side) : files_(std::move(files)), side_(side) {}

  tls_files files_;
  tls_side side_;
  mutable std::mutex mutex_;
  std::shared_ptr<const tls_context> context_;
};

/// Has the peer's certificate name `host`, a name or an address. False when it can be neither.
[[nodiscard]] bool expect_name(ssl_st* connection, const std::string& host);

/// What OpenSSL says of the calling thread's latest failure; forgets it.
[[nodiscard]] std::string take_tls_error();

} // namespace codeq::security
