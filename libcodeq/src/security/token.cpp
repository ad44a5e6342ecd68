// SPDX-License-Identifier: Apache-2.0
#include "security/token.hpp"

#include "base/text_encoding.hpp"
#include "security/access_limits.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

namespace codeq::security {

namespace {

constexpr std::string_view token_prefix = "codeq_";
constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t short_digits = 16;

template <class Bytes>
std::string to_hex(const Bytes& bytes) {
  return base::to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

} // namespace

result<std::string> make_token() {
  std::array<std::uint8_t, limits::token_random_bytes> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    return error{errc::unavailable, "the system gives no random numbers"};
  auto token = std::string(token_prefix) + to_hex(random);
  OPENSSL_cleanse(random.data(), random.size());
  return token;
}

token_digest digest_of(std::string_view token) {
  token_digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

bool is_same(const token_digest& a, const token_digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_text(const token_digest& digest) {
  return to_hex(digest);
}

std::optional<token_digest> parse_digest(std::string_view text) {
  token_digest digest{};
  if (text.size() != 2 * digest.size())
    return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    auto high = digits.find(text[2 * i]);
    auto low = digits.find(text[2 * i + 1]);
    if (high == digits.npos || low == digits.npos)
      return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string short_name(const token_digest& digest) {
  return to_hex(digest).substr(0, short_digits);
}

} // namespace codeq::security
