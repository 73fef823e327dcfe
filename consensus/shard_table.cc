#include "consensus/shard_table.h"

#include "common/random.h"
#include "consensus/recover.h"

#include <cstring>

namespace gcoord::consensus {
namespace {

// Folds the bytes of one element into a digest, eight at a time; every element's size is a multiple
// of eight.
template <typename T>
std::uint64_t fold(std::uint64_t digest, const T& element) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  std::uint64_t words[sizeof(T) / sizeof(std::uint64_t)];
  std::memcpy(words, &element, sizeof element);
  for (const std::uint64_t word : words) {
    digest = mix64(digest ^ word);
  }
  return digest;
}

}  // namespace

std::size_t shard_columns_bytes(std::uint32_t row_count, std::uint32_t slot_count) {
  const std::size_t rows = row_count;
  return ColumnArena::bytes_for<Hot>(rows) + ColumnArena::bytes_for<Log>(rows) +
         ColumnArena::bytes_for<LogRuns>(rows) + ColumnArena::bytes_for<Storage>(rows) +
         ColumnArena::bytes_for<Election>(rows) + ColumnArena::bytes_for<Configuration>(rows) +
         ColumnArena::bytes_for<Progress>(rows * slot_count);
}

ShardColumns carve_shard_columns(ColumnArena& arena,
                                 std::uint32_t row_count,
                                 std::uint32_t slot_count) {
  GCOORD_ASSERT(slot_count >= 1);
  GCOORD_ASSERT(slot_count <= kReplicaSlots);
  ShardColumns columns;
  columns.row_count = row_count;
  columns.slot_count = slot_count;
  columns.hot = arena.column<Hot>(row_count);
  columns.log = arena.column<Log>(row_count);
  columns.runs = arena.column<LogRuns>(row_count);
  columns.storage = arena.column<Storage>(row_count);
  columns.election = arena.column<Election>(row_count);
  columns.configuration = arena.column<Configuration>(row_count);
  columns.progress = arena.column<Progress>(static_cast<std::size_t>(row_count) * slot_count);
  for (std::uint32_t row = 0; row < row_count; ++row) {
    recover(ShardRef(columns, row), RecoveredShard{}, NodeId{});
  }
  return columns;
}

std::uint64_t row_digest(const ShardColumns& columns, std::uint32_t row) {
  const ShardRef shard(columns, row);
  std::uint64_t digest = row;
  digest = fold(digest, shard.hot());
  digest = fold(digest, shard.log());
  digest = fold(digest, shard.runs());
  digest = fold(digest, shard.storage());
  digest = fold(digest, shard.election());
  digest = fold(digest, shard.configuration());
  for (std::uint32_t slot = 0; slot < columns.slot_count; ++slot) {
    digest = fold(digest, shard.progress(slot));
  }
  return digest;
}

}  // namespace gcoord::consensus
