// SPDX-License-Identifier: Apache-2.0
// Marks a store as written by a newer version of codeq. Usage: e2e_newer_store DIRECTORY
#include "storage/keys/keyspace.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"

#include <cstdio>

namespace {

codeq::result<void> pretend(const char* directory) {
  using namespace codeq::storage;
  rocksdb_store_options options;
  options.directory = directory;
  auto store = open_rocksdb_store(options);
  if (!store) {
    return store.error();
  }
  auto record = read_identity(**store);
  if (!record) {
    return record.error();
  }
  ++record->version;
  auto writes = std::make_shared<write_set>();
  writes->put(store_key{}.encode(), encode(*record));
  std::shared_ptr<const write_set> set = writes;
  return (*store)->commit({&set, 1}, durability::sync);
}

} // namespace

int main(int argc, char** argv) {
  auto done = argc == 2 ? pretend(argv[1]) : codeq::error{codeq::errc::invalid_argument, "usage"};
  if (!done) {
    std::fprintf(stderr, "e2e_newer_store: %s\n", codeq::to_string(done.error()).c_str());
  }
  return done ? 0 : 1;
}
