// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "security/tls_context.hpp"

#include <filesystem>
#include <memory>
#include <string>

struct evp_pkey_st;
struct x509_st;

namespace codeq::test {

/// Vouches for certificates of tests, in files of a directory.
class certificate_authority {
public:
  /// Writes `NAME-ca.pem`.
  certificate_authority(std::filesystem::path directory, std::string name);
  ~certificate_authority();

  /// Issues a certificate for `subject` under these alternative names, as in `DNS:localhost` or
  /// `IP:127.0.0.1`, and names its files, which are replaced when they are there.
  [[nodiscard]] security::tls_files
  issue(const std::string& subject, const std::string& alternative_names) const;

  /// The file of the authority's own certificate.
  [[nodiscard]] std::filesystem::path file() const;

private:
  std::filesystem::path directory_;
  std::string name_;
  evp_pkey_st* key_;
  x509_st* certificate_;
};

} // namespace codeq::test
