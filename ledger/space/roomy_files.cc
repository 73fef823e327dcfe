#include "ledger/space/roomy_files.h"

#include "ledger/base/background_jobs.h"
#include "ledger/space/rocks_log.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

using rocksdb::Slice;

// What a name in a directory may take.
constexpr std::uint64_t kNameBytes = 4096;

// A node that ends waits no more: what is left to write takes what is kept for small files. Nothing
// is refused here, since RocksDB asserts that a file is not used again after an append has failed.
void wait_for(DiskRoom& room, const RoomWish& wish) {
  static_cast<void>(room.await_room(wish).ok());
}

// RocksDB appends by this one function unless it is told to bypass the system's cache or to hand
// checksums over; no store of a node tells it so.
class RoomyFile final : public rocksdb::WritableFileWrapper {
 public:
  RoomyFile(DiskRoom& room, std::unique_ptr<rocksdb::WritableFile> file, bool can_wait)
      : WritableFileWrapper(file.get()), room_(room), file_(std::move(file)), can_wait_(can_wait) {}

  rocksdb::Status Append(const Slice& bytes) override {
    wait_for(room_,
             {.wanted_bytes = bytes.size(), .least_bytes = bytes.size(), .can_wait = can_wait_});
    take_space(bytes.size());
    rocksdb::Status status = file_->Append(bytes);
    size_bytes_ += status.ok() ? bytes.size() : 0;
    return status;
  }

  // By which RocksDB takes tens of MiB ahead: never what the reserve was given out for.
  void PrepareWrite(std::size_t offset, std::size_t byte_count) override {
    if (room_.has(byte_count)) {
      file_->PrepareWrite(offset, byte_count);
    }
  }

 private:
  // Another program may come between the look at the room and the write. What is refused here can
  // be tried again, which a write cannot.
  void take_space(std::uint64_t byte_count) {
    while (file_->Allocate(size_bytes_, byte_count).IsNoSpace() && room_.await_after_refusal()) {
    }
  }

  DiskRoom& room_;
  std::unique_ptr<rocksdb::WritableFile> file_;
  std::uint64_t size_bytes_ = 0;
  const bool can_wait_;
};

class RoomyEnvironment final : public rocksdb::EnvWrapper {
 public:
  RoomyEnvironment(DiskRoom& room, rocksdb::Env* files) : EnvWrapper(files), room_(room) {}

  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    wait_for(room_, {.wanted_bytes = kNameBytes, .least_bytes = kNameBytes, .makes_file = true});
    rocksdb::Status status = EnvWrapper::NewWritableFile(name, file, options);
    while (status.IsNoSpace() && room_.await_after_refusal()) {
      status = EnvWrapper::NewWritableFile(name, file, options);
    }
    if (status.ok()) {
      const bool merged = name.ends_with(".sst") && this_thread_merges();
      *file = std::make_unique<RoomyFile>(room_, std::move(*file), merged);
    }
    return status;
  }

  // It opens without one where that fails.
  rocksdb::Status NewLogger(const std::string& path,
                            std::shared_ptr<rocksdb::Logger>* log) override {
    return open_rocks_log(path, *log);
  }

 private:
  DiskRoom& room_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> roomy_environment(DiskRoom* room, rocksdb::Env* files) {
  return room == nullptr ? nullptr : std::make_unique<RoomyEnvironment>(*room, files);
}

}  // namespace gcoord::ledger
