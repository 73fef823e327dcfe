// The same cluster in device memory, as its kernels see it.
//
// What: packed tables instead of columns, and what one thread of each kernel does. A turn has three
// kernels. In the first one every block lists those of its rows that want a turn, which costs the
// others a scan of eight bytes and a few flags, and takes those that lead through the whole turn if
// a plain step will do (consensus/step/plain_step.h). The second one does that for the others,
// whose step is shorter and leaves room for more threads. The third one gives the rest a whole
// step, whose code and registers are three times as many. POD views, passed by value; host and
// device, so that g++ compiles what runs on the device.
#pragma once

#include "chaos/parity/digest.h"
#include "chaos/parity/drain_outbox.h"
#include "chaos/parity/start.h"
#include "chaos/parity/turn.h"
#include "common/device/device_atomic.h"
#include "common/device/prefetch.h"
#include "common/hd.h"
#include "consensus/device/packed_table.h"
#include "consensus/step/message_tiles.h"

#include <cstdint>
#include <cstring>

namespace gcoord::chaos {

// What the kernel that lists a block's rows leaves to the next one. One access of 16 bytes.
struct alignas(16) ListedBlock {
  std::uint32_t place_first = 0;  // The place of the first leader.
  std::uint32_t leaders = 0;
  std::uint32_t others = 0;
  std::uint32_t reserved = 0;
};

// Rows that one block lists.
inline constexpr std::uint32_t kBlockRows = 512;

constexpr std::uint32_t block_count_of(std::uint32_t rows) {
  return (rows + kBlockRows - 1) / kBlockRows;
}

// Rows that want a turn, by node. Two counts of each kind, used in turns: one is filled while the
// other is cleared for the next turn.
struct ActiveRows {
  ListedBlock* block[kResidentNodes]{};     // By block of rows.
  std::uint32_t* listed[kResidentNodes]{};  // Its rows that do not lead, from its first row on.
  std::uint32_t* rest[kResidentNodes]{};    // Rows that need a whole step, in no order.
  std::uint32_t* count = nullptr;           // [2][2][kResidentNodes]: all of them, and the rest.
  std::uint64_t* steps = nullptr;           // Rows stepped so far, by node.

  GCOORD_HD std::uint32_t& count_of(std::uint64_t turn, std::uint32_t node) const {
    return count[turn % 2 * kResidentNodes + node];
  }

  GCOORD_HD std::uint32_t& rest_count_of(std::uint64_t turn, std::uint32_t node) const {
    return count[(2 + turn % 2) * kResidentNodes + node];
  }
};

struct DeviceWorldView {
  ResidentView view;
  consensus::PackedTable table[kResidentNodes];
  ActiveRows active;
};

// Neighbouring rows that one thread scans: their flags are one 32-bit word each.
inline constexpr std::uint32_t kScanRowsPerThread = 4;

GCOORD_HD inline std::uint32_t flags_of_four(const std::uint8_t* flags, std::uint32_t row) {
  std::uint32_t word = 0;
  std::memcpy(&word, __builtin_assume_aligned(flags + row, sizeof word), sizeof word);
  return word;
}

GCOORD_HD inline void clear_four(std::uint8_t* flags) {
  const std::uint32_t none = 0;
  std::memcpy(__builtin_assume_aligned(flags, sizeof none), &none, sizeof none);
}

// Rows that are spoken to in a turn, of four neighbouring ones: a byte each.
GCOORD_HD inline std::uint32_t four_spoken_to(const ResidentView& view,
                                              std::uint32_t node,
                                              std::uint32_t row) {
  std::uint32_t receivers = 0;
  GCOORD_UNROLL
  for (std::uint32_t age = 1; age < kResidentAges; ++age) {
    GCOORD_UNROLL
    for (std::uint32_t other = 0; other < kResidentNodes; ++other) {
      if (age < view.shape.ages && other != node) {
        receivers |= flags_of_four(outgoing_of(view, other, age).receivers, row);
      }
    }
  }
  return receivers & 0x01010101u << node;
}

// Which of four neighbouring rows want this turn, a bit each: wants_turn (resident_row.h) by a few
// wide loads. `row` is a multiple of four; columns are padded to whole lines, so the last ones may
// lie beyond the table.
GCOORD_HD inline std::uint32_t four_wanting(const DeviceWorldView& world,
                                            const ResidentTurn& turn,
                                            std::uint32_t node,
                                            std::uint32_t row) {
  const ResidentView& view = world.view;
  const NodeTurn& now = turn.node[node];
  const consensus::MessageChunk low = consensus::load_chunk(world.table[node].deadline + row);
  const consensus::MessageChunk high = consensus::load_chunk(world.table[node].deadline + row + 2);
  const std::uint64_t deadline[4] = {low.word[0], low.word[1], high.word[0], high.word[1]};
  const std::uint32_t called =
      flags_of_four(view.node[node].due, row) | four_spoken_to(view, node, row);
  std::uint8_t* said = outgoing_of(view, node, 0).receivers + row;
  if (flags_of_four(said, 0) != 0) {
    clear_four(said);
  }
  const bool everybody = (now.wake_all | now.restart) != 0;
  std::uint32_t wanting = 0;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    const bool wants =
        everybody || (called >> 8 * k & 0xffu) != 0 || deadline[k] <= now.input.tick.value;
    wanting |= wants ? 1u << k : 0u;
  }
  if ((turn.rates.first_leaders | turn.rates.wake) != 0) {
    for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
      const bool wants = is_first_leader(turn, node, row + k) || wished_for(turn, node, row + k);
      wanting |= wants ? 1u << k : 0u;
    }
  }
  const std::uint32_t rows_left = view.shape.shard_count - row;
  return rows_left < kScanRowsPerThread ? wanting & ((1u << rows_left) - 1) : wanting;
}

// Which of the rows in a mask lead, a bit each.
GCOORD_HD inline std::uint32_t four_leading(const consensus::PackedTable& table,
                                            std::uint32_t row,
                                            std::uint32_t mask) {
  std::uint32_t leading = 0;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    const bool leads = (mask >> k & 1u) != 0 &&
                       consensus::role_of(table.packed[row + k]) == consensus::Role::Leader;
    leading |= leads ? 1u << k : 0u;
  }
  return leading;
}

// The parts of a row that are indexed at run time. A kernel keeps them in shared memory, because a
// thread's own memory shares its cache with everything that is loaded. 27 words of eight bytes: an
// odd number, so that the lanes of a warp find theirs in different banks.
struct RowArrays {
  consensus::LogRuns runs;
  consensus::Configuration configuration;
  consensus::Progress progress[kResidentNodes];
};

static_assert(sizeof(RowArrays) == 27 * sizeof(std::uint64_t));

// Asks for what the last part of the turn reads first. An entry that is not in the log yet is not
// what it will be.
GCOORD_HD inline void ask_ahead(const RowTurn& t, const consensus::Log& log) {
  t.ahead->index = LogIndex{};
  if (log.applied < log.last) {
    t.ahead->index = log.applied + 1;
    copy_16_ahead(&t.ahead->entry, &t.entry(log.applied + 1));
  }
}

// Steps a row by the plain step and stores it, if that will do; otherwise all is as before.
// `staged` is the row in its table, or a copy of which the caller puts back the second half.
template <consensus::Role role>
GCOORD_HD_FLAT bool step_plain_place(const consensus::PackedTable& table,
                                     const RowTurn& t,
                                     consensus::PackedRow& staged) {
  consensus::PackedRow packed = consensus::load_packed(staged);
  if (consensus::is_wide(packed)) {
    return false;
  }
  consensus::Hot hot;
  consensus::Log log;
  consensus::LogRuns runs;
  consensus::Storage storage;
  consensus::Election election;
  consensus::Configuration configuration;
  consensus::Progress progress[kResidentNodes];
  const consensus::RowParts parts{hot, log, runs, storage, election, configuration, progress};
  const consensus::ShardRef shard = consensus::ref_of(parts, ShardId{t.row}, kResidentNodes);
  consensus::unpack(packed, table.deadline[t.row], shard);
  ask_ahead(t, log);
  if (!try_plain_row<role>(t, shard, packed)) {
    return false;
  }
  consensus::store_packed_moving(packed, staged);
  table.deadline[t.row] = hot.deadline;
  return true;
}

// Takes the row in one place, for which what arrived was gathered, through its turn, or leaves it
// to the whole step. `staged` as above; returns whether it was written. `role` is the only one that
// is tried by a plain step.
template <consensus::Role role>
GCOORD_HD_FLAT bool run_place(const DeviceWorldView& world,
                              const RowTurn& t,
                              consensus::PackedRow& staged) {
  if (step_plain_place<role>(world.table[t.node], t, staged)) {
    carry_out_row(t);
    return true;
  }
  const std::uint32_t k = relaxed_add(world.active.rest_count_of(t.turn.number, t.node), 1);
  world.active.rest[t.node][k] = t.row;
  return false;
}

// Takes a row of the rest through its turn; `next_row` is what the thread steps after it.
GCOORD_HD_FLAT void step_rest(const DeviceWorldView& world,
                              const RowTurn& t,
                              std::uint32_t next_row,
                              RowArrays& arrays) {
  const consensus::PackedTable& table = world.table[t.node];
  consensus::Hot hot;
  consensus::Log log;
  consensus::Storage storage;
  consensus::Election election;
  const consensus::RowParts parts{
      hot, log, arrays.runs, storage, election, arrays.configuration, arrays.progress};
  const consensus::ShardRef shard = consensus::ref_of(parts, ShardId{t.row}, kResidentNodes);
  const std::uint32_t wide_place = consensus::load_row(table, t.row, shard);
  prefetch(&table.packed[next_row]);
  prefetch(&table.deadline[next_row]);
  gather_row(t);
  step_row(t, shard);
  consensus::store_row(table, t.row, wide_place, shard);
  carry_out_row(t);
}

// Rows first, first + stride, ... of the rest.
GCOORD_HD_FLAT void run_rest(const DeviceWorldView& world,
                             const ResidentTurn& turn,
                             std::uint32_t node,
                             std::uint32_t first,
                             std::uint32_t stride,
                             RowArrays& arrays) {
  const std::uint32_t count = world.active.rest_count_of(turn.number, node);
  const std::uint32_t* rows = world.active.rest[node];
  const consensus::StepInput input = step_input_of(turn.node[node]);
  for (std::uint32_t k = first; k < count; k += stride) {
    const std::uint32_t row = rows[k];
    const std::uint32_t place = outgoing_of(world.view, node, 0).place[row];
    const std::uint32_t next = k + stride < count ? k + stride : k;
    RowWork work;
    RowLists lists;
    const RowTurn t{world.view, turn, input, node, row, place, work, lists};
    step_rest(world, t, rows[next], arrays);
  }
}

// Takes one row out, whole.
GCOORD_HD inline void copy_place(const DeviceWorldView& world,
                                 std::uint32_t node,
                                 std::uint32_t row,
                                 consensus::RowCopy& out) {
  out = consensus::RowCopy{};
  consensus::load_row(world.table[node], row, consensus::ref_of(out, ShardId{row}, kResidentNodes));
}

// After a turn: counts its rows and clears the counts of the next one. One thread per node.
GCOORD_HD inline void close_turn(const ActiveRows& active, std::uint64_t turn, std::uint32_t node) {
  active.steps[node] += active.count_of(turn, node);
  active.count_of(turn + 1, node) = 0;
  active.rest_count_of(turn + 1, node) = 0;
}

GCOORD_HD inline void start_place(const DeviceWorldView& world,
                                  std::uint32_t node,
                                  std::uint32_t row) {
  if (row >= world.view.shape.shard_count) {
    return;
  }
  consensus::RowCopy copy;
  const consensus::ShardRef shard = consensus::ref_of(copy, ShardId{row}, kResidentNodes);
  start_row(shard, NodeId{node + 1});
  consensus::store_row(world.table[node], row, consensus::kNotWide, shard);
}

GCOORD_HD inline void digest_place(const DeviceWorldView& world,
                                   std::uint32_t node,
                                   std::uint32_t row,
                                   std::uint64_t* digest) {
  if (row >= world.view.shape.shard_count) {
    return;
  }
  consensus::RowCopy copy;
  const consensus::ShardRef shard = consensus::ref_of(copy, ShardId{row}, kResidentNodes);
  consensus::load_row(world.table[node], row, shard);
  digest[row] = resident_digest(world.view, node, row, shard);
}

}  // namespace gcoord::chaos
