// The same cluster in device memory, as its kernels see it.
//
// What: packed tables instead of columns, the list of rows that want a turn, and what one thread
// of each kernel does. Why a list: rows that want nothing cost the scan of eight bytes and a few
// flags; the rest is dense work. Within a block of the scan, leaders come first, so that the lanes
// of a warp mostly do the same. POD views, passed by value; host and device, so that g++ compiles
// what runs on the device.
#pragma once

#include "chaos/resident/resident_carry_out.h"
#include "chaos/resident/resident_digest.h"
#include "chaos/resident/resident_start.h"
#include "chaos/resident/resident_turn.h"
#include "common/hd.h"
#include "common/prefetch.h"
#include "consensus/message_tiles.h"
#include "consensus/packed_table.h"

#include <cstdint>
#include <cstring>

namespace gcoord::chaos {

// Rows that want a turn, by node. Two counts each, used in turns: one is filled while the other is
// cleared for the next turn.
struct ActiveRows {
  std::uint32_t* row[kResidentNodes]{};
  std::uint32_t* count = nullptr;  // [2][kResidentNodes]
  std::uint64_t* steps = nullptr;  // Rows stepped so far, by node.

  GCOORD_HD std::uint32_t& count_of(std::uint64_t turn, std::uint32_t node) const {
    return count[turn % 2 * kResidentNodes + node];
  }
};

struct DeviceWorldView {
  ResidentView view;
  consensus::PackedTable table[kResidentNodes];
  ActiveRows active;
};

// How a row counts in the scan.
enum class Activity : std::uint32_t { None = 0, Leader = 1, Other = 2 };

// Neighbouring rows that one thread scans: their flags are one 32-bit word each.
inline constexpr std::uint32_t kScanRowsPerThread = 4;

GCOORD_HD inline std::uint32_t flags_of_four(const std::uint8_t* flags, std::uint32_t row) {
  std::uint32_t word = 0;
  std::memcpy(&word, __builtin_assume_aligned(flags + row, sizeof word), sizeof word);
  return word;
}

// Whether none of four neighbouring rows can want this turn, by a few wide loads. `row` is a
// multiple of four; columns are padded to whole lines, so the last ones may lie beyond the table.
GCOORD_HD inline bool four_rest(const DeviceWorldView& world,
                                const ResidentTurn& turn,
                                std::uint32_t node,
                                std::uint32_t row) {
  const ResidentView& view = world.view;
  const NodeTurn& now = turn.node[node];
  std::uint32_t calls = (now.wake_all | now.restart) | turn.rates.first_leaders | turn.rates.wake;
  calls |= flags_of_four(view.node[node].due, row);
  calls |= flags_of_four(outgoing_of(view, node, turn.number).receivers, row);
  const std::uint32_t bit = 0x01010101u << node;
  for (std::uint32_t age = 1; age < view.shape.ages && age <= turn.number; ++age) {
    for (std::uint32_t other = 0; other < kResidentNodes; ++other) {
      const Outgoing& outgoing = outgoing_of(view, other, turn.number - age);
      calls |= other == node ? 0u : flags_of_four(outgoing.receivers, row) & bit;
    }
  }
  const consensus::MessageChunk one = consensus::load_chunk(world.table[node].deadline + row);
  const consensus::MessageChunk two = consensus::load_chunk(world.table[node].deadline + row + 2);
  const std::uint64_t tick = now.input.tick.value;
  return calls == 0 && one.word[0] > tick && one.word[1] > tick && two.word[0] > tick &&
         two.word[1] > tick;
}

GCOORD_HD inline Activity activity_of(const DeviceWorldView& world,
                                      const ResidentTurn& turn,
                                      std::uint32_t node,
                                      std::uint32_t row) {
  if (row >= world.view.shape.shard_count) {
    return Activity::None;
  }
  const consensus::PackedTable& table = world.table[node];
  if (!wants_turn(world.view, turn, node, row, table.deadline[row])) {
    return Activity::None;
  }
  const bool leads = consensus::role_of(table.packed[row]) == consensus::Role::Leader;
  return leads ? Activity::Leader : Activity::Other;
}

// The three parts of a turn for the row in one place of the active list.
GCOORD_HD inline void gather_place(const DeviceWorldView& world,
                                   const ResidentTurn& turn,
                                   std::uint32_t node,
                                   std::uint32_t place) {
  const consensus::StepInput& input = turn.node[node].input;
  gather_row(RowTurn{world.view, turn, input, node, world.active.row[node][place], place});
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

// Asks for what the step of a later place begins with.
GCOORD_HD inline void prefetch_place(const DeviceWorldView& world,
                                     const ResidentTurn& turn,
                                     std::uint32_t node,
                                     std::uint32_t row,
                                     std::uint32_t place) {
  prefetch(&world.table[node].packed[row]);
  prefetch(&world.table[node].deadline[row]);
  const consensus::StepInput& input = turn.node[node].input;
  const ArrivedMessages arrived{RowTurn{world.view, turn, input, node, row, place}};
  const consensus::MessagePlace first = arrived.lies(0);
  GCOORD_UNROLL
  for (std::uint32_t c = 0; c < consensus::kMessageChunks; ++c) {
    prefetch(first.start + c * first.chunk_stride * sizeof(consensus::MessageChunk));
  }
}

// Steps the row in one place; `next` and `next_row` are what the thread steps after it.
GCOORD_HD_FLAT void step_place(const DeviceWorldView& world,
                               const ResidentTurn& turn,
                               const RowTurn& t,
                               std::uint32_t next_row,
                               std::uint32_t next,
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
  prefetch_place(world, turn, t.node, next_row, next);
  step_row(t, shard);
  consensus::store_row(table, t.row, wide_place, shard);
}

// Steps the rows in places first, first + stride, ... of the active list.
GCOORD_HD_FLAT void step_places(const DeviceWorldView& world,
                                const ResidentTurn& turn,
                                std::uint32_t node,
                                std::uint32_t first,
                                std::uint32_t stride,
                                RowArrays& arrays) {
  const std::uint32_t count = world.active.count_of(turn.number, node);
  const std::uint32_t* rows = world.active.row[node];
  std::uint32_t row = first < count ? rows[first] : 0;
  const consensus::StepInput input = step_input_of(turn.node[node]);
  for (std::uint32_t place = first; place < count; place += stride) {
    const std::uint32_t next = place + stride < count ? place + stride : place;
    const std::uint32_t next_row = rows[next];
    const RowTurn t{world.view, turn, input, node, row, place};
    step_place(world, turn, t, next_row, next, arrays);
    row = next_row;
  }
}

GCOORD_HD inline void carry_out_place(const DeviceWorldView& world,
                                      const ResidentTurn& turn,
                                      std::uint32_t node,
                                      std::uint32_t place) {
  const consensus::StepInput& input = turn.node[node].input;
  carry_out_row(RowTurn{world.view, turn, input, node, world.active.row[node][place], place});
}

// Takes one row out, whole.
GCOORD_HD inline void copy_place(const DeviceWorldView& world,
                                 std::uint32_t node,
                                 std::uint32_t row,
                                 consensus::RowCopy& out) {
  out = consensus::RowCopy{};
  consensus::load_row(world.table[node], row, consensus::ref_of(out, ShardId{row}, kResidentNodes));
}

// After a turn: counts its rows and clears the count of the next one. One thread per node.
GCOORD_HD inline void close_turn(const ActiveRows& active, std::uint64_t turn, std::uint32_t node) {
  active.steps[node] += active.count_of(turn, node);
  active.count_of(turn + 1, node) = 0;
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
