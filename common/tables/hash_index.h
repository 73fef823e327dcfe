// A hash index over the rows of a pool: lines of seven slots, no tombstones, any number of writers.
//
// A slot holds 32 bits of the key's hash and a row number; keys themselves stay in the rows, so the
// caller says with a functor whether a row has the wanted key. A line is a cache line of a host and
// two sectors of a device. A row goes into the first line from its home on with a free slot; each
// full line that it passes counts it, so a search goes on past a line only while that count says
// that somebody had to, and removing a row leaves nothing behind. (The counts are those of F14,
// Bronson and Shi, "Open-sourcing F14", 2019; shifting rows back instead, as linear probing does,
// would move rows of other writers.) At most 4/7 full: the owner grows before that. The hash must
// be keyed with a seed that clients do not know, because they choose names.
//
// Several writers may work at once if no key is two writers': slots are claimed by compare-and-swap
// and counts change by atomic adds, all relaxed. A search may see slots of other writers as they
// were earlier, which is harmless: rows of its own writer it sees as its writer left them (a thread
// reads its own writes), and what stands in other slots is somebody else's key either way. A row
// must say of itself that it is free before it is given back, and pools hand no row to another
// writer in the same batch (row_pool.h); so no stale row can pass for a wanted one.
//
// A view over memory of the owner; host and device.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/device/word_line.h"
#include "common/hd.h"

#include <cstddef>
#include <cstdint>

namespace gcoord {

// Longest chain of full lines. At 4/7 with a good hash one line in 20 is full, so a chain of k full
// lines has a probability of some 20^-k; 64 is never met.
inline constexpr std::uint32_t kProbeMax = 64;

// Slots have the hash in the upper half and the row in the lower, 0 is free; the last word counts
// the rows that stand in later lines and have passed this one.
using IndexLine = WordLine;

// The slot that a writer emptied last, kept for the row that it adds next: a lock that is released
// and taken again costs plain stores. Nobody else may use the slot meanwhile.
struct IndexSpare {
  std::uint64_t* slot = nullptr;
  std::uint32_t home = 0;  // The slot's line.
};

// What stands in a spare slot: no row has this number.
inline constexpr std::uint64_t kSpareSlot = 0xffff'ffffu;

// Whether writers must agree by atomic operations. A host with one writer does without, since they
// wait for every store before them.
enum class IndexWriters : std::uint8_t { One, Many };

struct HashIndex {
  IndexLine* lines = nullptr;
  std::uint32_t mask = 0;       // Line count - 1; the count is a power of two.
  IndexSpare* spare = nullptr;  // Of the writer; may be none.
  IndexWriters writers = IndexWriters::One;

  // Lines for this many rows: a power of two, 4/7 full at most.
  static constexpr std::size_t line_count(std::size_t row_count) {
    std::size_t count = 1;
    while (count * 4 < row_count) {
      count *= 2;
    }
    return count;
  }

  GCOORD_HD static std::uint64_t slot_of(std::uint32_t hash, std::uint32_t row) {
    return static_cast<std::uint64_t>(hash) << 32 | row;
  }

  GCOORD_HD IndexLine& line(std::uint32_t hash, std::uint32_t probe) const {
    return lines[(hash + probe) & mask];
  }

  // The row for which same(row) holds among those with this hash, or 0.
  template <typename Same>
  GCOORD_HD std::uint32_t find(std::uint32_t hash, const Same& same) const {
    std::uint32_t row = 0;
    const auto visit = [&](std::uint32_t, std::uint64_t slot) {
      row = static_cast<std::uint32_t>(slot);
      return is_row(row) && same(row);
    };
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t probe = 0; probe < kProbeMax; ++probe) {
      std::uint64_t passed = 0;
      if (visit_slots(line(hash, probe), start(hash), HasHash{hash}, visit, passed)) {
        return row;
      }
      if (passed == 0) {
        return 0;
      }
    }
    return 0;
  }

  // Adds a row whose key is absent; the owner has kept the index at most 4/7 full.
  GCOORD_HD void insert(std::uint32_t hash, std::uint32_t row) const {
    GCOORD_ASSERT(row != 0);
    const std::uint64_t wanted = slot_of(hash, row);
    if (spare != nullptr && use_spare(hash, wanted)) {
      return;
    }
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t probe = 0; probe < kProbeMax; ++probe) {
      IndexLine& own = line(hash, probe);
      const auto take_slot = [&](std::uint32_t place, std::uint64_t) {
        return claim(own.slot[place], wanted);
      };
      std::uint64_t passed = 0;
      if (visit_slots(own, start(hash), IsWord{0}, take_slot, passed)) {
        return;
      }
      add(own.last, 1);
    }
    GCOORD_ASSERT(false);  // No free slot: the owner let the index grow too full.
  }

  // Removes a row; false when it is absent.
  GCOORD_HD bool erase(std::uint32_t hash, std::uint32_t row) const {
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t probe = 0; probe < kProbeMax; ++probe) {
      IndexLine& own = line(hash, probe);
      const auto empty = [&](std::uint32_t place, std::uint64_t) {
        empty_slot(own.slot[place], hash, probe);
        return true;
      };
      std::uint64_t passed = 0;
      if (visit_slots(own, start(hash), IsWord{slot_of(hash, row)}, empty, passed)) {
        return true;
      }
      if (passed == 0) {
        return false;
      }
    }
    return false;
  }

  // Gives up the spare slot, if there is one.
  GCOORD_HD void release_spare() const {
    if (spare != nullptr && spare->slot != nullptr) {
      relaxed_store(*spare->slot, 0);
      spare->slot = nullptr;
    }
  }

 private:
  struct HasHash {
    std::uint32_t hash;

    GCOORD_HD bool operator()(std::uint64_t slot) const {
      return static_cast<std::uint32_t>(slot >> 32) == hash;
    }
  };

  struct IsWord {
    std::uint64_t word;

    GCOORD_HD bool operator()(std::uint64_t slot) const { return slot == word; }
  };

  GCOORD_HD static bool is_row(std::uint32_t row) {
    return row != 0 && row != static_cast<std::uint32_t>(kSpareSlot);
  }

  // Where in its line a row stands if the slot was free: by bits that do not choose the line.
  GCOORD_HD static std::uint32_t start(std::uint32_t hash) {
    return (hash >> 24) * IndexLine::kSlots >> 8;
  }

  // Of a slot that was free a moment ago.
  GCOORD_HD bool claim(std::uint64_t& slot, std::uint64_t wanted) const {
    if (writers == IndexWriters::Many) {
      return relaxed_claim(slot, wanted);
    }
    relaxed_store(slot, wanted);
    return true;
  }

  GCOORD_HD void add(std::uint64_t& word, std::uint64_t count) const {
    if (writers == IndexWriters::Many) {
      relaxed_add(word, count);
    } else {
      relaxed_store(word, word + count);
    }
  }

  // A spare slot that does not serve the next row is given up, so that spare slots and rows
  // together are never more than the owner made room for.
  GCOORD_HD bool use_spare(std::uint32_t hash, std::uint64_t wanted) const {
    if (spare->slot == nullptr || spare->home != (hash & mask)) {
      release_spare();
      return false;
    }
    relaxed_store(*spare->slot, wanted);
    spare->slot = nullptr;
    return true;
  }

  GCOORD_HD void empty_slot(std::uint64_t& slot, std::uint32_t hash, std::uint32_t probes) const {
    if (spare != nullptr && probes == 0) {
      release_spare();
      relaxed_store(slot, kSpareSlot);
      *spare = IndexSpare{&slot, hash & mask};
      return;
    }
    relaxed_store(slot, 0);
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t probe = 0; probe < probes; ++probe) {
      add(line(hash, probe).last, ~std::uint64_t{0});  // One less.
    }
  }
};

// An index on its way from a small table to a large one: rows are added to the large one, and
// looked for in both. The host moves a few rows per command (growing_index.h), because moving all
// at once would stall the node; a device moves all between two batches.
struct MovingIndex {
  HashIndex current;
  HashIndex previous;  // Without lines when nothing is left to move.

  template <typename Same>
  GCOORD_HD std::uint32_t find(std::uint32_t hash, const Same& same) const {
    const std::uint32_t row = current.find(hash, same);
    return row != 0 || previous.lines == nullptr ? row : previous.find(hash, same);
  }

  GCOORD_HD void insert(std::uint32_t hash, std::uint32_t row) const { current.insert(hash, row); }

  // Removes a row that is present.
  GCOORD_HD void erase(std::uint32_t hash, std::uint32_t row) const {
    if (current.erase(hash, row)) {
      return;
    }
    GCOORD_ASSERT(previous.lines != nullptr);
    const bool erased = previous.erase(hash, row);
    GCOORD_ASSERT(erased);
  }
};

}  // namespace gcoord
