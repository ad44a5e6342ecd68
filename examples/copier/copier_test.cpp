// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using codeq::testing::mishap;

/// A directory with a file of three and a half pieces.
class Copier : public testing::Test {
protected:
  Copier() {
    auto pattern = (std::filesystem::temp_directory_path() / "copier-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    for (std::size_t i = 0; i < (7u << 20) / 2; ++i) {
      content.push_back(static_cast<char>('a' + i / 1000 % 26));
    }
    std::ofstream(folder / "from") << content;
  }

  ~Copier() override { std::filesystem::remove_all(folder); }

  codeq::task_spec spec() {
    codeq::task_spec made;
    made.queue = "copy";
    made.payload = (folder / "from").string() + " " + (folder / "to").string();
    return made;
  }

  std::string copied() {
    std::ifstream file(folder / "to");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::filesystem::path folder;
  std::string content;
};

TEST_F(Copier, CopiesAndSavesEveryPiece) {
  codeq::testing::testbed bed(codeq::testing::registered_handlers());

  auto task = bed.enqueue(spec()).value().id;

  EXPECT_EQ(bed.status(task).value().result, "3670016 bytes, 3670016 of them now");
  EXPECT_EQ(bed.attempts().front().said.checkpoints.size(), 4u);
  EXPECT_EQ(copied(), content);
}

TEST_F(Copier, GoesOnBehindTheCheckpointAfterACrash) {
  codeq::testing::testbed bed(codeq::testing::registered_handlers());
  bed.inject("copy", mishap::crash);

  auto task = bed.enqueue(spec()).value().id;

  EXPECT_EQ(bed.attempts().size(), 2u);
  EXPECT_EQ(bed.status(task).value().result, "3670016 bytes, 0 of them now");
  EXPECT_EQ(copied(), content);
}

} // namespace
