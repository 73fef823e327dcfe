#include "server/resident/node/image.h"

#include "server/device_turn/range_arena.h"

#include <algorithm>

namespace gcoord::server {

ResidentImage::ResidentImage(const ResidentNodeOptions& options, std::size_t bytes)
    : node_(bytes),
      pool_(consensus::wide_pool_bytes(kTurnNodes, options.shape.shard_count)),
      pages_(page_pool_bytes<locks::LockEntry>(
          std::size_t{stripe_rows(options.shape)} * options.shape.stripe_count,
          options.shape.log_slots)) {
  RangeArena arena(node_.range());
  view_ = carve_turn_rows<LockTurnService>(arena, options.shape);
  view_.self = options.names.number(options.self);
  CarvedLocks carved = carve_lock_turn(
      arena, options.shape, options.sizes, options.index_seed, &view_.control->abort);
  view_.service = carved.service;
  std::copy(carved.stripes.begin(), carved.stripes.end(), view_.service.stripes);
  RangeArena pool(pool_.range());
  consensus::carve_wide_pool(pool, view_.table, options.shape.shard_count);
  RangeArena pages(pages_.range());
  carve_page_pool(pages, view_.pages, stripe_rows(options.shape));
  free_all_pages(view_.pages);
}

}  // namespace gcoord::server
