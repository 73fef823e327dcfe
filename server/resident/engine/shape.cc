#include "server/resident/engine/shape.h"

#include "server/device_turn/scratch.h"
#include "server/resident/node/pool.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// Looks at every ring of clients in every turn still happen with so few (device_turn.h).
constexpr std::uint32_t kStripesMin = 16;
// When a node is lost, each row that it led takes four or five whole steps on both others, and a
// stripe takes 32 rows in a turn of up to a tenth of a millisecond: so many rows are done with in
// some ten milliseconds, and sixteen stripes for a million rows were at it for hundreds.
constexpr std::uint32_t kStripeRows = 4096;
// Three nodes of so many, and their clocks, find room on one GPU: eight to a multiprocessor.
constexpr std::uint32_t kStripesMax = 256;
// Stripes come together in blocks when there are more than a GPU has multiprocessors.
constexpr std::uint32_t kBlocks = 128;

// Twice the pieces of the longest name, so that one is never half compacted, and room behind it.
constexpr std::uint32_t kLogSlots = 128;

}  // namespace

TurnShape resident_shape(const ReplicaOptions& options) {
  TurnShape shape;
  shape.shard_count = options.shard_count;
  shape.voters = static_cast<std::uint32_t>(options.peers.size() + 1);
  const std::uint32_t usual =
      std::clamp(options.shard_count / kStripeRows, kStripesMin, kStripesMax);
  const std::uint32_t wanted = options.turn_stripes != 0 ? options.turn_stripes : usual;
  shape.stripe_count = std::min(wanted, (options.shard_count + kScanRows - 1) / kScanRows);
  shape.block_stripes =
      std::clamp(shape.stripe_count / kBlocks, 1u, block_stripes_max(shape.voters));
  shape.log_slots = kLogSlots;
  shape.entries_max = kTurnEntriesMax;
  shape.wide_count = first_wide_places(shape);
  return shape;
}

std::uint32_t resident_part_shards(const ReplicaOptions& options) {
  const TurnShape shape = resident_shape(options);
  const std::uint32_t threads = std::min(options.turn_threads, shape.stripe_count);
  if (threads <= 1) {
    return 0;
  }
  const std::uint32_t shards = (shape.stripe_count + threads - 1) / threads * stripe_rows(shape);
  return shards < shape.shard_count ? shards : 0;  // One part is nobody's to share.
}

}  // namespace gcoord::server
