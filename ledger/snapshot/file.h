// A snapshot as a file: read and checked, or written so that only a whole one gets its name.
//
// Writing goes to FILE.part, which is synced and renamed at the end, so that a save that is killed,
// cut off or out of space leaves whatever stood at FILE before. One thread.
#pragma once

#include "common/status.h"
#include "ledger/snapshot/decoder.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gcoord::ledger {

// What is known of a file once all of it was checked.
struct SnapshotFacts {
  std::uint64_t file_bytes = 0;
  SnapshotEnd end;
  Sha256Stream::Digest digest{};  // SHA-256 over all but its own last 32 bytes.
};

// Tells the visitor what the file holds. Its failures: the decoder's, the visitor's, and
// kSnapshotUnreadable.
Result<SnapshotFacts> read_snapshot(const std::string& path, SnapshotVisitor& visitor);

class SnapshotFileWriter {
 public:
  // Creates FILE.part, in place of one that an interrupted save left
  // (common/host/exclusive_file.h). Fails with kSnapshotUnwritten, also while another process
  // writes it and where a link lies.
  static Result<std::unique_ptr<SnapshotFileWriter>> create(const std::string& path);

  // Removes FILE.part unless commit() was OK.
  ~SnapshotFileWriter();
  SnapshotFileWriter(const SnapshotFileWriter&) = delete;
  SnapshotFileWriter& operator=(const SnapshotFileWriter&) = delete;

  // kSnapshotUnwritten; what was written so far is of no use then.
  Status write(std::span<const std::byte> bytes);

  // Durable under its name on return. The caller has checked that it is whole.
  Status commit();

 private:
  SnapshotFileWriter(std::string path, int fd);

  Status failed(const char* what, int error) const;

  std::string path_;
  std::string part_;
  int fd_ = -1;
  bool committed_ = false;
};

}  // namespace gcoord::ledger
