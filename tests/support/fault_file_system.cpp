// SPDX-License-Identifier: Apache-2.0
#include "support/fault_file_system.hpp"

#include "support/fault_disk.hpp"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace codeq::test {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

using disk_pointer = std::shared_ptr<fault_file_system::disk>;

IOStatus to_status(verdict outcome) {
  switch (outcome) {
  case verdict::proceed:
  case verdict::pretend:
    return IOStatus::OK();
  case verdict::no_space:
    return IOStatus::NoSpace("injected: no space left on device");
  case verdict::fail:
    break;
  }
  return IOStatus::IOError("injected: input/output error");
}

/// State that every file wrapper has.
struct handle {
  disk_pointer disk;
  fault_file_system::disk::open_file file;
};

class writable_file final : public rocksdb::FSWritableFileOwnerWrapper {
public:
  writable_file(std::unique_ptr<rocksdb::FSWritableFile>&& target, handle file)
    : FSWritableFileOwnerWrapper(std::move(target)), handle_(std::move(file)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return to_status(handle_.disk->append(handle_.file, data.size(), [&](std::size_t bytes) {
      return FSWritableFileOwnerWrapper::Append(Slice(data.data(), bytes), options, debug).ok();
    }));
  }

  IOStatus Append(
    const Slice& data,
    const IOOptions& options,
    const rocksdb::DataVerificationInfo&,
    IODebugContext* debug) override {
    return Append(data, options, debug);
  }

  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    auto outcome = handle_.disk->on_truncate(handle_.file, size);
    if (outcome == verdict::fail)
      return to_status(outcome);
    return FSWritableFileOwnerWrapper::Truncate(size, options, debug);
  }

  // Real syncs would only cost time: no test cuts the real power.

  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return to_status(handle_.disk->on_sync(handle_.file));
  }

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return to_status(handle_.disk->on_sync(handle_.file));
  }

  /// Starts writing back; guarantees nothing.
  IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

  // Does not preallocate: closing the file would cut it to the size it had before the power cut.

  void PrepareWrite(std::size_t, std::size_t, const IOOptions&, IODebugContext*) override {}

  IOStatus Allocate(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

private:
  handle handle_;
};

class sequential_file final : public rocksdb::FSSequentialFileOwnerWrapper {
public:
  sequential_file(std::unique_ptr<rocksdb::FSSequentialFile>&& target, handle file)
    : FSSequentialFileOwnerWrapper(std::move(target)), handle_(std::move(file)) {}

  IOStatus Read(
    std::size_t bytes,
    const IOOptions& options,
    Slice* found,
    char* scratch,
    IODebugContext* debug) override {
    if (handle_.disk->on_read(handle_.file.name) == verdict::fail)
      return to_status(verdict::fail);
    return FSSequentialFileOwnerWrapper::Read(bytes, options, found, scratch, debug);
  }

private:
  handle handle_;
};

class random_access_file final : public rocksdb::FSRandomAccessFileOwnerWrapper {
public:
  random_access_file(std::unique_ptr<rocksdb::FSRandomAccessFile>&& target, handle file)
    : FSRandomAccessFileOwnerWrapper(std::move(target)), handle_(std::move(file)) {}

  IOStatus Read(
    std::uint64_t offset,
    std::size_t bytes,
    const IOOptions& options,
    Slice* found,
    char* scratch,
    IODebugContext* debug) const override {
    if (handle_.disk->on_read(handle_.file.name) == verdict::fail)
      return to_status(verdict::fail);
    return FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, found, scratch, debug);
  }

  IOStatus MultiRead(
    rocksdb::FSReadRequest* requests,
    std::size_t count,
    const IOOptions& options,
    IODebugContext* debug) override {
    // One by one, so that no read bypasses the faults.
    for (auto* request = requests; request != requests + count; ++request)
      request->status =
        Read(request->offset, request->len, options, &request->result, request->scratch, debug);
    return IOStatus::OK();
  }

private:
  handle handle_;
};

class directory final : public rocksdb::FSDirectoryWrapper {
public:
  directory(std::unique_ptr<rocksdb::FSDirectory>&& target, handle file)
    : FSDirectoryWrapper(std::move(target)), handle_(std::move(file)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return to_status(handle_.disk->on_directory_sync(handle_.file));
  }

  IOStatus FsyncWithDirOptions(
    const IOOptions& options, IODebugContext* debug, const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

private:
  handle handle_;
};

class file_system final : public rocksdb::FileSystemWrapper {
public:
  explicit file_system(disk_pointer disk)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(std::move(disk)) {}

  const char* Name() const override { return "codeq_fault_file_system"; }

  IOStatus NewWritableFile(
    const std::string& name,
    const FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* found,
    IODebugContext* debug) override {
    auto outcome = disk_->on_create(name);
    if (outcome == verdict::fail)
      return to_status(outcome);
    return wrap<writable_file>(name, found, target()->NewWritableFile(name, options, found, debug));
  }

  IOStatus ReopenWritableFile(
    const std::string& name,
    const FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* found,
    IODebugContext* debug) override {
    return wrap<writable_file>(
      name, found, target()->ReopenWritableFile(name, options, found, debug));
  }

  IOStatus NewSequentialFile(
    const std::string& name,
    const FileOptions& options,
    std::unique_ptr<rocksdb::FSSequentialFile>* found,
    IODebugContext* debug) override {
    return wrap<sequential_file>(
      name, found, target()->NewSequentialFile(name, options, found, debug));
  }

  IOStatus NewRandomAccessFile(
    const std::string& name,
    const FileOptions& options,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* found,
    IODebugContext* debug) override {
    return wrap<random_access_file>(
      name, found, target()->NewRandomAccessFile(name, options, found, debug));
  }

  IOStatus NewDirectory(
    const std::string& name,
    const IOOptions& options,
    std::unique_ptr<rocksdb::FSDirectory>* found,
    IODebugContext* debug) override {
    return wrap<directory>(name, found, target()->NewDirectory(name, options, found, debug));
  }

  IOStatus
  DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* debug) override {
    auto outcome = disk_->remove(name);
    return outcome == verdict::proceed ? target()->DeleteFile(name, options, debug)
                                       : to_status(outcome);
  }

  IOStatus RenameFile(
    const std::string& from,
    const std::string& to,
    const IOOptions& options,
    IODebugContext* debug) override {
    auto outcome = disk_->rename(from, to);
    return outcome == verdict::proceed ? target()->RenameFile(from, to, options, debug)
                                       : to_status(outcome);
  }

private:
  template <class File, class Base>
  IOStatus wrap(const std::string& name, std::unique_ptr<Base>* found, IOStatus status) {
    if (status.ok())
      *found = std::make_unique<File>(std::move(*found), handle{disk_, disk_->open(name)});
    return status;
  }

  disk_pointer disk_;
};

/// RocksDB pauses for a second after a background error; tests do not.
class impatient_clock final : public rocksdb::SystemClockWrapper {
public:
  impatient_clock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}

  const char* Name() const override { return "codeq_impatient_clock"; }

  void SleepForMicroseconds(int micros) override {
    constexpr int longest_micros = 1000;
    SystemClockWrapper::SleepForMicroseconds(std::min(micros, longest_micros));
  }
};

class environment final : public rocksdb::EnvWrapper {
public:
  explicit environment(const std::shared_ptr<rocksdb::FileSystem>& files)
    : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
    file_system_ = files;
    system_clock_ = std::make_shared<impatient_clock>();
  }

  const char* Name() const override { return "codeq_fault_environment"; }
};

} // namespace

fault_file_system::fault_file_system(std::uint64_t seed)
  : disk_(std::make_shared<disk>(seed)),
    environment_(std::make_unique<class environment>(std::make_shared<file_system>(disk_))) {
}

fault_file_system::~fault_file_system() = default;

rocksdb::Env* fault_file_system::environment() const {
  return environment_.get();
}

void fault_file_system::cut_power(cut_policy policy) {
  disk_->cut_power(policy);
}

void fault_file_system::cut_power_at(const fault_point& point, cut_policy policy) {
  disk_->arm(point, policy);
}

void fault_file_system::end_process() {
  disk_->end_process();
}

bool fault_file_system::has_power() const {
  return disk_->has_power();
}

void fault_file_system::restore_power() {
  disk_->restore_power();
}

void fault_file_system::fail_at(const fault_point& point) {
  disk_->arm(point, {});
}

void fault_file_system::limit_space(std::uint64_t bytes) {
  disk_->limit_space(bytes);
}

void fault_file_system::lie_about_syncs() {
  disk_->lie_about_syncs();
}

void fault_file_system::heal() {
  disk_->heal();
}

bool fault_file_system::was_reached() const {
  return disk_->was_reached();
}

fault_counts fault_file_system::counts() const {
  return disk_->counts();
}

void flip_bit(const std::filesystem::path& file, std::uint64_t bit) {
  std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
  auto place = static_cast<std::streamoff>(bit / 8);
  stream.seekg(place);
  auto byte = static_cast<unsigned>(stream.get());
  stream.seekp(place);
  stream.put(static_cast<char>(byte ^ 1u << bit % 8));
}

} // namespace codeq::test
