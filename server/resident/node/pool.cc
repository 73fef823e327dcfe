#include "server/resident/node/pool.h"

#include "common/assert.h"
#include "common/bits.h"
#include "common/device/device_errors.h"
#include "server/device_turn/range_arena.h"
#include "server/resident/node/host_image.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using consensus::PackedTable;
using consensus::ShardRef;

constexpr std::uint32_t kWideOneIn = 16;
constexpr std::uint32_t kGrowth = 4;

// A pool of which less than one place in so many is taken is too large, by twice what makes up for
// one growth.
constexpr std::uint32_t kShrinkOneIn = 2 * kGrowth;

// Bytes of rows, packed and wide, that pass through the host when a pool shrinks: some tens of
// milliseconds across PCIe, in which the node is silent. All of a million rows would be twice that.
constexpr std::size_t kShrinkBytesMax = std::size_t{256} << 20;

// Packed rows that are read from the device at once: 8 MiB.
constexpr std::uint32_t kMoveRows = 1u << 16;

// Turns that a stripe may begin before it has heard that the node leaves, the one that asked
// included; it hears within some microseconds.
constexpr std::uint32_t kTurnsLeft = 3;

std::uint32_t places_kept(const TurnShape& shape) {
  return kTurnsLeft * kTurnPlaces * shape.stripe_count;
}

std::uint32_t words_of(const PackedTable& table) {
  return table.wide.row_count / consensus::kWordBits;
}

// A table of the same rows whose pool lies in an image of the host.
PackedTable with_pool(const PackedTable& table, const HostImage& image, std::uint32_t places) {
  PackedTable there = table;
  RangeArena arena(image.range());
  consensus::carve_wide_pool(arena, there, places);
  return there;
}

std::uint32_t taken_places(const PackedTable& table) {
  std::uint32_t taken = 0;
  for (std::uint32_t word = 0; word < words_of(table); ++word) {
    taken += count_bits(table.wide_taken[word]);
  }
  return taken;
}

// Calls copy(to, from, bytes) for each run of memory in which the first pool's places lie one after
// the other.
template <typename Copy>
Status for_each_run(const PackedTable& from, const PackedTable& to, const Copy& copy) {
  const std::size_t places = from.wide.row_count;
  const auto column = [&](auto* target, const auto* source) {
    return copy(reinterpret_cast<std::byte*>(target),
                reinterpret_cast<const std::byte*>(source),
                places * sizeof *source);
  };
  GCOORD_TRY_STATUS(column(to.wide.hot, from.wide.hot));
  GCOORD_TRY_STATUS(column(to.wide.log, from.wide.log));
  GCOORD_TRY_STATUS(column(to.wide.runs, from.wide.runs));
  GCOORD_TRY_STATUS(column(to.wide.storage, from.wide.storage));
  GCOORD_TRY_STATUS(column(to.wide.election, from.wide.election));
  GCOORD_TRY_STATUS(column(to.wide.configuration, from.wide.configuration));
  for (std::size_t slot = 0; slot < from.wide.slot_count; ++slot) {
    GCOORD_TRY_STATUS(
        column(to.wide.progress + slot * to.wide.row_count, from.wide.progress + slot * places));
  }
  return copy(reinterpret_cast<std::byte*>(to.wide_taken),
              reinterpret_cast<const std::byte*>(from.wide_taken),
              words_of(from) * sizeof *from.wide_taken);
}

}  // namespace

std::uint32_t first_wide_places(const TurnShape& shape) {
  const std::uint32_t places = std::max(shape.shard_count / kWideOneIn, 2 * places_kept(shape));
  return std::min(places, shape.shard_count);
}

std::uint32_t wide_ask_from(const TurnShape& shape, const PackedTable& table) {
  const std::uint32_t places = table.wide.row_count;
  if (places >= table.row_count) {
    return 0;
  }
  const std::uint32_t kept = places_kept(shape);
  return places > kept ? places - kept : 1;
}

std::uint32_t shrunk_places(const TurnShape& shape, const PackedTable& table, std::uint32_t taken) {
  const std::uint32_t places = table.wide.row_count;
  // Twice what is taken, and behind that what is kept for the turns under way.
  const std::uint32_t wanted = std::max(shape.wide_count, 2 * taken + places_kept(shape));
  const std::size_t bytes = consensus::wide_pool_bytes(table.slot_count, places) +
                            std::size_t{table.row_count} * sizeof(consensus::PackedRow);
  const bool large =
      bytes <= kShrinkBytesMax && taken < places / kShrinkOneIn && wanted <= places / kGrowth;
  return large ? consensus::whole_words(wanted) : 0;
}

Status ResidentPool::open(PackedTable& table, std::uint32_t places) {
  GCOORD_TRY(range_,
             registry_.allocate(netcore::MemoryKind::Private,
                                consensus::wide_pool_bytes(table.slot_count, places)));
  RangeArena arena(range_);
  consensus::carve_wide_pool(arena, table, places);
  return {};
}

Result<std::uint32_t> ResidentPool::take_over(PackedTable& table, const PackedTable& image) {
  const std::uint32_t taken = taken_places(image);
  const std::uint32_t wanted = std::min(table.row_count, std::max(2 * taken, table.wide.row_count));
  if (consensus::whole_words(wanted) > table.wide.row_count) {
    registry_.release(range_.id);
    GCOORD_TRY_STATUS(open(table, wanted));
  }
  HostImage pool(consensus::wide_pool_bytes(table.slot_count, table.wide.row_count));
  const PackedTable to = with_pool(image, pool, table.wide.row_count);
  for (std::uint32_t row = 0; row < image.row_count && taken != 0; ++row) {
    consensus::PackedRow& packed = image.packed[row];
    if (consensus::is_wide(packed)) {
      const auto before = static_cast<std::uint32_t>(packed.term);
      const std::uint32_t place = consensus::claim_wide(to, row);
      copy_row(ShardRef(image.wide, before), ShardRef(to.wide, place));
      packed.term = place;
    }
  }
  GCOORD_TRY_STATUS(pool.copy_to(registry_.source(), range_.address));
  return taken;
}

Status ResidentPool::grow(PackedTable& table) {
  const PackedTable before = table;
  const netcore::MemoryRangeId smaller = range_.id;
  const std::uint32_t places = std::min(table.row_count, kGrowth * before.wide.row_count);
  if (const Status opened = open(table, places); !opened.ok()) {
    return {StatusCode::ResourceExhausted,
            "no memory for " + std::to_string(places) +
                " rows that do not fit 128 bytes: " + opened.message(),
            kDeviceExhausted};
  }
  netcore::MemorySource& source = registry_.source();
  GCOORD_TRY_STATUS(for_each_run(before, table, [&source](auto* to, const auto* from, auto bytes) {
    return source.copy_within(to, from, bytes);
  }));
  registry_.release(smaller);
  return {};
}

Result<std::uint32_t> ResidentPool::taken(const PackedTable& table) const {
  std::vector<std::uint32_t> words(words_of(table));
  GCOORD_TRY_STATUS(registry_.source().read(std::as_writable_bytes(std::span{words}),
                                            reinterpret_cast<const std::byte*>(table.wide_taken)));
  std::uint32_t taken = 0;
  for (const std::uint32_t word : words) {
    taken += count_bits(word);
  }
  return taken;
}

// Of `count` rows of the device from row `first` on, those in the pool; how many.
Result<std::uint32_t> ResidentPool::move_rows(const Move& move,
                                              std::uint32_t first,
                                              std::uint32_t count) {
  std::vector<consensus::PackedRow> rows(count);
  const auto bytes = std::as_writable_bytes(std::span{rows});
  auto* const there = reinterpret_cast<std::byte*>(move.from.packed + first);
  GCOORD_TRY_STATUS(registry_.source().read(bytes, there));
  std::uint32_t moved = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    if (!consensus::is_wide(rows[k])) {
      continue;
    }
    const auto before = static_cast<std::uint32_t>(rows[k].term);
    const std::uint32_t bit = 1u << before % consensus::kWordBits;
    const bool taken = before < move.from.wide.row_count &&
                       (move.from.wide_taken[before / consensus::kWordBits] & bit) != 0;
    const std::uint32_t place = taken ? consensus::claim_wide(move.to, first + k) : 0;
    if (!taken || place >= move.to.wide.row_count) {
      return Status{
          StatusCode::Internal,
          "row " + std::to_string(first + k) + " of the device names a place that it has not",
          kDeviceFailed};
    }
    consensus::release_wide(move.from, before);  // Of the image: no other row may name it.
    copy_row(ShardRef(move.from.wide, before), ShardRef(move.to.wide, place));
    rows[k].term = place;
    ++moved;
  }
  if (moved != 0) {
    GCOORD_TRY_STATUS(registry_.source().write(there, bytes));
  }
  return moved;
}

// The device's rows name new places before those are filled: nothing runs, and a failure is the
// end of the node.
Result<std::uint32_t> ResidentPool::shrink(PackedTable& table, std::uint32_t places) {
  netcore::MemorySource& source = registry_.source();
  const PackedTable before = table;
  const netcore::MemoryRangeId larger = range_.id;
  HostImage held(consensus::wide_pool_bytes(before.slot_count, before.wide.row_count));
  const PackedTable from = with_pool(before, held, before.wide.row_count);
  GCOORD_TRY_STATUS(for_each_run(before, from, [&source](auto* to, const auto* at, auto bytes) {
    return source.read(std::span{to, bytes}, at);
  }));
  GCOORD_TRY_STATUS(open(table, places));
  HostImage smaller(consensus::wide_pool_bytes(table.slot_count, table.wide.row_count));
  const PackedTable to = with_pool(table, smaller, table.wide.row_count);
  std::uint32_t moved = 0;
  for (std::uint32_t row = 0; row < table.row_count; row += kMoveRows) {
    const std::uint32_t count = std::min(kMoveRows, table.row_count - row);
    GCOORD_TRY(const std::uint32_t some, move_rows({from, to}, row, count));
    moved += some;
  }
  GCOORD_TRY_STATUS(smaller.copy_to(source, range_.address));
  registry_.release(larger);
  return moved;
}

}  // namespace gcoord::server
