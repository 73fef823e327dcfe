#include "server/resident/node/pools.h"

#include <algorithm>
#include <span>

namespace gcoord::server {

NodePools::NodePools(netcore::MemoryRegistry& registry, ResidentView& view)
    : registry_(registry), view_(view), wide_(registry), pages_(registry) {}

Status NodePools::open(const PageLimits& limits) {
  const TurnShape& shape = view_.shape;
  const std::uint32_t rows = stripe_rows(shape);
  limits_.most = limits.most != 0 ? std::min(limits.most, rows) : rows;
  const std::uint32_t first = limits.first != 0 ? limits.first : first_stripe_pages(shape);
  limits_.first = std::min(first, limits_.most);
  GCOORD_TRY_STATUS(wide_.open(view_.table, shape.wide_count));
  view_.wide_ask = wide_ask_from(shape, view_.table);
  GCOORD_TRY_STATUS(pages_.open(view_, limits_.first));
  let_ask(true);
  return {};
}

void NodePools::let_ask(bool there_is_memory) {
  const bool more = view_.pages.stripe_pages < limits_.most;
  view_.pages.grows = there_is_memory && more ? 1 : 0;
}

Result<std::uint32_t> NodePools::take_over(const ResidentView& image) {
  GCOORD_TRY(const std::uint32_t wide, wide_.take_over(view_.table, image.table));
  view_.wide_ask = wide_ask_from(view_.shape, view_.table);
  GCOORD_TRY_STATUS(pages_.take_over(view_, image));
  let_ask(true);
  return wide;
}

Status NodePools::make_room() {
  std::uint32_t used = 0;
  GCOORD_TRY_STATUS(registry_.source().read(std::as_writable_bytes(std::span{&used, 1}),
                                            reinterpret_cast<const std::byte*>(view_.wide_used)));
  while (view_.wide_ask != 0 && used >= view_.wide_ask) {
    GCOORD_TRY_STATUS(wide_.grow(view_.table));
    view_.wide_ask = wide_ask_from(view_.shape, view_.table);
  }
  let_ask(true);
  GCOORD_TRY(const bool lacks, pages_.is_short(view_));
  return lacks && view_.pages.grows != 0 ? grow_pages() : Status{};
}

// By less than usual where there is no memory for that.
Status NodePools::grow_pages() {
  Status grown;
  for (std::uint32_t by = kPageGrowth; by > 1; by /= 2) {
    grown = pages_.resize(view_, std::min(limits_.most, by * view_.pages.stripe_pages));
    if (grown.code() != StatusCode::ResourceExhausted) {
      let_ask(true);
      return grown;
    }
  }
  let_ask(false);
  return {};
}

Result<std::uint32_t> NodePools::wide_to_shrink() const {
  if (view_.table.wide.row_count <= consensus::whole_words(view_.shape.wide_count)) {
    return 0u;  // As it began, nearly always.
  }
  GCOORD_TRY(const std::uint32_t taken, wide_.taken(view_.table));
  return shrunk_places(view_.shape, view_.table, taken);
}

Result<std::uint32_t> NodePools::pages_to_shrink() const {
  const std::uint32_t pages = view_.pages.stripe_pages;
  if (pages <= limits_.first) {
    return 0u;
  }
  GCOORD_TRY(const PageCounts counts, pages_.counts(view_));
  return shrunk_stripe_pages(pages, counts.taken_most, limits_.first);
}

// A device whose rows have a place each does not count them (count_places), so the number of those
// that moved is what it goes on with.
Status NodePools::shrink_wide(std::uint32_t places) {
  GCOORD_TRY(const std::uint32_t taken, wide_.taken(view_.table));
  const std::uint32_t wanted = consensus::whole_words(std::max(places, 2 * taken));
  if (wanted >= view_.table.wide.row_count) {
    return {};
  }
  GCOORD_TRY(const std::uint32_t moved, wide_.shrink(view_.table, wanted));
  view_.wide_ask = wide_ask_from(view_.shape, view_.table);
  return registry_.source().write(reinterpret_cast<std::byte*>(view_.wide_used),
                                  std::as_bytes(std::span{&moved, 1}));
}

Status NodePools::shrink_pages(std::uint32_t stripe_pages) {
  GCOORD_TRY(const PageCounts counts, pages_.counts(view_));
  const std::uint32_t wanted = std::max(stripe_pages, 2 * counts.taken_most);
  if (wanted >= view_.pages.stripe_pages) {
    return {};
  }
  const Status shrunk = pages_.resize(view_, wanted);
  if (shrunk.code() == StatusCode::FailedPrecondition ||
      shrunk.code() == StatusCode::ResourceExhausted) {
    return {};  // What is taken lies too far behind, or both have no room at once: the pool stays.
  }
  let_ask(true);
  return shrunk;
}

std::size_t NodePools::idle_shard_bytes() const {
  const TurnShape& shape = view_.shape;
  const std::size_t pages = std::size_t{view_.pages.stripe_pages} * shape.stripe_count;
  const std::size_t bytes = turn_rows_bytes<LockTurnService>(shape) +
                            consensus::wide_pool_bytes(shape.voters, view_.table.wide.row_count) +
                            page_pool_bytes<locks::LockEntry>(pages, shape.log_slots);
  constexpr std::size_t kOfService = sizeof(locks::LockShardRow) + sizeof(std::uint8_t);
  return bytes / shape.shard_count + kOfService;
}

}  // namespace gcoord::server
