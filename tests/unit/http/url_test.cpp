// SPDX-License-Identifier: Apache-2.0
#include "http/server/outgoing.hpp"
#include "http/server/url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::http {
namespace {

std::string read(const std::string& text) {
  auto url = parse_url(text);
  if (!url)
    return "refused";
  return std::string(url->is_secured ? "secured " : "plain ") + url->host + ' ' + url->port + ' '
         + url->target;
}

TEST(Url, IsReadByItsParts) {
  EXPECT_EQ("plain a.example 80 /", read("http://a.example"));
  EXPECT_EQ("secured a.example 443 /x/y?z=1&b", read("HTTPS://a.example/x/y?z=1&b"));
  EXPECT_EQ("plain localhost 8080 /?q", read("http://localhost:8080?q"));
  EXPECT_EQ("secured ::1 8443 /", read("https://[::1]:8443/"));
}

TEST(Url, WhatIsNoneIsRefused) {
  for (const char* text :
       {"",
        "http:/",
        "http://",
        "ftp://a",
        "//a",
        "a.example",
        "http://:80",
        "http://a:",
        "http://a:0",
        "http://a:65536",
        "http://a:8x",
        "http://u@a",
        "http://u:p@a/",
        "http://a b/",
        "http://a/\n",
        "http://a/\xc3\xa4",
        "http://a/#x",
        "http://[::1",
        "http://[::1]x",
        "http://a\\@b",
        "http://[]/",
        "http://a%2e/"})
    EXPECT_EQ("refused", read(text)) << text;
  EXPECT_EQ("refused", read("http://a/" + std::string(2048, 'x')));
}

TEST(Url, HostFieldHasTheUnusualPort) {
  EXPECT_EQ("a", host_field(*parse_url("http://a:80")));
  EXPECT_EQ("a:443", host_field(*parse_url("http://a:443")));
  EXPECT_EQ("[::1]:1", host_field(*parse_url("https://[::1]:1")));
}

TEST(Url, EscapesWhatIsNotPlain) {
  EXPECT_EQ("aZ9-._~%2F%20%25%C3%A4", escape("aZ9-._~/ %\xc3\xa4"));
}

TEST(PublicAddress, IsOnTheInternet) {
  for (const char* address :
       {"1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00::1"})
    EXPECT_TRUE(is_public_address(address)) << address;
}

TEST(PublicAddress, IsNoneOfAMachineALinkOrAPrivateNetwork) {
  for (const char* address :
       {"0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::a00:1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "ff02::1",
        "2001:db8::1",
        "2002:a00:1::",
        "2001::1",
        "nonsense",
        ""})
    EXPECT_FALSE(is_public_address(address)) << address;
}

} // namespace
} // namespace codeq::http
