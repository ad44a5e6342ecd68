// SPDX-License-Identifier: Apache-2.0
#include "security/tls_context.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace codeq::security {

namespace {

/// Maximum size of a peer's certificate chain.
constexpr long certificate_chain_bytes_max = 32 << 10;

/// A key with a password is refused; there is no one to enter it.
int no_password(char*, int, int, void*) {
  return 0;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1
         || ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

error missing(const char* what) {
  return {errc::invalid_argument, std::string("TLS needs ") + what};
}

error unusable(const char* what, const std::filesystem::path& file) {
  auto reason = take_tls_error();
  // OpenSSL does not say why a file cannot be opened.
  if (!file.empty() && ::access(file.c_str(), R_OK) != 0)
    reason = std::generic_category().message(errno);
  return {errc::unavailable, std::string(what) + " " + file.string() + ": " + reason};
}

/// A reason of OpenSSL, and what an operator should know about it.
struct described_reason {
  std::string_view reason;
  std::string_view words;
};

constexpr auto described_reasons = std::to_array<described_reason>({
  {"no start line", "it is not a PEM file of that kind"},
  {"no certificate or crl found", "it is not a PEM file with certificates"},
  {"bad base64 decode", "it is a damaged PEM file"},
  {"key values mismatch", "it is not the key of the certificate"},
  {"bad password read", "it has a password; a key without one is needed"},
  {"wrong version number", "the peer does not speak TLS"},
  {"packet length too long", "the peer does not speak TLS"},
  {"unsupported protocol", "the peer does not speak TLS 1.3"},
  {"tlsv1 alert protocol version", "the peer does not speak TLS 1.3"},
  {"peer did not return a certificate", "the peer showed no certificate, but one is required"},
  {"tlsv13 alert certificate required",
   "the peer requires a certificate, which --tls-cert and --tls-key give"},
  {"tlsv1 alert unknown ca", "the peer knows no authority that signed the certificate shown to it"},
  {"sslv3 alert bad certificate", "the peer refused the certificate shown to it"},
  {"sslv3 alert certificate expired", "the certificate shown to the peer has expired"},
});

result<void> check_files(const tls_files& files, tls_side side) {
  if (files.certificate.empty() != files.key.empty())
    return missing("certificate and key together");
  if (side == tls_side::server && files.certificate.empty())
    return missing("a certificate and its key");
  if (side == tls_side::client && files.authority.empty() && !files.trust_system)
    return missing("the certificates of an authority, to know the coordinator");
  if (files.require_peer_certificate && files.authority.empty())
    return missing("the certificates of an authority, to require certificates of peers");
  return {};
}

result<void> use(SSL_CTX* context, const tls_files& files) {
  if (!files.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
      return unusable("certificate", files.certificate);
    if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
      return unusable("key", files.key);
    if (SSL_CTX_check_private_key(context) != 1)
      return unusable("key", files.key);
  }
  if (files.trust_system && SSL_CTX_set_default_verify_paths(context) != 1)
    return unusable("this machine's authorities", {});
  if (files.authority.empty())
    return {};
  if (SSL_CTX_load_verify_file(context, files.authority.c_str()) != 1)
    return unusable("authority", files.authority);
  return {};
}

int verification(const tls_files& files, tls_side side) {
  if (side == tls_side::client)
    return SSL_VERIFY_PEER;
  if (files.authority.empty())
    return SSL_VERIFY_NONE;
  return files.require_peer_certificate ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                        : SSL_VERIFY_PEER;
}

} // namespace

result<std::shared_ptr<const tls_context>>
tls_context::load(const tls_files& files, tls_side side) {
  if (auto ok = check_files(files, side); !ok)
    return ok.error();
  ERR_clear_error();
  SSL_CTX* native =
    SSL_CTX_new(side == tls_side::server ? TLS_server_method() : TLS_client_method());
  if (!native)
    return error{errc::unavailable, "TLS: " + take_tls_error()};
  std::shared_ptr<const tls_context> context(new tls_context(native));
  SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION);
  SSL_CTX_set_default_passwd_cb(native, no_password);
  SSL_CTX_set_max_cert_list(native, certificate_chain_bytes_max);
  // No session resumption: connections are long-lived, and a ticket would outlive a revoked
  // certificate.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(native, verification(files, side), nullptr);
  if (auto ok = use(native, files); !ok)
    return ok.error();
  return context;
}

tls_context::~tls_context() {
  SSL_CTX_free(native_);
}

result<std::shared_ptr<tls_source>> tls_source::open(tls_files files, tls_side side) {
  std::shared_ptr<tls_source> source(new tls_source(std::move(files), side));
  if (auto ok = source->reload(); !ok)
    return ok.error();
  return source;
}

std::shared_ptr<const tls_context> tls_source::current() const {
  std::lock_guard lock(mutex_);
  return context_;
}

result<void> tls_source::reload() {
  auto fresh = tls_context::load(files_, side_);
  if (!fresh)
    return fresh.error();
  std::lock_guard lock(mutex_);
  context_ = std::move(*fresh);
  return {};
}

bool expect_name(SSL* native, const std::string& host) {
  SSL_set_hostflags(native, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (is_address(host))
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(native), host.c_str()) == 1;
  return SSL_set1_host(native, host.c_str()) == 1
         && SSL_set_tlsext_host_name(native, host.c_str()) == 1;
}

std::string take_tls_error() {
  auto code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason ? describe_tls_reason(reason) : "it cannot be used";
}

std::string describe_tls_reason(std::string_view reason) {
  for (const auto& known : described_reasons)
    if (reason.find(known.reason) != std::string_view::npos)
      return std::string(known.words) + " (" + std::string(known.reason) + ")";
  return std::string(reason);
}

std::string certificate_fault(long verified) {
  std::string text = X509_verify_cert_error_string(verified);
  switch (verified) {
  case X509_V_ERR_HOSTNAME_MISMATCH:
  case X509_V_ERR_IP_ADDRESS_MISMATCH:
    return "the peer's certificate does not name the host that was dialled (" + text + ")";
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    return "no authority of --tls-ca signed the peer's certificate (" + text + ")";
  case X509_V_ERR_CERT_HAS_EXPIRED:
    return "the peer's certificate has expired";
  case X509_V_ERR_CERT_NOT_YET_VALID:
    return "the peer's certificate is not valid yet; or a clock is wrong";
  default:
    return "the peer's certificate is refused: " + text;
  }
}

} // namespace codeq::security
