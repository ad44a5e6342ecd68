// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "security/access_limits.hpp"
#include "security/private_file.hpp"
#include "security/token.hpp"
#include "security/token_file.hpp"
#include "security/token_source.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/resource.h>

namespace codeq::security {

namespace {

principal producer_of(const std::string& tenant) {
  principal who;
  who.subject = "ada";
  who.tenant = tenant;
  return who;
}

class TokenFile : public testing::Test {
protected:
  [[nodiscard]] std::string text() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void write(const std::string& text) const { std::ofstream(file_) << text; }

  test::temporary_directory directory_;
  std::filesystem::path file_ = directory_.path() / "tokens";
};

} // namespace

TEST_F(TokenFile, CreatedTokenIsKnownAndNotStored) {
  auto token = create_token(file_, producer_of("shop"));

  ASSERT_TRUE(token) << token.error().context;
  auto table = read_token_file(file_);
  ASSERT_TRUE(table) << table.error().context;
  ASSERT_NE(table->authenticate(*token), nullptr);
  EXPECT_EQ(table->authenticate(*token)->tenant, "shop");
  EXPECT_EQ(text().find(*token), std::string::npos);
  EXPECT_EQ(text().find(token->substr(6)), std::string::npos);
}

TEST_F(TokenFile, NewFileIsReadableByItsOwnerOnly) {
  ASSERT_TRUE(create_token(file_, producer_of("shop")));

  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(file_).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(TokenFile, ChangesKeepRemarksAndAccessRights) {
  write("# ours");
  std::filesystem::permissions(file_, std::filesystem::perms{0640});
  auto one = create_token(file_, producer_of("one"));
  auto two = create_token(file_, producer_of("two"));
  ASSERT_TRUE(one && two);

  auto revoked = revoke_token(file_, short_name(digest_of(*one)));

  ASSERT_TRUE(revoked) << revoked.error().context;
  EXPECT_EQ(revoked->tenant, "one");
  auto kept = producer_of("two");
  kept.token = digest_of(*two);
  EXPECT_EQ(text(), "# ours\n" + to_line(kept) + "\n");
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms{0640});
}

TEST_F(TokenFile, BothTokensOfARotationAreValidUntilTheOldOneExpires) {
  auto end = base::parse_rfc3339("2026-05-20T10:00:00Z").value();
  auto who = producer_of("shop");
  who.role = role::worker;
  who.queues = {"mail"};
  auto old = create_token(file_, who);
  ASSERT_TRUE(old);
  write("# ours\n" + text());

  auto rotated = rotate_token(file_, short_name(digest_of(*old)), end + std::chrono::hours(1), end);

  ASSERT_TRUE(rotated) << rotated.error().context;
  auto table = read_token_file(file_);
  ASSERT_TRUE(table) << table.error().context;
  auto before = table->authenticate(*old);
  auto after = table->authenticate(rotated->token);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->expires, end);
  EXPECT_EQ(after->expires, end + std::chrono::hours(1));
  EXPECT_EQ(after->queues, before->queues);
  EXPECT_EQ(after->subject, before->subject);
  EXPECT_TRUE(text().starts_with("# ours\n"));
}

TEST_F(TokenFile, RotationProlongsNoToken) {
  auto end = base::parse_rfc3339("2026-05-20T10:00:00Z").value();
  auto who = producer_of("shop");
  who.expires = end;
  auto old = create_token(file_, who);
  auto name = short_name(digest_of(*old));
  auto before = text();

  EXPECT_FALSE(rotate_token(file_, name, std::nullopt, end)) << "the new one would never expire";
  EXPECT_EQ(text(), before);
  auto rotated = rotate_token(file_, name, end, end + std::chrono::hours(1));

  ASSERT_TRUE(rotated) << rotated.error().context;
  EXPECT_EQ(rotated->old.expires, end);
}

TEST_F(TokenFile, ThatEveryUserMayWriteIsRefused) {
  ASSERT_TRUE(create_token(file_, producer_of("shop")));
  EXPECT_FALSE(is_readable_by_others(file_));
  std::filesystem::permissions(file_, std::filesystem::perms{0644});
  EXPECT_TRUE(is_readable_by_others(file_));
  EXPECT_TRUE(read_token_file(file_));
  std::filesystem::permissions(file_, std::filesystem::perms{0666});

  auto refused = read_token_file(file_);

  ASSERT_FALSE(refused);
  EXPECT_EQ(
    refused.error().context,
    file_.string() + ": every user may write it, and so grant rights; take that right away");
}

TEST_F(TokenFile, PrivateFileAppearsWholeOrNotAtAll) {
  auto path = directory_.path() / "ada.token";
  {
    auto file = private_file::create(path);
    ASSERT_TRUE(file);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  ASSERT_TRUE(private_file::create(path)->write("secret\n"));

  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
  EXPECT_EQ(read_bearer(path).value(), "secret");
  EXPECT_FALSE(private_file::create(path));
  EXPECT_TRUE(private_file::create(path, true)->write("newer"));
  EXPECT_EQ(read_bearer(path).value(), "newer");
}

TEST_F(TokenFile, RevokingNeedsOneTokenAndEightDigits) {
  auto token = create_token(file_, producer_of("shop"));
  ASSERT_TRUE(token);
  auto name = to_text(digest_of(*token));

  EXPECT_FALSE(revoke_token(file_, name.substr(0, 7)));
  EXPECT_EQ(
    revoke_token(file_, "ada").error().context,
    "no token begins with `ada`; give what `token list` shows under TOKEN, at least 8 digits of "
    "it");
  EXPECT_FALSE(revoke_token(file_, std::string(16, 'f')));
  EXPECT_FALSE(revoke_token(file_, ""));
  EXPECT_TRUE(revoke_token(file_, name.substr(0, 8)));
}

TEST_F(TokenFile, RemarkAboutATokenDoesNotKeepItInForce) {
  auto token = create_token(file_, producer_of("shop"));
  ASSERT_TRUE(token);
  auto line = text();
  write("# old: " + line + "  #" + line + line);

  auto revoked = revoke_token(file_, to_text(digest_of(*token)));

  ASSERT_TRUE(revoked) << revoked.error().context;
  EXPECT_EQ(read_token_file(file_)->authenticate(*token), nullptr);
  EXPECT_EQ(text(), "# old: " + line + "  #" + line);
}

TEST_F(TokenFile, ChangeThatCannotBeWrittenLeavesNoDraft) {
  auto token = create_token(file_, producer_of("shop"));
  ASSERT_TRUE(token);
  auto before = text();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit tight{before.size(), old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);

  auto failed = create_token(file_, producer_of("other"));

  ::setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::unavailable);
  EXPECT_EQ(text(), before);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
}

TEST_F(TokenFile, FileThatCannotBeLookedAtIsAnErrorAndNoException) {
  std::filesystem::create_symlink(file_, file_);

  auto failed = create_token(file_, producer_of("shop"));

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::unavailable);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
}

TEST_F(TokenFile, BadPrincipalOrFileChangesNothing) {
  auto nobody = producer_of("not a name");
  EXPECT_FALSE(create_token(file_, nobody));
  EXPECT_FALSE(std::filesystem::exists(file_));
  write("nonsense\n");

  EXPECT_FALSE(create_token(file_, producer_of("shop")));

  EXPECT_EQ(text(), "nonsense\n");
}

TEST_F(TokenFile, FailedReloadKeepsTheOldTable) {
  auto old = create_token(file_, producer_of("shop"));
  auto source = token_source::open(file_);
  ASSERT_TRUE(old && source);
  auto before = (*source)->current();

  write(to_line(*before->principals().front()) + "\nsubject=b\n");
  auto reloaded = (*source)->reload();

  ASSERT_FALSE(reloaded);
  EXPECT_EQ(reloaded.error().context, file_.string() + ": line 2: sha256 is missing");
  EXPECT_EQ((*source)->current(), before);
  write("");
  EXPECT_TRUE((*source)->reload());
  EXPECT_EQ((*source)->current()->authenticate(*old), nullptr);
  EXPECT_NE(before->authenticate(*old), nullptr);
}

TEST_F(TokenFile, MissingFileAndDirectoryAreRefused) {
  EXPECT_FALSE(token_source::open(file_));
  EXPECT_FALSE(token_source::open(directory_.path()));
}

TEST_F(TokenFile, BearerIsReadWithoutBlanksAroundIt) {
  write("  secret\r\n");
  EXPECT_EQ(read_bearer(file_).value(), "secret");

  for (const auto& bad :
       {std::string(),
        std::string("\n"),
        std::string("two words"),
        std::string(limits::bearer_bytes_max + 1, 'x')}) {
    write(bad);
    auto bearer = read_bearer(file_);
    ASSERT_FALSE(bearer);
    EXPECT_EQ(bearer.error().context.find("words"), std::string::npos);
  }
}

} // namespace codeq::security
