#include "server/resident_pool.h"

#include "common/assert.h"
#include "common/bits.h"
#include "common/device_errors.h"
#include "server/host_image.h"
#include "server/range_arena.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using consensus::PackedTable;
using consensus::ShardRef;

constexpr std::uint32_t kWideOneIn = 16;
constexpr std::uint32_t kGrowth = 4;

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

void copy_place(const PackedTable& from, const PackedTable& to, std::uint32_t place) {
  to.wide_taken[place / consensus::kWordBits] |= 1u << place % consensus::kWordBits;
  copy_row(ShardRef(from.wide, place), ShardRef(to.wide, place));
}

}  // namespace

std::uint32_t first_wide_places(const TurnShape& shape) {
  const std::uint32_t places = std::max(shape.shard_count / kWideOneIn, 2 * places_kept(shape));
  return std::min(places, shape.shard_count);
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
  HostImage smaller(range_.bytes);
  GCOORD_TRY_STATUS(
      registry_.source().read(std::span{smaller.range().address, range_.bytes}, range_.address));
  const std::uint32_t before = table.wide.row_count;
  const PackedTable from = with_pool(table, smaller, before);
  registry_.release(range_.id);
  const std::uint32_t places = std::min(table.row_count, kGrowth * before);
  if (const Status opened = open(table, places); !opened.ok()) {
    return {StatusCode::ResourceExhausted,
            "no memory for " + std::to_string(places) +
                " rows that do not fit 128 bytes: " + opened.message(),
            kDeviceExhausted};
  }
  HostImage larger(consensus::wide_pool_bytes(table.slot_count, table.wide.row_count));
  const PackedTable to = with_pool(table, larger, table.wide.row_count);
  for (std::uint32_t place = 0; place < before; ++place) {
    const std::uint32_t word = from.wide_taken[place / consensus::kWordBits];
    if ((word >> place % consensus::kWordBits & 1u) != 0) {
      copy_place(from, to, place);
    }
  }
  return larger.copy_to(registry_.source(), range_.address);
}

std::uint32_t ResidentPool::ask_from(const TurnShape& shape, const PackedTable& table) const {
  const std::uint32_t places = table.wide.row_count;
  if (places >= table.row_count) {
    return 0;
  }
  const std::uint32_t kept = places_kept(shape);
  return places > kept ? places - kept : 1;
}

}  // namespace gcoord::server
