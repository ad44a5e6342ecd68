// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "security/tls_context.hpp"

#include <filesystem>
#include <memory>
#include <string>

struct evp_pkey_st;
struct x509_st;

namespace codeq::test {

/// A certificate authority for tests; its files are in one directory.
class certificate_authority {
public:
  /// Writes `NAME-ca.pem`.
  certificate_authority(std::filesystem::path directory, std::string name);
  ~certificate_authority();

  /// Issues a certificate for `subject` with these alternative names, for example `DNS:localhost`
  /// or `IP:127.0.0.1`. Returns its files, which replace those of an earlier certificate for
  /// `subject`.
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
