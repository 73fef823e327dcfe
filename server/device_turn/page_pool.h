// The memory of a node's log pages (pages.h), which grows and shrinks while the node rests.
//
// A larger pool begins with the pages of the smaller one under their numbers, so that all of it is
// copied at once and no row is looked at; a smaller one takes over those that it has, and the few
// taken ones behind them move to free places of their stripe, one by one, with their rows' names
// for them. What the device says of owners is checked against its rows before anything is believed.
// Contract: nothing runs on the node, but for page_counts(). Host code, one thread.
#pragma once

#include "common/assert.h"
#include "common/device/device_errors.h"
#include "common/status.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/pages.h"
#include "server/device_turn/range_arena.h"
#include "server/device_turn/view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// Pages of one stripe that a node of this shape begins with: few, because rows at rest hold none,
// and enough for the rows of a turn.
constexpr std::uint32_t first_stripe_pages(const TurnShape& shape) {
  constexpr std::uint32_t kPageOneIn = 128;  // Rows.
  const std::uint32_t rows = stripe_rows(shape);
  const std::uint32_t pages = std::max(rows / kPageOneIn, kTurnPlaces);
  return std::min(pages, rows);
}

// A pool that is short grows by so much.
inline constexpr std::uint32_t kPageGrowth = 4;

// Pages of a stripe that a pool should have in place of those it has, when no stripe has taken more
// than so many, and it began with `first`; 0: it keeps them. A fraction at most, so that it does
// not go up and down.
constexpr std::uint32_t shrunk_stripe_pages(std::uint32_t stripe_pages,
                                            std::uint32_t taken_most,
                                            std::uint32_t first) {
  const std::uint32_t wanted = std::max(first, 2 * taken_most);
  return taken_most < stripe_pages / (2 * kPageGrowth) && wanted <= stripe_pages / kPageGrowth
             ? wanted
             : 0;
}

// So many pages move while a node rests, each by copies of its own of some ten microseconds: rows
// have no leader for longer than their patience otherwise.
inline constexpr std::size_t kPageMovesMax = 1024;

// Of all stripes.
struct PageCounts {
  std::uint64_t pages = 0;
  std::uint64_t taken = 0;
  std::uint32_t taken_most = 0;  // Of one stripe.
  std::uint64_t refused = 0;     // Wishes that found no page.
};

template <typename Service>
class PagePool {
 public:
  using Node = TurnNode<Service>;
  using Entry = typename Service::Entry;

  explicit PagePool(netcore::MemoryRegistry& registry) : registry_(registry) {}

  // Gives a node without a pool one of so many pages by stripe, all free. ResourceExhausted without
  // memory.
  Status open(Node& node, std::uint32_t stripe_pages) {
    const std::size_t count = std::size_t{stripe_pages} * node.shape.stripe_count;
    return replace(node, {stripe_pages, std::vector<std::uint32_t>(count), {}});
  }

  // Replaces the pool by one of so many pages by stripe, with all that is taken.
  // FailedPrecondition: more are taken, or too many would move; ResourceExhausted without memory;
  // then the node is as it was. Internal, with kDeviceFailed: pages and rows contradict each other;
  // after that the node must stop.
  Status resize(Node& node, std::uint32_t stripe_pages) {
    GCOORD_TRY(const std::vector<std::uint32_t> owner, owners(node));
    const std::uint32_t stripes = node.shape.stripe_count;
    Plan plan{stripe_pages, {}, {}};
    std::vector<std::uint32_t>& kept = plan.owner;
    kept.resize(std::size_t{stripe_pages} * stripes);
    std::copy_n(owner.begin(), std::min(owner.size(), kept.size()), kept.begin());
    std::vector<std::uint32_t> next(stripes);  // By stripe: no page before it is free.
    for (std::size_t page = kept.size(); page < owner.size(); ++page) {
      if (owner[page] == 0) {
        continue;
      }
      std::uint32_t& k = next[page % stripes];
      const auto at = [&] { return std::size_t{k} * stripes + page % stripes; };
      while (k < stripe_pages && kept[at()] != 0) {
        ++k;
      }
      if (k == stripe_pages) {
        return {StatusCode::FailedPrecondition, "more log pages are taken"};
      }
      kept[at()] = owner[page];
      plan.moves.push_back({page, at(), 1});
      if (plan.moves.size() > kPageMovesMax) {
        return {StatusCode::FailedPrecondition, "more log pages would move than a node rests for"};
      }
    }
    return replace(node, plan);
  }

  // Takes over the pages of an image of the host, taken there from the first one on (hold_page),
  // with a larger pool where they need one. Names of rows there stay, and what the image says of
  // free pages is brought up to date.
  Status take_over(Node& node, const Node& image) {
    const std::uint32_t stripes = node.shape.stripe_count;
    std::uint32_t most = 0;
    for (std::uint32_t at = 0; at < stripes; ++at) {
      most = std::max(most, image.pages.stripe_pages - image.pages.stripe[at].free_count);
    }
    const std::uint32_t wanted = std::min(2 * most, stripe_rows(node.shape));
    const std::uint32_t pages = std::max(wanted, node.pages.stripe_pages);
    const std::size_t count = std::size_t{pages} * stripes;
    GCOORD_ASSERT(pages <= image.pages.stripe_pages);
    GCOORD_TRY_STATUS(replace(node, {pages, {image.pages.owner, image.pages.owner + count}, {}}));
    const std::size_t slots = std::size_t{most} * stripes * node.shape.log_slots;
    GCOORD_TRY_STATUS(write_column(node.pages.log, image.pages.log, slots));
    GCOORD_TRY_STATUS(write_column(node.pages.origin, image.pages.origin, slots));
    for (std::uint32_t at = 0; at < stripes; ++at) {
      PageStripe& stripe = image.pages.stripe[at];
      stripe.free_count = pages - (image.pages.stripe_pages - stripe.free_count);
    }
    return {};
  }

  // The node may run. Failures: the memory's.
  Result<PageCounts> counts(const Node& node) const {
    std::vector<PageStripe> stripes(node.shape.stripe_count);
    GCOORD_TRY_STATUS(read(std::span{stripes}, node.pages.stripe));
    PageCounts counts;
    for (const PageStripe& stripe : stripes) {
      const std::uint32_t free_count = std::min(stripe.free_count, node.pages.stripe_pages);
      const std::uint32_t taken = node.pages.stripe_pages - free_count;
      counts.pages += node.pages.stripe_pages;
      counts.taken += taken;
      counts.taken_most = std::max(counts.taken_most, taken);
      counts.refused += std::uint64_t{stripe.refused_appends} + stripe.refused_leads;
    }
    return counts;
  }

  // Whether a stripe of the node, which rests, lacks pages, and its pool can be larger.
  Result<bool> is_short(const Node& node) const {
    std::vector<PageStripe> stripes(node.shape.stripe_count);
    GCOORD_TRY_STATUS(read(std::span{stripes}, node.pages.stripe));
    const std::uint32_t pages = node.pages.stripe_pages;
    return pages < stripe_rows(node.shape) &&
           std::any_of(stripes.begin(), stripes.end(), [pages](const PageStripe& stripe) {
             return lacks_pages(pages, stripe);
           });
  }

 private:
  // Neighbouring pages that go from one place to another.
  struct Move {
    std::size_t from;
    std::size_t to;
    std::size_t count;
  };

  // What a pool is to be: who has its pages, and which of them were elsewhere before.
  struct Plan {
    std::uint32_t stripe_pages;
    std::vector<std::uint32_t> owner;
    std::vector<Move> moves;
  };

  template <typename T>
  Status read(std::span<T> to, const T* from) const {
    return registry_.source().read(std::as_writable_bytes(to),
                                   reinterpret_cast<const std::byte*>(from));
  }

  template <typename T>
  Status write(T* to, std::span<const T> from) const {
    return registry_.source().write(reinterpret_cast<std::byte*>(to), std::as_bytes(from));
  }

  // Writes what is not zero to memory of zeros, in pieces.
  template <typename T>
  Status write_column(T* to, const T* from, std::size_t count) const {
    constexpr std::size_t kPiece = (std::size_t{64} << 10) / sizeof(T);
    for (std::size_t at = 0; at < count; at += kPiece) {
      const std::span<const T> piece{from + at, std::min(kPiece, count - at)};
      const auto bytes = std::as_bytes(piece);
      const bool empty = std::all_of(
          bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{}; });
      if (!empty) {
        GCOORD_TRY_STATUS(write(to + at, piece));
      }
    }
    return {};
  }

  static Status contradiction(std::size_t page) {
    return {StatusCode::Internal,
            "log page " + std::to_string(page) + " of the device is not its owner's",
            kDeviceFailed};
  }

  // Of all pages, checked: each taken one is the page of a row of its stripe.
  Result<std::vector<std::uint32_t>> owners(const Node& node) const {
    const std::uint32_t stripes = node.shape.stripe_count;
    std::vector<std::uint32_t> owner(std::size_t{node.pages.stripe_pages} * stripes);
    std::vector<std::uint32_t> page_of(node.shape.shard_count);
    GCOORD_TRY_STATUS(read(std::span{owner}, node.pages.owner));
    GCOORD_TRY_STATUS(read(std::span{page_of}, node.pages.of_row));
    for (std::size_t page = 0; page < owner.size(); ++page) {
      if (owner[page] == 0) {
        continue;
      }
      const RowRange rows = rows_of_stripe(node.shape, static_cast<std::uint32_t>(page % stripes));
      if (!rows.has(owner[page] - 1) || page_of[owner[page] - 1] != page + 1) {
        return contradiction(page);
      }
    }
    return owner;
  }

  // A pool in place of the one before, whose pages it begins with.
  Status replace(Node& node, const Plan& plan) {
    LogPages<Entry> pages = node.pages;
    GCOORD_TRY(const netcore::MemoryRange range,
               registry_.allocate(netcore::MemoryKind::Private,
                                  page_pool_bytes<Entry>(plan.owner.size(), pages.log_slots)));
    RangeArena arena(range);
    carve_page_pool(arena, pages, plan.stripe_pages);
    const std::uint32_t both = std::min(plan.stripe_pages, node.pages.stripe_pages);
    const std::size_t count = std::size_t{both} * pages.stripe_count;
    Status done = copy_pages(node.pages, pages, {0, 0, count});
    for (const Move& move : plan.moves) {
      done = done.ok() ? copy_pages(node.pages, pages, move) : done;
    }
    done = done.ok() ? write_names(node.pages, pages, plan) : done;
    if (!done.ok()) {
      registry_.release(range.id);
      return done;
    }
    registry_.release(range_.id);
    range_ = range;
    node.pages = pages;
    return {};
  }

  Status copy_pages(const LogPages<Entry>& from,
                    const LogPages<Entry>& to,
                    const Move& move) const {
    if (move.count == 0) {
      return {};
    }
    netcore::MemorySource& source = registry_.source();
    const auto copy = [&source, &move](auto* target, const auto* origin, std::size_t each) {
      return source.copy_within(reinterpret_cast<std::byte*>(target + move.to * each),
                                reinterpret_cast<const std::byte*>(origin + move.from * each),
                                move.count * each * sizeof *origin);
    };
    GCOORD_TRY_STATUS(copy(to.log, from.log, to.log_slots));
    GCOORD_TRY_STATUS(copy(to.origin, from.origin, to.log_slots));
    return copy(to.mark, from.mark, 1);
  }

  // Who has which page, which ones are free, the lowest next, and the new names of pages that
  // moved.
  Status write_names(const LogPages<Entry>& before,
                     const LogPages<Entry>& pages,
                     const Plan& plan) const {
    const std::vector<std::uint32_t>& owner = plan.owner;
    std::vector<PageStripe> stripes(pages.stripe_count);
    GCOORD_TRY_STATUS(read(std::span{stripes}, before.stripe));
    std::vector<std::uint32_t> free(owner.size());
    for (std::uint32_t at = 0; at < pages.stripe_count; ++at) {
      PageStripe& stripe = stripes[at];
      stripe.free_count = 0;
      stripe.hand = 0;
      stripe.visited = 0;
      for (std::uint32_t k = pages.stripe_pages; k-- > 0;) {
        const std::size_t page = std::size_t{k} * pages.stripe_count + at;
        if (owner[page] == 0) {
          free[std::size_t{stripe.free_count++} * pages.stripe_count + at] = k;
        }
      }
    }
    GCOORD_TRY_STATUS(write(pages.owner, std::span<const std::uint32_t>{owner}));
    GCOORD_TRY_STATUS(write(pages.free, std::span<const std::uint32_t>{free}));
    for (const Move& move : plan.moves) {
      const auto name = static_cast<std::uint32_t>(move.to + 1);
      GCOORD_TRY_STATUS(write(pages.of_row + (owner[move.to] - 1), std::span{&name, 1}));
    }
    return write(pages.stripe, std::span<const PageStripe>{stripes});
  }

  netcore::MemoryRegistry& registry_;
  netcore::MemoryRange range_;
};

}  // namespace gcoord::server
