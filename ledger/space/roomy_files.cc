#include "ledger/space/roomy_files.h"

#include <cstdint>
#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

using rocksdb::Slice;

// RocksDB appends by this one function unless it is told to bypass the system's cache or to hand
// checksums over; no store of a node tells it so.
class RoomyFile final : public rocksdb::WritableFileWrapper {
 public:
  RoomyFile(DiskRoom& room, std::unique_ptr<rocksdb::WritableFile> file)
      : WritableFileWrapper(file.get()), room_(room), file_(std::move(file)) {}

  // Not NoSpace: RocksDB would try to recover from that on a thread of its own.
  rocksdb::Status Append(const Slice& bytes) override {
    const Status room = room_.await(bytes.size());
    return room.ok() ? file_->Append(bytes) : rocksdb::Status::IOError(room.message());
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
