#include "server/resident/engine/pool_keeper.h"

namespace gcoord::server {
namespace {

// Between two counts of log pages: each is a copy from the device.
constexpr std::uint64_t kCountMs = 1000;

// Between two tries of a node that found no memory for more log pages, and refuses what would need
// one: each is a rest, and may take memory from others on its device for a moment.
constexpr std::uint64_t kGrowAgainMs = 10'000;

// The node goes on with the room that it needs.
Status rest(const PoolKeeper::Environment& env) {
  return env.while_quiesced([] { return Status{}; });
}

}  // namespace

Status PoolKeeper::tend(std::uint64_t now_ms, const Environment& env) {
  if (env.turn.rests()) {
    env.metrics.on_growth();
    GCOORD_TRY_STATUS(rest(env));
  }
  GCOORD_TRY_STATUS(shrink(now_ms, env));
  if (now_ms >= counts_ms_) {
    counts_ms_ = now_ms + kCountMs;
    GCOORD_TRY(const PageCounts counts, env.node.pools().page_counts());
    env.metrics.show_pages(counts);
    const bool refuses = counts.refused != refused_;
    refused_ = counts.refused;
    if (refuses && env.node.pools().gave_up_growth() && now_ms >= grow_again_ms_) {
      grow_again_ms_ = now_ms + kGrowAgainMs;
      GCOORD_TRY_STATUS(rest(env));
    }
  }
  return {};
}

Status PoolKeeper::shrink(std::uint64_t now_ms, const Environment& env) {
  NodePools& pools = env.node.pools();
  if (wide_.is_due(now_ms)) {
    GCOORD_TRY(const std::uint32_t places, pools.wide_to_shrink());
    if (const std::uint32_t twice = wide_.found(places); twice != 0) {
      GCOORD_TRY_STATUS(env.while_quiesced([&] { return pools.shrink_wide(twice); }));
    }
  }
  if (pages_.is_due(now_ms)) {
    GCOORD_TRY(const std::uint32_t pages, pools.pages_to_shrink());
    if (const std::uint32_t twice = pages_.found(pages); twice != 0) {
      GCOORD_TRY_STATUS(env.while_quiesced([&] { return pools.shrink_pages(twice); }));
    }
  }
  return {};
}

}  // namespace gcoord::server
