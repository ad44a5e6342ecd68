// SPDX-License-Identifier: Apache-2.0
#include "etcd/member_url.hpp"

#include <gtest/gtest.h>

namespace codeq::etcd {
namespace {

TEST(EtcdMemberUrl, IsReadAndWritten) {
  for (const char* text : {"http://127.0.0.1:2379", "https://etcd-1:443", "http://[::1]:80"}) {
    const auto url = parse_member_url(text);
    ASSERT_TRUE(url) << to_string(url.error());
    EXPECT_EQ(to_string(*url), text);
  }
}

TEST(EtcdMemberUrl, HasEtcdsPortUnlessGiven) {
  EXPECT_EQ(parse_member_url("https://a/").value(), (member_url{true, "a", "2379"}));
  EXPECT_EQ(parse_member_url("http://[fe80::1]").value(), (member_url{false, "fe80::1", "2379"}));
}

TEST(EtcdMemberUrl, RefusalSaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
    {"", "begin with http"},
    {"127.0.0.1:2379", "begin with http"},
    {"ftp://a:1", "begin with http"},
    {"http://", "the host may"},
    {"http://:2379", "the host may"},
    {"http://a/b", "the host may"},
    {"http://user@a:1", "the host may"},
    {"http://[::1", "no closing bracket"},
    {"http://[::1]x", "followed by a port"},
    {"http://a:0", "port from 1 to 65535"},
    {"http://a:65536", "port from 1 to 65535"},
    {"http://a:99999999999999", "port from 1 to 65535"},
    {"http://a:8x", "port from 1 to 65535"},
    {"http://a:", "port from 1 to 65535"},
  };
  for (const auto& [text, words] : cases) {
    const auto url = parse_member_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, errc::invalid_argument);
    EXPECT_NE(url.error().context.find(words), std::string::npos) << url.error().context;
  }
  EXPECT_FALSE(parse_member_url("http://" + std::string(400, 'a')));
}

TEST(EtcdMemberUrls, AreSeparatedByCommas) {
  const auto urls = parse_member_urls("http://a,http://b:1");
  ASSERT_TRUE(urls);
  ASSERT_EQ(urls->size(), 2u);
  EXPECT_EQ(to_string(urls->back()), "http://b:1");
}

TEST(EtcdMemberUrls, RefuseDoublesMixesAndTooMany) {
  EXPECT_FALSE(parse_member_urls(""));
  EXPECT_FALSE(parse_member_urls("http://a,"));
  EXPECT_FALSE(parse_member_urls("http://a,http://a:2379"));
  EXPECT_FALSE(parse_member_urls("http://a,https://b"));
  std::string ten = "http://a0";
  for (int i = 1; i < 10; ++i)
    ten += ",http://a" + std::to_string(i);
  EXPECT_EQ(parse_member_urls(ten).error().context, "more than 9 URLs of etcd");
}

} // namespace
} // namespace codeq::etcd
