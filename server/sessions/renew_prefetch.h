// Asks for the memory of sessions that are about to be renewed, so that it is there in time.
//
// A keep-alive may name 65,000 sessions whose rows lie all over the tables: one after another each
// waits for four lines of memory, and the loop serves nobody else meanwhile. Asked for a few
// sessions ahead, the lines of many come at once. Changes nothing and proves nothing: a hint, which
// may name the row of another session of the same hash. One thread, the node's loop.
#pragma once

#include "sessions/columns.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

class RenewPrefetch {
 public:
  // The sessions will be renewed in this order; both outlive this.
  RenewPrefetch(const sessions::SessionColumns& columns, std::span<const SessionId> sessions)
      : columns_(columns), sessions_(sessions) {
    for (std::size_t k = 0; k < kLines; ++k) {
      want_line(k);
    }
    for (std::size_t k = 0; k < kRows; ++k) {
      want_row(k);
    }
  }

  // Before the session at `place` is renewed.
  void before(std::size_t place) {
    want_line(place + kLines);
    want_row(place + kRows);
  }

 private:
  // How far ahead: a line of memory takes as long as some ten renewals whose lines are there.
  static constexpr std::size_t kLines = 32;
  static constexpr std::size_t kRows = 16;

  void want_line(std::size_t place) const {
    if (place < sessions_.size()) {
      const std::uint32_t hash =
          sessions::session_clock_hash(sessions_[place], columns_.index_seed);
      want(columns_.first_of_session.current, hash);
      want(columns_.over_index.current, hash);
    }
  }

  static void want(const HashIndex& index, std::uint32_t hash) {
    if (index.lines != nullptr) {
      __builtin_prefetch(&index.lines[hash & index.mask]);
    }
  }

  void want_row(std::size_t place) const {
    if (place < sessions_.size()) {
      const std::uint32_t hash =
          sessions::session_clock_hash(sessions_[place], columns_.index_seed);
      const std::uint32_t row =
          columns_.first_of_session.find(hash, [](std::uint32_t) { return true; });
      __builtin_prefetch(&columns_.cells[row], 1);
      __builtin_prefetch(&columns_.heard[row], 1);
      __builtin_prefetch(&columns_.deadline[row], 1);
    }
  }

  const sessions::SessionColumns columns_;
  const std::span<const SessionId> sessions_;
};

}  // namespace gcoord::server
