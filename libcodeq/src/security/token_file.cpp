// SPDX-License-Identifier: Apache-2.0
#include "security/token_file.hpp"

#include "base/rfc3339.hpp"
#include "security/access_limits.hpp"
#include "security/private_file.hpp"
#include "security/token.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace codeq::security {

namespace {

constexpr mode_t owner_only = S_IRUSR | S_IWUSR;
constexpr std::size_t name_digits_min = 8;

error fault(const std::filesystem::path& file, const std::string& why) {
  return {errc::unavailable, file.string() + ": " + why};
}

error system_fault(const std::filesystem::path& file, const char* what) {
  return fault(file, std::string(what) + ": " + std::strerror(errno));
}

/// Reads at most one byte more than `limit`, which shows the caller that the file is too large.
result<std::string> read_text(const std::filesystem::path& file, std::size_t limit) {
  std::error_code code;
  if (std::filesystem::is_directory(file, code))
    return fault(file, "is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return system_fault(file, "cannot be read");
  std::string text(limit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad())
    return system_fault(file, "cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

result<token_table> parse_file(const std::filesystem::path& file, const std::string& text) {
  auto table = parse_tokens(text);
  if (!table)
    return error{table.error().code, file.string() + ": " + table.error().context};
  return table;
}

/// Excludes other changes of the file while it exists.
class change_lock {
public:
  /// Errors: `unavailable`.
  [[nodiscard]] result<void> take(const std::filesystem::path& file) {
    auto path = file.string() + ".lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, owner_only);
    if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0)
      return system_fault(path, "cannot be locked");
    return {};
  }

  change_lock() = default;
  change_lock(const change_lock&) = delete;
  change_lock& operator=(const change_lock&) = delete;

  ~change_lock() {
    if (fd_ >= 0)
      ::close(fd_);
  }

private:
  int fd_ = -1;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return false;
    text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return true;
}

result<void> replace(const std::filesystem::path& file, std::string_view text) {
  struct stat before {};

  mode_t mode = ::stat(file.c_str(), &before) == 0 ? before.st_mode & 07777 : owner_only;
  auto draft = file.string() + ".new";
  int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, owner_only);
  if (fd < 0)
    return system_fault(draft, "cannot be written");
  bool written = ::fchmod(fd, mode) == 0 && write_all(fd, text) && ::fsync(fd) == 0;
  ::close(fd);
  if (written && ::rename(draft.c_str(), file.c_str()) == 0)
    return {};
  auto failed = system_fault(file, "cannot be written");
  ::unlink(draft.c_str());
  return failed;
}

/// The text with `line` in place of that token's line, or without it when `line` is empty. Comments
/// that mention the token stay.
std::string with_line(std::string_view text, const token_digest& token, const std::string& line) {
  auto field = "sha256=" + to_text(token);
  std::string kept;
  while (!text.empty()) {
    auto old = text.substr(0, text.find('\n'));
    auto whole = text.substr(0, std::min(text.size(), old.size() + 1));
    text.remove_prefix(whole.size());
    auto first = old.find_first_not_of(" \t\r");
    bool is_remark = first == old.npos || old[first] == '#';
    if (is_remark || old.find(field) == old.npos)
      kept += whole;
    else if (!line.empty())
      kept += line + "\n";
  }
  return kept;
}

/// The token whose digest begins with `name`. Errors: `invalid_argument`.
result<principal> find_one(const token_table& table, std::string_view name) {
  std::optional<principal> found;
  for (const auto& who : table.principals()) {
    if (name.size() < name_digits_min || !to_text(who->token).starts_with(name))
      continue;
    if (found)
      return error{
        errc::invalid_argument,
        "several tokens begin with `" + std::string(name) + "`; give more digits"};
    found = *who;
  }
  if (!found)
    return error{
      errc::invalid_argument,
      "no token begins with `" + std::string(name)
        + "`; give what `token list` shows under TOKEN, at least "
        + std::to_string(name_digits_min) + " digits of it"};
  return *found;
}

/// Why a token that expires is not rotated into one that does not. The usual reason is that it was
/// rotated before.
std::string describe_expiring(const token_table& table, const principal& old) {
  auto text = "the token expires at " + base::to_rfc3339(*old.expires)
              + ", so the new one needs an expiry, too; give --expires";
  for (const auto& who : table.principals()) {
    bool is_newer = who->token != old.token && (!who->expires || *who->expires > *old.expires);
    bool is_same = who->subject == old.subject && who->tenant == old.tenant && who->role == old.role
                   && who->queues == old.queues;
    if (is_newer && is_same)
      return text + ". If it was rotated before, rotate its successor " + short_name(who->token)
             + " instead";
  }
  return text;
}

/// Adds the line of a new token for `who` to a file's text. Returns the token.
result<std::string> add_token(std::string& text, principal who) {
  auto token = make_token();
  if (!token)
    return token;
  who.token = digest_of(*token);
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  text += to_line(who) + "\n";
  return token;
}

} // namespace

result<token_table> read_token_file(const std::filesystem::path& file) {
  if (is_writable_by_others(file))
    return fault(file, "every user may write it, and so grant rights; take that right away");
  auto text = read_text(file, limits::token_file_bytes_max);
  if (!text)
    return text.error();
  return parse_file(file, *text);
}

result<std::string> create_token(const std::filesystem::path& file, principal who) {
  if (auto ok = check(who); !ok)
    return ok.error();
  change_lock lock;
  if (auto ok = lock.take(file); !ok)
    return ok.error();
  std::string text;
  std::error_code code;
  bool is_there = std::filesystem::exists(file, code);
  if (code)
    return fault(file, "cannot be read: " + code.message());
  if (is_there) {
    auto old = read_text(file, limits::token_file_bytes_max);
    if (!old)
      return old.error();
    text = std::move(*old);
  }
  auto token = add_token(text, std::move(who));
  if (!token)
    return token;
  if (auto table = parse_file(file, text); !table)
    return table.error();
  if (auto ok = replace(file, text); !ok)
    return ok.error();
  return token;
}

result<principal> revoke_token(const std::filesystem::path& file, std::string_view name) {
  change_lock lock;
  if (auto ok = lock.take(file); !ok)
    return ok.error();
  auto text = read_text(file, limits::token_file_bytes_max);
  if (!text)
    return text.error();
  auto table = parse_file(file, *text);
  if (!table)
    return table.error();
  auto found = find_one(*table, name);
  if (!found)
    return found;
  auto rest = with_line(*text, found->token, {});
  auto left = parse_file(file, rest);
  if (!left)
    return left.error();
  if (left->find(found->token))
    return fault(file, "the token's line cannot be found; remove it by hand");
  if (auto ok = replace(file, rest); !ok)
    return ok.error();
  return *found;
}

result<rotated_token> rotate_token(
  const std::filesystem::path& file,
  std::string_view name,
  std::optional<timestamp> expires,
  timestamp old_until) {
  change_lock lock;
  if (auto ok = lock.take(file); !ok)
    return ok.error();
  auto text = read_text(file, limits::token_file_bytes_max);
  if (!text)
    return text.error();
  auto table = parse_file(file, *text);
  if (!table)
    return table.error();
  auto old = find_one(*table, name);
  if (!old)
    return old.error();
  if (old->expires && !expires)
    return error{errc::invalid_argument, describe_expiring(*table, *old)};
  auto fresh = *old;
  fresh.expires = expires;
  old->expires = std::min(old->expires.value_or(old_until), old_until);
  auto changed = with_line(*text, old->token, to_line(*old));
  auto token = add_token(changed, std::move(fresh));
  if (!token)
    return token.error();
  auto check = parse_file(file, changed);
  if (!check)
    return check.error();
  if (auto kept = check->find(old->token); !kept || *kept != *old)
    return fault(file, "the token's line cannot be found; change it by hand");
  if (auto ok = replace(file, changed); !ok)
    return ok.error();
  return rotated_token{std::move(*token), std::move(*old)};
}

result<std::string> read_bearer(const std::filesystem::path& file) {
  auto text = read_text(file, limits::bearer_bytes_max);
  if (!text)
    return text;
  constexpr auto blanks = " \t\r\n";
  auto begin = text->find_first_not_of(blanks);
  if (begin == text->npos)
    return error{errc::invalid_argument, file.string() + ": is empty; it must hold a token"};
  auto token = text->substr(begin, text->find_last_not_of(blanks) + 1 - begin);
  if (text->size() > limits::bearer_bytes_max || token.find_first_of(blanks) != token.npos)
    return error{
      errc::invalid_argument,
      file.string() + ": must hold one token of at most " + std::to_string(limits::bearer_bytes_max)
        + " bytes and nothing else"};
  return token;
}

} // namespace codeq::security
