#include "server/resident/node/image.h"

#include "server/device_turn/range_arena.h"

#include <algorithm>

namespace gcoord::server {

ResidentImage::ResidentImage(const ResidentNodeOptions& options, std::size_t bytes)
    : node_(bytes),
      pool_(consensus::wide_pool_bytes(options.shape.voters, options.shape.shard_count)),
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

namespace {

template <typename Service>
void start_all(const TurnNode<Service>& node, RowMemory memory) {
  for (std::uint32_t row = 0; row < node.shape.shard_count; ++row) {
    start_row(node, row, memory);
  }
}

}  // namespace

void start_rows(const ResidentView& view, RowMemory memory) {
  switch (view.shape.voters) {
    case 5:
      return start_all(as_node_of<5>(view), memory);
    case 7:
      return start_all(as_node_of<7>(view), memory);
    default:
      return start_all(view, memory);
  }
}

}  // namespace gcoord::server
