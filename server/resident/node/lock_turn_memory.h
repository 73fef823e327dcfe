// The memory of the lock tables of a node whose turn runs on a device (lock_turn_service.h).
//
// Every stripe has pools and indexes of its own; sizes are chosen once. The columns are carved from
// memory of zeros, which is what empty tables are; what the stripes know of their columns is built
// on the host and written there by the owner. Host code.
#pragma once

#include "common/tables/column_arena.h"
#include "common/tables/hash_index.h"
#include "server/device_turn/view.h"
#include "server/resident/node/lock_turn_service.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

// Rows of the pools of one stripe. Powers of two, so that rings and indexes waste nothing.
struct LockTurnSizes {
  std::uint32_t locks = 1u << 12;
  std::uint32_t sessions = 1u << 12;
  std::uint32_t requests = 1u << 13;
  std::uint32_t name_blocks = 1u << 14;
};

// Positions of a pool's ring: what comes back never lands on what has not been taken yet.
constexpr std::uint32_t ring_positions(std::uint32_t rows) {
  return std::bit_ceil(2 * rows);
}

inline std::size_t lock_turn_bytes(const TurnShape& shape, const LockTurnSizes& sizes) {
  const auto pool = []<typename Record>(const Record&, std::uint32_t rows) {
    return ColumnArena::bytes_for<Record>(std::size_t{rows} + 1) +
           ColumnArena::bytes_for<std::uint32_t>(ring_positions(rows));
  };
  const std::size_t stripe =
      pool(locks::LockRecord{}, sizes.locks) + pool(locks::SessionRecord{}, sizes.sessions) +
      pool(locks::RequestRecord{}, sizes.requests) + pool(locks::NameBlock{}, sizes.name_blocks) +
      ColumnArena::bytes_for<IndexLine>(HashIndex::line_count(sizes.locks)) +
      ColumnArena::bytes_for<IndexLine>(HashIndex::line_count(sizes.sessions));
  return stripe * shape.stripe_count + ColumnArena::bytes_for<LockStripe>(shape.stripe_count) +
         ColumnArena::bytes_for<locks::LockWindow>(shape.stripe_count) +
         ColumnArena::bytes_for<locks::EntryBytes>(shape.stripe_count) +
         ColumnArena::bytes_for<locks::LockShardRow>(shape.shard_count) +
         ColumnArena::bytes_for<std::uint8_t>(shape.shard_count);
}

// A carved service, and what the owner is to write to `service.stripes`.
struct CarvedLocks {
  LockTurnService service;
  std::vector<LockStripe> stripes;
};

template <typename Arena>
struct LockTurnCarver {
  Arena& arena;

  template <typename Record, typename RowId>
  void pool(RowPool<Record, RowId>& pool, std::uint32_t rows, std::uint32_t& returned) {
    pool.records = arena.template column<Record>(std::size_t{rows} + 1);
    pool.free_rows = arena.template column<std::uint32_t>(ring_positions(rows));
    pool.capacity = rows;
    pool.position_mask = ring_positions(rows) - 1;
    pool.returned = &returned;
  }

  void index(MovingIndex& index, std::uint32_t rows) {
    const std::size_t lines = HashIndex::line_count(rows);
    index.current.lines = arena.template column<IndexLine>(lines);
    index.current.mask = static_cast<std::uint32_t>(lines - 1);
    index.current.writers = IndexWriters::Many;
  }
};

// `index_seed`: unknown to clients (common/tables/hash_index.h). `abort` is the node's
// TurnControl::abort.
template <typename Arena>
CarvedLocks carve_lock_turn(Arena& arena,
                            const TurnShape& shape,
                            const LockTurnSizes& sizes,
                            std::uint64_t index_seed,
                            std::uint64_t* abort) {
  CarvedLocks carved;
  carved.service.stripes = arena.template column<LockStripe>(shape.stripe_count);
  auto* windows = arena.template column<locks::LockWindow>(shape.stripe_count);
  auto* texts = arena.template column<locks::EntryBytes>(shape.stripe_count);
  carved.service.absent = arena.template column<std::uint8_t>(shape.shard_count);
  carved.service.abort = abort;
  carved.service.rows_per_stripe = stripe_rows(shape);
  auto* shards = arena.template column<locks::LockShardRow>(shape.shard_count);
  LockTurnCarver<Arena> carver{arena};
  for (std::uint32_t k = 0; k < shape.stripe_count; ++k) {
    LockStripe stripe;
    locks::LockPoolTops& ends = carved.service.stripes[k].ends;  // Where it will be.
    locks::LockTables& tables = stripe.shared.tables;
    stripe.shared.tops = &ends;
    tables.shards = shards;
    tables.shard_count = shape.shard_count;
    tables.index_seed = index_seed;
    tables.group_answers_apart = true;
    carver.pool(tables.locks, sizes.locks, ends.locks.returned);
    carver.pool(tables.sessions, sizes.sessions, ends.sessions.returned);
    carver.pool(tables.requests, sizes.requests, ends.requests.returned);
    carver.pool(tables.name_blocks, sizes.name_blocks, ends.name_blocks.returned);
    carver.index(tables.lock_index, sizes.locks);
    carver.index(tables.session_index, sizes.sessions);
    stripe.window = &windows[k];
    stripe.text = &texts[k];
    stripe.together = locks::tables_of(stripe.shared, windows[k].writer);
    stripe.ends.locks.returned = sizes.locks;
    stripe.ends.sessions.returned = sizes.sessions;
    stripe.ends.requests.returned = sizes.requests;
    stripe.ends.name_blocks.returned = sizes.name_blocks;
    carved.stripes.push_back(stripe);
  }
  return carved;
}

}  // namespace gcoord::server
