// SPDX-License-Identifier: Apache-2.0
#include "support/certificate_authority.hpp"
#include "support/temporary_directory.hpp"
#include "transport/tls_stream.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::transport {

using security::tls_context;
using security::tls_files;
using security::tls_side;

namespace {

std::string_view view(const std::vector<char>& bytes) {
  return {bytes.data(), bytes.size()};
}

/// The two sides of a connection over a loss-free network.
class TlsStream : public testing::Test {
protected:
  static std::shared_ptr<const tls_context> load(const tls_files& files, tls_side side) {
    auto context = tls_context::load(files, side);
    if (!context)
      throw std::runtime_error(to_string(context.error()));
    return *context;
  }

  void dial(const tls_files& server, const tls_files& client, const std::string& host) {
    server_ = tls_stream::accept(*load(server, tls_side::server));
    client_ = tls_stream::connect(*load(client, tls_side::client), host);
    ASSERT_TRUE(server_ && client_);
  }

  /// Carries one side's pending output to the other, in parts of `part` bytes; returns the total
  /// size.
  static std::size_t carry(tls_stream& from, tls_stream& to, std::size_t part = SIZE_MAX) {
    std::vector<char> sent;
    from.take_to_send(sent);
    for (auto rest = view(sent); !rest.empty(); rest.remove_prefix(std::min(part, rest.size())))
      to.put_received(rest.substr(0, part));
    return sent.size();
  }

  /// Runs the handshake until both sides are done or one fails; returns the first failure.
  error shake_hands() {
    for (int round = 0; round < 4; ++round) {
      for (auto* side : {client_.get(), server_.get()}) {
        auto done = side->shake_hands();
        auto* other = side == client_.get() ? server_.get() : client_.get();
        carry(*side, *other);
        if (!done)
          return done.error();
      }
    }
    return {};
  }

  static std::string read_all(tls_stream& from) {
    std::string text(1 << 20, '\0');
    std::size_t filled = 0;
    for (;;) {
      auto count = from.read(text.data() + filled, text.size() - filled);
      if (!count || *count == 0)
        return text.substr(0, filled);
      filled += *count;
    }
  }

  static void send(tls_stream& from, tls_stream& to, std::string_view text) {
    std::vector<char> sent;
    ASSERT_TRUE(from.write(text, sent));
    to.put_received(view(sent));
  }

  test::temporary_directory directory_;
  test::certificate_authority ours_{directory_.path(), "ours"};
  test::certificate_authority others_{directory_.path(), "others"};
  tls_files coordinator_ = ours_.issue("coordinator", "IP:127.0.0.1,DNS:localhost");
  tls_files token_only_{{}, {}, ours_.file()};
  std::unique_ptr<tls_stream> server_;
  std::unique_ptr<tls_stream> client_;
};

} // namespace

TEST_F(TlsStream, BytesGoBothWaysBehindTheHandshake) {
  dial(coordinator_, token_only_, "127.0.0.1");

  EXPECT_EQ(shake_hands().context, "");
  send(*client_, *server_, "to the server");
  send(*server_, *client_, "to the client");

  EXPECT_EQ(read_all(*server_), "to the server");
  EXPECT_EQ(read_all(*client_), "to the client");
}

TEST_F(TlsStream, WhatIsWrittenBeforeTheHandshakeLeavesBehindIt) {
  dial(coordinator_, token_only_, "localhost");
  std::vector<char> sent;
  ASSERT_TRUE(client_->write("hello", sent));
  EXPECT_TRUE(sent.empty());

  EXPECT_EQ(shake_hands().context, "");
  send(*client_, *server_, ", world");

  EXPECT_EQ(read_all(*server_), "hello, world");
}

TEST_F(TlsStream, NothingReadableIsOnTheNetwork) {
  dial(coordinator_, token_only_, "127.0.0.1");
  EXPECT_EQ(shake_hands().context, "");

  std::vector<char> sent;
  ASSERT_TRUE(client_->write(std::string(100, 'x') + "secret", sent));

  EXPECT_EQ(view(sent).find("secret"), std::string_view::npos);
}

TEST_F(TlsStream, LargeFrameArrivesInSmallPieces) {
  dial(coordinator_, token_only_, "127.0.0.1");
  EXPECT_EQ(shake_hands().context, "");
  std::string frame(700'000, 'f');
  std::vector<char> sent;
  ASSERT_TRUE(client_->write(frame, sent));

  std::string received;
  for (auto rest = view(sent); !rest.empty();
       rest.remove_prefix(std::min<std::size_t>(1000, rest.size()))) {
    server_->put_received(rest.substr(0, 1000));
    received += read_all(*server_);
  }

  EXPECT_EQ(received, frame);
}

TEST_F(TlsStream, CertificateThatNamesAnotherHostIsRefused) {
  for (const auto* host : {"127.0.0.2", "example", "::1"}) {
    dial(coordinator_, token_only_, host);
    auto reason = shake_hands();
    EXPECT_EQ(reason.code, errc::unauthorized) << host;
    EXPECT_NE(reason.context.find("mismatch"), std::string::npos) << reason.context;
  }
}

TEST_F(TlsStream, CertificateOfAnotherAuthorityIsRefused) {
  dial(others_.issue("false", "IP:127.0.0.1"), token_only_, "127.0.0.1");

  EXPECT_EQ(shake_hands().code, errc::unauthorized);
}

TEST_F(TlsStream, PeerWithoutACertificateIsRefusedWhereOneIsRequired) {
  coordinator_.require_peer_certificate = true;
  dial(coordinator_, token_only_, "127.0.0.1");
  EXPECT_NE(shake_hands().code, errc::none);

  dial(coordinator_, ours_.issue("worker", "DNS:w1"), "127.0.0.1");
  EXPECT_EQ(shake_hands().context, "");

  auto stranger = others_.issue("stranger", "DNS:w1");
  stranger.authority = ours_.file();
  dial(coordinator_, stranger, "127.0.0.1");
  EXPECT_EQ(shake_hands().code, errc::unauthorized);
}

TEST_F(TlsStream, CertificateThatIsShownIsCheckedAlsoWhereNoneIsRequired) {
  auto stranger = others_.issue("stranger", "DNS:w1");
  stranger.authority = ours_.file();
  dial(coordinator_, stranger, "127.0.0.1");

  EXPECT_EQ(shake_hands().code, errc::unauthorized);
}

TEST_F(TlsStream, GarbageEndsTheHandshake) {
  for (const auto& garbage :
       {std::string(64, 'x'), std::string(64, '\0'), std::string("GET / HTTP/1.1\r\n\r\n")}) {
    dial(coordinator_, token_only_, "127.0.0.1");
    server_->put_received(garbage);
    auto done = server_->shake_hands();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::protocol_error);
  }
}

TEST_F(TlsStream, ChangedByteOnTheWayIsNoticed) {
  dial(coordinator_, token_only_, "127.0.0.1");
  EXPECT_EQ(shake_hands().context, "");
  std::vector<char> sent;
  ASSERT_TRUE(client_->write("a result", sent));
  sent.back() ^= 1;
  server_->put_received(view(sent));

  char text[16];
  auto count = server_->read(text, sizeof(text));

  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, errc::protocol_error);
}

TEST_F(TlsStream, EndOfWritingIsTheEndOfThePeersReading) {
  dial(coordinator_, token_only_, "127.0.0.1");
  EXPECT_EQ(shake_hands().context, "");
  send(*client_, *server_, "last");
  client_->end_writing();
  carry(*client_, *server_);

  EXPECT_EQ(read_all(*server_), "last");
  char text[16];
  auto count = server_->read(text, sizeof(text));
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, errc::disconnected);
}

TEST_F(TlsStream, FilesThatDoNotDoAreNamed) {
  auto other_key = coordinator_;
  other_key.key = ours_.issue("other", "DNS:x").key;
  auto missing = coordinator_;
  missing.certificate = directory_.path() / "none.pem";

  for (const auto& [files, file] :
       {std::pair{other_key, other_key.key}, std::pair{missing, missing.certificate}}) {
    auto context = tls_context::load(files, tls_side::server);
    ASSERT_FALSE(context);
    EXPECT_NE(context.error().context.find(file.string()), std::string::npos)
      << context.error().context;
  }
  EXPECT_FALSE(tls_context::load({}, tls_side::client));
  EXPECT_FALSE(tls_context::load(token_only_, tls_side::server));
}

TEST_F(TlsStream, FailedReloadKeepsTheOldCertificate) {
  auto source = security::tls_source::open(coordinator_, tls_side::server);
  ASSERT_TRUE(source);
  auto before = (*source)->current();
  std::filesystem::remove(coordinator_.key);

  EXPECT_FALSE((*source)->reload());
  EXPECT_EQ((*source)->current(), before);

  static_cast<void>(ours_.issue("coordinator", "IP:127.0.0.1"));
  EXPECT_TRUE((*source)->reload());
  EXPECT_NE((*source)->current(), before);
}

} // namespace codeq::transport
