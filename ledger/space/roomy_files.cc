#include "ledger/space/roomy_files.h"

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
void wait_for(DiskRoom& room, std::uint64_t byte_count) {
  static_cast<void>(room.await(byte_count).ok());
}

// RocksDB appends by this one function unless it is told to bypass the system's cache or to hand
// checksums over; no store of a node tells it so.
class RoomyFile final : public rocksdb::WritableFileWrapper {
 public:
  RoomyFile(DiskRoom& room, std::unique_ptr<rocksdb::WritableFile> file)
      : WritableFileWrapper(file.get()), room_(room), file_(std::move(file)) {}

  rocksdb::Status Append(const Slice& bytes) override {
    wait_for(room_, bytes.size());
    return file_->Append(bytes);
  }

  // By which RocksDB takes tens of MiB ahead: never what the reserve was given out for.
  void PrepareWrite(std::size_t offset, std::size_t byte_count) override {
    if (room_.has(byte_count)) {
      file_->PrepareWrite(offset, byte_count);
    }
  }

 private:
  DiskRoom& room_;
  std::unique_ptr<rocksdb::WritableFile> file_;
};

class RoomyEnvironment final : public rocksdb::EnvWrapper {
 public:
  explicit RoomyEnvironment(DiskRoom& room) : EnvWrapper(rocksdb::Env::Default()), room_(room) {}

  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    wait_for(room_, kNameBytes);
    rocksdb::Status status = EnvWrapper::NewWritableFile(name, file, options);
    if (status.ok()) {
      *file = std::make_unique<RoomyFile>(room_, std::move(*file));
    }
    return status;
  }

 private:
  DiskRoom& room_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> roomy_environment(DiskRoom* room) {
  return room == nullptr ? nullptr : std::make_unique<RoomyEnvironment>(*room);
}

}  // namespace gcoord::ledger
