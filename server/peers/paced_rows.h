// Rows that something is to be done with, so many of them at once.
//
// A row that is wanted waits for a place; one that has a place keeps it until its owner says that
// nothing is on its way there any more, and is looked at again whenever it was stepped. Why not all
// at once: what is under way for each of a million rows would be a queue of messages that outgrows
// its resend timers. One thread.
#pragma once

#include "server/peers/counted_rows.h"

#include <cstdint>

namespace gcoord::server {

class PacedRows {
 public:
  PacedRows(std::uint32_t row_count, std::uint32_t under_way_max)
      : under_way_max_(under_way_max),
        queued_(row_count),
        under_way_(row_count),
        stepped_(row_count) {}

  // The row was stepped, and something is to be done with it or not.
  void note(std::uint32_t row, bool wanted) {
    under_way_.assign(row, wanted && under_way_.test(row));
    stepped_.assign(row, under_way_.test(row));
    queued_.assign(row, wanted && !under_way_.test(row));
  }

  // Whether the row, which was looked at, keeps its place.
  void keep(std::uint32_t row, bool under_way) { under_way_.assign(row, under_way); }

  std::uint32_t under_way_count() const { return under_way_.count(); }

  // Whether rows wait for a place.
  bool queued() const { return !queued_.empty(); }

  // Whether advance() has something to look at.
  bool waiting(bool begins = true) const {
    return !stepped_.empty() || (begins && !queued_.empty() && under_way_.count() < under_way_max_);
  }

  // look(row), which may call keep(), for each row with a place that was stepped and, if new ones
  // may begin, for those that get one now.
  template <typename Look>
  void advance(const Look& look, bool begins = true) {
    while (!stepped_.empty()) {
      look(stepped_.take_next(cursor_));
    }
    for (std::uint32_t looks = 0; begins && looks < under_way_max_ && !queued_.empty() &&
                                  under_way_.count() < under_way_max_;
         ++looks) {
      const std::uint32_t row = queued_.take_next(cursor_);
      under_way_.assign(row, true);
      look(row);
    }
  }

 private:
  const std::uint32_t under_way_max_;
  CountedRows queued_;     // Wait for a place.
  CountedRows under_way_;  // Have one.
  CountedRows stepped_;    // Of these: stepped since they were looked at.
  std::uint32_t cursor_ = 0;
};

}  // namespace gcoord::server
