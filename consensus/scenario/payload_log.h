// The payloads of one replica's log by index; which term an index has is the row's business.
//
// Entries floor+1 .. last are here. Asserts on every index outside, because only the owner of the
// row asks. Host only.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "consensus/scenario/entry.h"

#include <deque>
#include <utility>

namespace gcoord::consensus::scenario {

class PayloadLog {
 public:
  LogIndex floor() const { return floor_; }

  LogIndex last() const { return floor_ + entries_.size(); }

  const Entry& at(LogIndex index) const {
    GCOORD_ASSERT(index > floor_);
    GCOORD_ASSERT(index <= last());
    return entries_[index - floor_ - 1];
  }

  void append(Entry entry) { entries_.push_back(std::move(entry)); }

  // Removes everything from `index` on.
  void truncate_from(LogIndex index) {
    GCOORD_ASSERT(index > floor_);
    while (last() >= index) {
      entries_.pop_back();
    }
  }

  // Forgets everything up to `index`; nothing if that is forgotten already.
  void forget_to(LogIndex index) {
    GCOORD_ASSERT(index <= last());
    while (floor_ < index) {
      entries_.pop_front();
      ++floor_;
    }
  }

  // Empties the log; the next entry is floor + 1.
  void reset(LogIndex floor) {
    entries_.clear();
    floor_ = floor;
  }

 private:
  LogIndex floor_;
  std::deque<Entry> entries_;
};

}  // namespace gcoord::consensus::scenario
