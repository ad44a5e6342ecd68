// SPDX-License-Identifier: Apache-2.0
#include "transport/tls_stream.hpp"

#include <algorithm>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace codeq::transport {

namespace {

/// Size of writes, which bounds the encrypted bytes that are buffered in addition to the plain
/// ones.
constexpr std::size_t write_bytes = 64u << 10;

/// A native stream on two memory buffers; null when out of memory.
SSL* make_native(const security::tls_context& context) {
  SSL* native = SSL_new(context.native());
  BIO* incoming = BIO_new(BIO_s_mem());
  BIO* outgoing = BIO_new(BIO_s_mem());
  if (!native || !incoming || !outgoing) {
    SSL_free(native);
    BIO_free(incoming);
    BIO_free(outgoing);
    return nullptr;
  }
  // An empty buffer does not mean the end of the connection.
  BIO_set_mem_eof_return(incoming, -1);
  BIO_set_mem_eof_return(outgoing, -1);
  SSL_set_bio(native, incoming, outgoing);
  return native;
}

} // namespace

tls_stream::tls_stream(ssl_st* native) : native_(native) {
}

tls_stream::~tls_stream() {
  SSL_free(native_);
}

std::unique_ptr<tls_stream> tls_stream::accept(const security::tls_context& context) {
  auto* native = make_native(context);
  if (!native)
    return nullptr;
  SSL_set_accept_state(native);
  return std::unique_ptr<tls_stream>(new tls_stream(native));
}

std::unique_ptr<tls_stream>
tls_stream::connect(const security::tls_context& context, const std::string& host) {
  auto* native = make_native(context);
  if (!native)
    return nullptr;
  std::unique_ptr<tls_stream> stream(new tls_stream(native));
  SSL_set_connect_state(native);
  return security::expect_name(native, host) ? std::move(stream) : nullptr;
}

void tls_stream::put_received(std::string_view received) {
  BIO_write(SSL_get_rbio(native_), received.data(), static_cast<int>(received.size()));
}

result<bool> tls_stream::shake_hands() {
  if (established_)
    return true;
  ERR_clear_error();
  int status = SSL_do_handshake(native_);
  if (status != 1 && SSL_get_error(native_, status) == SSL_ERROR_WANT_READ)
    return false;
  if (status != 1)
    return fault("TLS handshake failed");
  established_ = true;
  return true;
}

result<std::size_t> tls_stream::read(char* to, std::size_t size) {
  ERR_clear_error();
  std::size_t count = 0;
  int status = SSL_read_ex(native_, to, size, &count);
  if (status == 1)
    return count;
  switch (SSL_get_error(native_, status)) {
  case SSL_ERROR_WANT_READ:
    return std::size_t{0};
  case SSL_ERROR_ZERO_RETURN:
    return error{errc::disconnected, "the peer closed the connection"};
  default:
    return fault("TLS failed");
  }
}

result<void> tls_stream::write(std::string_view frame, std::vector<char>& out) {
  if (!established_) {
    waiting_ += frame;
    return {};
  }
  if (!waiting_.empty()) {
    auto earlier = std::exchange(waiting_, {});
    if (auto ok = write(earlier, out); !ok)
      return ok;
  }
  while (!frame.empty()) {
    ERR_clear_error();
    std::size_t count = 0;
    int status = SSL_write_ex(native_, frame.data(), std::min(frame.size(), write_bytes), &count);
    if (status != 1)
      return fault("TLS failed");
    frame.remove_prefix(count);
    take_to_send(out);
  }
  return {};
}

void tls_stream::end_writing() {
  ERR_clear_error();
  if (established_)
    SSL_shutdown(native_);
  ERR_clear_error();
}

void tls_stream::take_to_send(std::vector<char>& out) {
  auto* outgoing = SSL_get_wbio(native_);
  auto count = BIO_ctrl_pending(outgoing);
  if (count == 0)
    return;
  auto before = out.size();
  out.resize(before + count);
  BIO_read(outgoing, out.data() + before, static_cast<int>(count));
}

error tls_stream::fault(const char* what) {
  auto verified = SSL_get_verify_result(native_);
  auto text = std::string(what) + ": " + security::take_tls_error();
  if (verified == X509_V_OK)
    return {errc::protocol_error, std::move(text)};
  return {errc::unauthorized, std::string(what) + ": " + security::certificate_fault(verified)};
}

} // namespace codeq::transport
