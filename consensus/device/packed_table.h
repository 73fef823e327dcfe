// The rows of a table that keeps them packed: 136 bytes each, and a few of them as columns. A table
// for more than three members by rule has 16 bytes more for each of those (PackedTable::more).
//
// What: a column of deadlines, which the idle scan reads and nothing else, a column of packed rows,
// and a pool of `wide` rows for those that do not fit (packed_row.h). A row moves between the two
// forms whenever it is stored. Why a pool: exceptional rows are few, and space for all of them
// would be three times the table.
// Contract: one thread loads and stores a row at a time; different rows are independent, places of
// the pool are claimed with relaxed atomics. A pool that is full loses the row's step: `store_row`
// returns false, counts it in `exhausted`, and the owner must stop (fail-stop), because the row is
// then behind what others were told. An owner that counts the wide rows can give the table a larger
// pool in time (device_stepper.cc). POD view; memory belongs to an arena; host and device.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"
#include "common/random.h"
#include "common/tables/column_arena.h"
#include "consensus/device/packed_row.h"
#include "consensus/device/packed_words.h"
#include "consensus/device/row_copy.h"
#include "consensus/step/message_tiles.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::consensus {

struct PackedTable {
  std::uint32_t row_count = 0;
  std::uint32_t slot_count = 0;
  Tick* deadline = nullptr;
  PackedRow* packed = nullptr;
  PackedSlot* more = nullptr;           // By row, more_count each: members beyond the packed three.
  std::uint32_t more_count = 0;         // The kMore of whoever loads and stores rows.
  ShardColumns wide;                    // row_count of it: size of the pool, a multiple of 32.
  std::uint32_t* wide_taken = nullptr;  // A bit per place of the pool.
  std::uint32_t* exhausted = nullptr;   // Rows that found no place in the pool; must stay 0.
};

inline constexpr std::uint32_t kWordBits = 32;

// Places of the pool are claimed by words of 32.
constexpr std::uint32_t whole_words(std::uint32_t count) {
  return (count + kWordBits - 1) / kWordBits * kWordBits;
}

// Bytes of the rows of a table, and of a pool of wide_count places.
inline std::size_t packed_rows_bytes(std::uint32_t row_count, std::uint32_t more_count = 0) {
  const std::size_t more = std::size_t{row_count} * more_count;
  return ColumnArena::bytes_for<Tick>(row_count) + ColumnArena::bytes_for<PackedRow>(row_count) +
         ColumnArena::bytes_for<std::uint32_t>(1) +
         (more != 0 ? ColumnArena::bytes_for<PackedSlot>(more) : 0);
}

inline std::size_t wide_pool_bytes(std::uint32_t slot_count, std::uint32_t wide_count) {
  const std::uint32_t places = whole_words(wide_count);
  return shard_columns_bytes(places, slot_count) +
         ColumnArena::bytes_for<std::uint32_t>(places / kWordBits);
}

// Both together.
inline std::size_t packed_table_bytes(std::uint32_t row_count,
                                      std::uint32_t slot_count,
                                      std::uint32_t wide_count) {
  return packed_rows_bytes(row_count) + wide_pool_bytes(slot_count, wide_count);
}

// Carves a table without a pool out of an arena of zero-filled memory, host or device. The rows
// mean nothing until each has been stored once.
template <typename Arena>
PackedTable carve_packed_rows(Arena& arena, std::uint32_t row_count, std::uint32_t slot_count) {
  PackedTable table;
  table.row_count = row_count;
  table.slot_count = slot_count;
  table.deadline = arena.template column<Tick>(row_count);
  table.packed = arena.template column<PackedRow>(row_count);
  table.exhausted = arena.template column<std::uint32_t>(1);
  return table;
}

// Carves the members of each row beyond the packed ones; none are what a table has without it.
template <typename Arena>
void carve_more_slots(Arena& arena, PackedTable& table, std::uint32_t more_count) {
  if (more_count != 0) {
    table.more = arena.template column<PackedSlot>(std::size_t{table.row_count} * more_count);
    table.more_count = more_count;
  }
}

// Carves a table's pool, all places free, out of the same arena or another.
template <typename Arena>
void carve_wide_pool(Arena& arena, PackedTable& table, std::uint32_t wide_count) {
  const std::uint32_t places = whole_words(wide_count);
  table.wide = place_shard_columns(arena, places, table.slot_count);
  table.wide_taken = arena.template column<std::uint32_t>(places / kWordBits);
}

// Both out of one arena.
template <typename Arena>
PackedTable carve_packed_table(Arena& arena,
                               std::uint32_t row_count,
                               std::uint32_t slot_count,
                               std::uint32_t wide_count) {
  PackedTable table = carve_packed_rows(arena, row_count, slot_count);
  carve_wide_pool(arena, table, wide_count);
  return table;
}

// --- One row

// The place of a row that has none in the pool.
inline constexpr std::uint32_t kNotWide = ~0u;

// That the code is for this table. A device's is chosen by its host (TurnShape::voters), once.
template <std::uint32_t kMore>
GCOORD_HD inline void assert_more(const PackedTable& table) {
  if constexpr (!kIndexBySelection) {
    GCOORD_ASSERT(kMore == table.more_count);
  }
}

// The members beside a row, to or from it. Host and device; nothing where there are none.
template <std::uint32_t kMore>
GCOORD_HD inline void load_more(const PackedTable& table, std::uint32_t row, ShardRef to) {
  if constexpr (kMore != 0) {
    PackedMore<kMore> more;
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kMore; ++k) {
      more.slot[k] = load_packed_slot(table.more[std::size_t{row} * kMore + k]);
    }
    more.unpack(to);
  }
}

template <std::uint32_t kMore>
GCOORD_HD inline void store_more(const PackedMore<kMore>& more,
                                 const PackedTable& table,
                                 std::uint32_t row) {
  if constexpr (kMore != 0) {
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kMore; ++k) {
      store_packed_slot(more.slot[k], table.more[std::size_t{row} * kMore + k]);
    }
  }
}

// Loads a row; returns its place in the pool, for store_row. `kMore`: the table's more_count.
template <std::uint32_t kMore = 0>
GCOORD_HD inline std::uint32_t load_row(const PackedTable& table, std::uint32_t row, ShardRef to) {
  GCOORD_ASSERT(row < table.row_count);
  assert_more<kMore>(table);
  const PackedRow packed = load_packed(table.packed[row]);
  if (!is_wide(packed)) {
    unpack(packed, table.deadline[row], to);
    load_more<kMore>(table, row, to);
    return kNotWide;
  }
  const auto place = static_cast<std::uint32_t>(packed.term);
  copy_row(ShardRef(table.wide, place), to);
  return place;
}

// Takes a place of one word of the pool, from the row's bit on; kWordBits if there is none. What is
// read may be old, so a bit that looks free is tried, and what that says of the others is new.
GCOORD_HD inline std::uint32_t claim_in_word(std::uint32_t& word, std::uint32_t row) {
  std::uint32_t taken = word;
  for (std::uint32_t k = 0; k < kWordBits && ~taken != 0; ++k) {
    const std::uint32_t bit = (row + k) % kWordBits;
    const std::uint32_t mask = 1u << bit;
    if ((taken & mask) != 0) {
      continue;
    }
    taken = relaxed_set(word, mask);
    if ((taken & mask) == 0) {
      return bit;
    }
  }
  return kWordBits;
}

// A free place of the pool; row_count of the pool if there is none. The search begins at a word
// that is chosen by chance from the row: rows become wide in runs of neighbours, and where each run
// began at its own word, the places behind it would fill up, and every row search through them. Of
// as many threads as there are free places when they begin, each finds one: of those places a
// thread finds only such ones taken that another has claimed, which claims no second one.
GCOORD_HD inline std::uint32_t claim_wide(const PackedTable& table, std::uint32_t row) {
  const std::uint32_t words = table.wide.row_count / kWordBits;
  const std::uint32_t first =
      words != 0 ? static_cast<std::uint32_t>(mix64(row / kWordBits) % words) : 0;
  for (std::uint32_t k = 0; k < words; ++k) {
    const std::uint32_t word = (first + k) % words;
    const std::uint32_t bit = claim_in_word(table.wide_taken[word], row);
    if (bit != kWordBits) {
      return word * kWordBits + bit;
    }
  }
  return table.wide.row_count;
}

GCOORD_HD inline void release_wide(const PackedTable& table, std::uint32_t place) {
  relaxed_clear(table.wide_taken[place / kWordBits], 1u << place % kWordBits);
}

// What the table holds of a row whose columns are in a place of the pool.
GCOORD_HD inline void name_place(PackedRow& packed, std::uint32_t place, Role role) {
  packed.term = place;
  packed.bits = static_cast<std::uint16_t>(kPackedWide | static_cast<std::uint32_t>(role)
                                                             << kPackedRoleShift);
}

GCOORD_HD inline bool store_wide(const PackedTable& table,
                                 std::uint32_t row,
                                 std::uint32_t wide_place,
                                 ShardRef from) {
  const std::uint32_t place = wide_place != kNotWide ? wide_place : claim_wide(table, row);
  if (place == table.wide.row_count) {
    relaxed_add(*table.exhausted, 1);
    return false;
  }
  copy_row(from, ShardRef(table.wide, place));
  name_place(table.packed[row], place, from.hot().role);
  return true;
}

// Stores a row in the form that fits it; `wide_place` is what load_row said of it. False if it is
// wide and the pool is full: then nothing was stored. `kMore`: the table's more_count.
template <std::uint32_t kMore = 0>
GCOORD_HD inline bool store_row(const PackedTable& table,
                                std::uint32_t row,
                                std::uint32_t wide_place,
                                ShardRef from) {
  GCOORD_ASSERT(row < table.row_count);
  assert_more<kMore>(table);
  PackedRow packed;
  PackedMore<kMore> more;
  if (!pack<kMore>(from, packed) || !more.pack(from)) {
    if (!store_wide(table, row, wide_place, from)) {
      return false;
    }
  } else {
    if (wide_place != kNotWide) {
      release_wide(table, wide_place);
    }
    store_packed(packed, table.packed[row]);
    store_more<kMore>(more, table, row);
  }
  table.deadline[row] = from.hot().deadline;
  return true;
}

}  // namespace gcoord::consensus
