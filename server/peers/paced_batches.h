// Rows that something is to be done with, in batches with rests between them.
//
// A batch is as many rows as have a place at once (paced_rows.h). It is over once at most an eighth
// of them is left, or after kTicksMost: what is slow keeps its place, and the next batch has the
// others. Then the rows rest for as long as the batch took, and a tick more. So work for every row
// of a node leaves at least half of the time to others, on a fast machine as on a busy one. Rows
// under way are looked at whenever they were stepped, in a rest, too. One thread.
#pragma once

#include "common/ids.h"
#include "server/peers/paced_rows.h"

#include <algorithm>
#include <cstdint>

namespace gcoord::server {

class PacedBatches {
 public:
  static constexpr std::uint64_t kTicksMost = 32;

  PacedBatches(std::uint32_t row_count, std::uint32_t batch_max)
      : few_(batch_max / 8), rows_(row_count, batch_max) {}

  // As in PacedRows.
  void note(std::uint32_t row, bool wanted) { rows_.note(row, wanted); }

  void keep(std::uint32_t row, bool under_way) { rows_.keep(row, under_way); }

  std::uint32_t under_way_count() const { return rows_.under_way_count(); }

  // Whether advance() has something to look at now.
  bool waiting() const { return rows_.waiting(batch_ ? few_left() : !rests_); }

  // When it may have without a step of a row; kTickNever: then only.
  Tick next_batch() const {
    if (!rows_.queued() || !(batch_ || rests_)) {
      return kTickNever;
    }
    return batch_ ? began_ + kTicksMost : rests_until_;
  }

  // look(row), as in PacedRows. `now` never falls.
  template <typename Look>
  void advance(Tick now, const Look& look) {
    if (batch_ && (few_left() || now >= began_ + kTicksMost)) {
      batch_ = false;
      rests_ = rows_.queued();
      rests_until_ = now + std::min(now - began_, kTicksMost) + 1;
    }
    rests_ = rests_ && now < rests_until_;
    const bool begins = !batch_ && !rests_ && rows_.queued();
    if (begins) {
      batch_ = true;
      began_ = now;
    }
    rows_.advance(look, begins);
    batch_ = batch_ && !(begins && few_left());  // Looks that led to little need no rest.
  }

 private:
  bool few_left() const { return rows_.under_way_count() <= few_; }

  const std::uint32_t few_;
  PacedRows rows_;
  bool batch_ = false;  // One is under way.
  bool rests_ = false;
  Tick began_;
  Tick rests_until_;
};

}  // namespace gcoord::server
