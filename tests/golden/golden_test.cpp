// SPDX-License-Identifier: Apache-2.0
#include "golden/example.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

/// Bytes written by earlier versions, and their values. Each file `formats/<name>.<n>.golden` has
/// the value on its first line, followed by the bytes as hexadecimal digits. The current code must
/// write exactly the version with the highest n; it must be able to read the others.
namespace codeq::test {

namespace {

std::filesystem::path path_of(const format& each, int version) {
  return std::filesystem::path(CODEQ_GOLDEN_FOLDER)
         / (each.name + "." + std::to_string(version) + ".golden");
}

struct golden {
  std::string text;
  std::string digits;
};

std::optional<golden> load(const format& each, int version) {
  std::ifstream file(path_of(each, version));
  if (!file)
    return std::nullopt;
  golden loaded;
  std::getline(file, loaded.text);
  for (std::string line; std::getline(file, line);)
    loaded.digits += line;
  return loaded;
}

int newest_version(const format& each) {
  int version = 0;
  while (std::filesystem::exists(path_of(each, version + 1)))
    ++version;
  return version;
}

std::string to_digits(const bytes& body) {
  std::string digits;
  for (unsigned char c : body.view()) {
    digits += "0123456789abcdef"[c >> 4];
    digits += "0123456789abcdef"[c & 15];
  }
  return digits;
}

bytes from_digits(const std::string& digits) {
  std::string raw;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    raw += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes(std::move(raw));
}

void save(const format& each, int version, const bytes& body) {
  std::ofstream file(path_of(each, version));
  file << to_text(each.schema, body) << '\n';
  auto digits = to_digits(body);
  for (std::size_t i = 0; i < digits.size(); i += 96)
    file << digits.substr(i, 96) << '\n';
}

/// `CODEQ_GOLDEN=append` records the current bytes as a further version, for a field that was
/// added. `replace` overwrites the newest version, which is right only for a format that was never
/// released.
void record(const format& each, const bytes& body) {
  const char* mode = std::getenv("CODEQ_GOLDEN");
  int version = newest_version(each);
  if (!mode || (version > 0 && load(each, version)->digits == to_digits(body)))
    return;
  bool replace = std::string(mode) == "replace" && version > 0;
  save(each, replace ? version : version + 1, body);
}

class GoldenTest : public testing::TestWithParam<format> {};

TEST_P(GoldenTest, TodaysCodeWritesTheNewestVersion) {
  auto example = make_example(GetParam().schema);
  record(GetParam(), example);

  auto newest = load(GetParam(), newest_version(GetParam()));

  ASSERT_TRUE(newest) << "no golden bytes; record them with CODEQ_GOLDEN=append";
  EXPECT_EQ(newest->digits, to_digits(example));
}

TEST_P(GoldenTest, TodaysCodeReadsEveryVersion) {
  for (int version = newest_version(GetParam()); version > 0; --version) {
    auto stored = load(GetParam(), version);
    EXPECT_EQ(to_text(GetParam().schema, from_digits(stored->digits)), stored->text)
      << "version " << version;
  }
}

INSTANTIATE_TEST_SUITE_P(
  Formats, GoldenTest, testing::ValuesIn(all_formats()), [](const auto& each) {
    auto name = each.param.name;
    name.erase(name.find('.'), 1);
    return name;
  });

} // namespace

} // namespace codeq::test
