// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "maintenance/store_verifier.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "support/shard_fixture.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace codeq::maintenance {

/// A store that contains all turns of one shard.
class verifier_fixture : public test::shard_fixture {
protected:
  static constexpr shard_id only_shard{};

  verifier_fixture() { put(storage::store_key{}.encode(), encode(identity())); }

  static storage::store_record identity() {
    storage::store_record record;
    record.store_id = 7;
    record.shard_count = 1;
    record.epoch = 1;
    return record;
  }

  /// Writes the turns that are not in the store yet.
  void write_to(storage::task_store& store) {
    for (; written_ < turns(); ++written_) {
      auto writes = std::make_shared<storage::write_set>();
      for (const auto& e : events_of(written_))
        storage::project(only_shard, e, *writes);
      commit_to(store, writes);
    }
  }

  void write() { write_to(store_); }

  void put(const std::string& key, const std::string& value) {
    commit_to(store_, test::puts({{key, value}}));
  }

  void remove(const std::string& key) {
    auto writes = std::make_shared<storage::write_set>();
    writes->remove(key);
    commit_to(store_, writes);
  }

  static void commit_to(storage::task_store& store, const test::shared_write_set& writes) {
    ASSERT_TRUE(store.commit({&writes, 1}, storage::durability::sync));
  }

  store_report verify(std::size_t findings_max = 100) {
    write();
    store_report report;
    auto ok = verify_records(store_, findings_max, report);
    EXPECT_TRUE(ok) << to_string(ok.error());
    return report;
  }

  /// The findings, one per line.
  std::string findings() {
    std::string text;
    for (const auto& finding : verify().findings)
      text += finding + "\n";
    return text;
  }

  storage::memory_store store_;

private:
  std::size_t written_ = 0;
};

} // namespace codeq::maintenance
