// Marks of the rows that checkpoints are about: changed since the last one, in the present one,
// and in the one before.
//
// A row of the checkpoint before that is not in the present one was quiet since; its log is
// compacted entirely. One thread.
#pragma once

#include "common/shard_bits.h"

#include <cstdint>

namespace gcoord::server {

class CheckpointMarks {
 public:
  explicit CheckpointMarks(std::uint32_t row_count)
      : changed_(row_count), taken_(row_count), settling_(row_count) {}

  // The row differs from its checkpoint.
  void mark(std::uint32_t row) { changed_.set(row); }

  // The next checkpoint takes what has changed by now. False: nothing to do in it.
  bool begin() {
    settling_.swap(taken_);
    taken_.swap(changed_);
    changed_.clear();
    return taken_.any() || settling_.any();
  }

  // The present checkpoint failed: its rows still differ from theirs.
  void give_back() { changed_.unite(taken_); }

  // Whether the row changed before the present checkpoint began.
  bool taken(std::uint32_t row) const { return taken_.test(row); }

  // The first row at or behind `from` that the present checkpoint visits.
  std::uint32_t next(std::uint32_t from) const { return taken_.next_in_either(settling_, from); }

 private:
  ShardBits changed_;   // Since taken_ was taken.
  ShardBits taken_;     // Held by the present, or last, checkpoint.
  ShardBits settling_;  // Held by the one before.
};

}  // namespace gcoord::server
