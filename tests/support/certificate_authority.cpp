// SPDX-License-Identifier: Apache-2.0
#include "support/certificate_authority.hpp"

#include <cstdio>
#include <random>
#include <stdexcept>
#include <utility>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace codeq::test {

namespace {

constexpr long lifetime_seconds = 24 * 60 * 60;

void require(bool ok) {
  if (!ok)
    throw std::runtime_error("a certificate cannot be made");
}

void add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  auto* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  require(extension && X509_add_ext(to, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

/// Creates a certificate without a signature.
X509* make_certificate(const std::string& subject, EVP_PKEY* key) {
  X509* made = X509_new();
  require(made);
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), static_cast<long>(std::random_device{}() >> 1));
  X509_gmtime_adj(X509_getm_notBefore(made), -lifetime_seconds);
  X509_gmtime_adj(X509_getm_notAfter(made), lifetime_seconds);
  X509_set_pubkey(made, key);
  X509_NAME_add_entry_by_txt(
    X509_get_subject_name(made),
    "CN",
    MBSTRING_ASC,
    reinterpret_cast<const unsigned char*>(subject.c_str()),
    -1,
    -1,
    0);
  return made;
}

template <class Write>
void write_file(const std::filesystem::path& path, Write&& write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  require(file && write(file) == 1);
  std::fclose(file);
}

void write_certificate(const std::filesystem::path& path, X509* certificate) {
  write_file(path, [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
}

} // namespace

certificate_authority::certificate_authority(std::filesystem::path directory, std::string name)
  : directory_(std::move(directory)), name_(std::move(name)), key_(EVP_EC_gen("P-256")) {
  require(key_);
  certificate_ = make_certificate(name_, key_);
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  add_extension(certificate_, certificate_, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate_, certificate_, NID_key_usage, "critical,keyCertSign");
  require(X509_sign(certificate_, key_, EVP_sha256()) > 0);
  write_certificate(file(), certificate_);
}

certificate_authority::~certificate_authority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

std::filesystem::path certificate_authority::file() const {
  return directory_ / (name_ + "-ca.pem");
}

security::tls_files certificate_authority::issue(
  const std::string& subject, const std::string& alternative_names) const {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  require(key);
  X509* made = make_certificate(subject, key);
  X509_set_issuer_name(made, X509_get_subject_name(certificate_));
  add_extension(made, certificate_, NID_subject_alt_name, alternative_names);
  require(X509_sign(made, key_, EVP_sha256()) > 0);
  security::tls_files files;
  files.certificate = directory_ / (subject + ".pem");
  files.key = directory_ / (subject + ".key");
  files.authority = file();
  write_certificate(files.certificate, made);
  write_file(files.key, [&](std::FILE* to) {
    return PEM_write_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  X509_free(made);
  EVP_PKEY_free(key);
  return files;
}

} // namespace codeq::test
