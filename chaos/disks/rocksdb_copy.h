// A RocksDB directory with the checkpoints of a simulated node, and copies of it to be damaged.
//
// The directory is written by the product's store in three sessions, so that it has tables and a
// log with batches in it. One copy at a time. One thread.
#pragma once

#include "common/status.h"
#include "ledger/checkpoint/memory_checkpoint_store.h"

#include <cstdint>
#include <string>

namespace gcoord::chaos {

struct FlippedFile {
  std::string kind;   // "table", "log", "manifest", "current", "options", "identity", "messages".
  std::string where;  // Name, byte, bit.
};

class RocksDbCopies {
 public:
  // Below `parent`, which exists.
  RocksDbCopies(const std::string& parent, const ledger::CheckpointMedium& medium);

  // Removes both.
  ~RocksDbCopies();
  RocksDbCopies(const RocksDbCopies&) = delete;
  RocksDbCopies& operator=(const RocksDbCopies&) = delete;

  // Whether the directory could be written.
  const Status& made() const { return made_; }

  // A fresh copy in place of the last one; its path.
  std::string copy() const;

  // Flips one bit of one file of the copy, both chosen by the number: first the kind, then a file.
  FlippedFile flip(std::uint64_t choice) const;

 private:
  std::string original_;
  std::string copy_;
  Status made_;
};

}  // namespace gcoord::chaos
