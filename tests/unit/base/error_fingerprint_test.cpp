// SPDX-License-Identifier: Apache-2.0
#include "base/error_fingerprint.hpp"

#include <gtest/gtest.h>

namespace codeq::base {
namespace {

TEST(ErrorFingerprint, NumbersAndIdsAreLeftOut) {
  EXPECT_EQ(fingerprint_of("no order 17"), "no order #");
  EXPECT_EQ(
    fingerprint_of("task 550e8400-e29b-41d4-a716-446655440000 failed"), "task # failed");
  EXPECT_EQ(fingerprint_of("order-17 of user_4b is gone"), "# of # is gone");
  EXPECT_EQ(fingerprint_of("commit deadbeefcafe is unknown"), "commit # is unknown");
  EXPECT_EQ(fingerprint_of("the facade is a decade old"), "the facade is a decade old");
}

TEST(ErrorFingerprint, AddressesTimesAndDecimalsAreOneNumber) {
  EXPECT_EQ(fingerprint_of("10.0.0.17:8080 refused"), "# refused");
  EXPECT_EQ(fingerprint_of("at 2026-05-20T10:00:00Z: timeout after 1.5s"), "at #: timeout after #");
  EXPECT_EQ(fingerprint_of("load 3.14."), "load #.");
  EXPECT_EQ(fingerprint_of("1, 2 and 3"), "#, # and #");
}

TEST(ErrorFingerprint, ErrorsOfOneKindHaveTheSame) {
  EXPECT_EQ(
    fingerprint_of("HTTP 503 from 10.1.2.3:80 (try 4)"),
    fingerprint_of("HTTP 503 from 192.168.0.255:8080 (try 17)"));
  EXPECT_NE(fingerprint_of("disk is full"), fingerprint_of("disk is slow"));
}

TEST(ErrorFingerprint, IsOfTheFirstLineAndBounded) {
  EXPECT_EQ(fingerprint_of("failed\nat line 17\n"), "failed");
  EXPECT_EQ(fingerprint_of(""), "");
  EXPECT_EQ(fingerprint_of(std::string(5000, 'x')).size(), fingerprint_bytes_max);
}

TEST(ErrorFingerprint, OtherAlphabetsStay) {
  EXPECT_EQ(fingerprint_of("Größe 17 überschritten"), "Größe # überschritten");
}

} // namespace
} // namespace codeq::base
