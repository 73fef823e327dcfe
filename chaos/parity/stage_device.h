// Packed rows between their table and a warp, through shared memory.
//
// Why: rows of 128 bytes that every lane loads for itself touch 32 lines with each access of a
// warp. Here eight lanes load one row, so that an access touches four lines, and each lane finds
// its own row in shared memory. The same for the half that a plain step writes back.
// Contract: device code only, included by .cu files; all lanes of a warp call each function with
// the same arguments; a warp has 32 staged rows of its own. Rows on their way are there for all
// lanes after `await_staged`: each lane waits for its own copies, and __syncwarp orders those of
// the others before what follows.
#pragma once

#include "common/hd.h"
#include "consensus/device/packed_table.h"

#include <cstdint>

namespace gcoord::chaos {

inline constexpr std::uint32_t kWarpLanes = 32;

// A row and a chunk that nobody reads: neighbouring rows then lie in different banks.
struct StagedRow {
  consensus::PackedRow row;
  consensus::MessageChunk apart;
};

inline constexpr std::uint32_t kStagedChunks =
    sizeof(consensus::PackedRow) / sizeof(consensus::MessageChunk);

GCOORD_DEVICE inline consensus::MessageChunk* chunks_of(consensus::PackedRow& row) {
  return reinterpret_cast<consensus::MessageChunk*>(&row);
}

// One chunk from global to shared memory, without passing a register or waiting.
GCOORD_DEVICE inline void copy_chunk_async(consensus::MessageChunk* to,
                                           const consensus::MessageChunk* from) {
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared), "l"(from) : "memory");
}

// Starts to load the rows named by rows[0..count), count <= 32, into staged[0..count).
GCOORD_DEVICE inline void stage_rows(const consensus::PackedTable& table,
                                     const std::uint32_t* rows,
                                     std::uint32_t count,
                                     StagedRow* staged) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  constexpr std::uint32_t kRows = kWarpLanes / kStagedChunks;
  const std::uint32_t chunk = lane % kStagedChunks;
  GCOORD_UNROLL
  for (std::uint32_t first = 0; first < kWarpLanes; first += kRows) {
    const std::uint32_t k = first + lane / kStagedChunks;
    if (k < count) {
      copy_chunk_async(chunks_of(staged[k].row) + chunk, chunks_of(table.packed[rows[k]]) + chunk);
    }
  }
}

GCOORD_DEVICE inline void await_staged() {
  asm volatile("cp.async.wait_all;" : : : "memory");
  __syncwarp();
}

// Stores the second half of those staged rows that have a bit in the mask.
GCOORD_DEVICE inline void unstage_moving(const consensus::PackedTable& table,
                                         const std::uint32_t* rows,
                                         std::uint32_t mask,
                                         StagedRow* staged) {
  __syncwarp();
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  constexpr std::uint32_t kMoving = kStagedChunks / 2;
  constexpr std::uint32_t kRows = kWarpLanes / kMoving;
  const std::uint32_t chunk = kMoving + lane % kMoving;
  GCOORD_UNROLL
  for (std::uint32_t first = 0; first < kWarpLanes; first += kRows) {
    const std::uint32_t k = first + lane / kMoving;
    if ((mask >> k & 1u) != 0) {
      chunks_of(table.packed[rows[k]])[chunk] = chunks_of(staged[k].row)[chunk];
    }
  }
  __syncwarp();
}

}  // namespace gcoord::chaos
