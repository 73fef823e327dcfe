// Log pages of a node's rows, taken on demand: a pool per stripe, and which row has which page.
//
// A row whose log is empty (nothing behind its floor) needs no page, and nearly all rows of a large
// node are such: so a page is a place of a pool, as a wide row is (packed_table.h), and 9 KiB per
// row become a few bytes. Invariants, of a row between two turns:
//   - it has a page if there is anything in its log;
//   - without a page it has no configuration in which it decides alone, and does not lead unless
//     its own term is decided: so no step appends to it but by an input, which the turn withholds
//     where it has no page (row.h);
//   - whoever takes a page finds a no-op where the last entry before it was: bytes that another row
//     left there are never taken for the pieces of a command.
// take_pages.h takes pages before the steps of a turn, return_pages.h gives them back at its end.
//
// Page `k` of a stripe has the number k * stripe_count + stripe, so a larger pool begins with the
// pages of a smaller one, under the same numbers (page_pool.h). Contract: POD view, as TurnNode;
// what belongs to a stripe is written by its group alone. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/tables/column_arena.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// TurnControl::abort of a node that leaves because a stripe has few log pages left. Whatever else
// stands there already, stays.
inline constexpr std::uint64_t kAbortPagesShort = 4;

// What a stripe knows of its pages. Written by one member of its group; a host may read it while
// the node runs, and then finds each word as it was a moment ago.
struct alignas(32) PageStripe {
  std::uint32_t free_count = 0;
  std::uint32_t hand = 0;     // Where the next look for rows at rest begins.
  std::uint32_t visited = 0;  // Pages that were looked at since few of them are free.
  // Wishes that found no page, since the node began: of Appends and snapshots of a leader, and of
  // commands, candidates and leaders with a configuration to propose.
  std::uint32_t refused_appends = 0;
  std::uint32_t refused_leads = 0;
};

// When a row's applied index was last seen to move. Low bits: enough to tell neighbours apart.
struct PageMark {
  std::uint32_t applied = 0;
  std::uint32_t since = 0;  // Tick.
};

// LogPages::of_row of a row without a page. Pages are named by 1 + their number.
inline constexpr std::uint32_t kNoLogPage = 0;

template <typename Entry>
struct LogPages {
  Entry* log = nullptr;             // log_slots by page: entry i in slot i % log_slots.
  std::uint64_t* origin = nullptr;  // Beside it: the tag of the request it came from; 0: none.
  std::uint32_t* of_row = nullptr;  // By row: 1 + its page.
  std::uint32_t* owner = nullptr;   // By page: 1 + its row; 0: it is free.
  PageMark* mark = nullptr;         // By page that is taken.
  std::uint32_t* free = nullptr;    // As pages: the free ones of a stripe, the next one last.
  PageStripe* stripe = nullptr;
  std::uint32_t stripe_pages = 0;  // Of each stripe.
  std::uint32_t stripe_count = 1;
  std::uint32_t log_slots = 0;  // As TurnShape has them.
  std::uint32_t grows = 0;  // Not 0: the owner gives a larger pool to a node that leaves for one.

  // 1 + the number of page k of a stripe.
  GCOORD_HD std::uint32_t name_of(std::uint32_t stripe_at, std::uint32_t k) const {
    return 1 + k * stripe_count + stripe_at;
  }

  GCOORD_HD std::uint32_t& free_at(std::uint32_t stripe_at, std::uint32_t k) const {
    return free[static_cast<std::size_t>(k) * stripe_count + stripe_at];
  }
};

// --- How full a pool may get. A pool with a page for each row of the stripe is never short.

// A sixteenth of the pages: see page_floor().
GCOORD_HD constexpr std::uint32_t spare_pages(std::uint32_t stripe_pages) {
  return stripe_pages / 16 != 0 ? stripe_pages / 16 : 1;
}

// Who asks for a page, which decides how many must be left free.
enum class PageWish : std::uint8_t {
  None = 0,
  Append = 1,  // A leader's Append or snapshot.
  Lead = 2,    // A command, or what a row must append because it leads or is to.
};

// Pages that a wish leaves to others. Leaders leave an eighth to the Appends of other nodes'
// leaders, without which three full pools would wait for each other for ever: an Append that finds
// a page makes a majority with its leader, is decided, and its page comes back. While all peers
// live Appends leave a sixteenth: rows of a leader that is lost keep their pages until somebody
// leads them and finds a page at the other survivor, whose pool may be full of such rows, too.
GCOORD_HD constexpr std::uint32_t page_floor(std::uint32_t stripe_pages,
                                             PageWish wish,
                                             bool all_live) {
  const std::uint32_t spare = spare_pages(stripe_pages);
  return wish == PageWish::Lead ? 2 * spare : all_live ? spare : 0;
}

// Whether pages are to be given back as soon as a row is at rest.
GCOORD_HD constexpr bool few_pages(std::uint32_t stripe_pages, std::uint32_t free_count) {
  return free_count <= 4 * spare_pages(stripe_pages);
}

// Whether a pool is too small: two looks at each page, after which a row that was at rest in both
// has no page any more, did not help.
GCOORD_HD constexpr bool lacks_pages(std::uint32_t stripe_pages, const PageStripe& stripe) {
  return stripe.free_count <= 2 * spare_pages(stripe_pages) && stripe.visited >= 2 * stripe_pages;
}

// --- Memory

// Bytes of the columns by row and by stripe, which lie with the rows.
inline std::size_t page_rows_bytes(std::uint32_t rows, std::uint32_t stripes) {
  return ColumnArena::bytes_for<std::uint32_t>(rows) + ColumnArena::bytes_for<PageStripe>(stripes);
}

template <typename Entry, typename Arena>
void carve_page_rows(Arena& arena, LogPages<Entry>& pages, std::uint32_t rows) {
  pages.of_row = arena.template column<std::uint32_t>(rows);
  pages.stripe = arena.template column<PageStripe>(pages.stripe_count);
}

// Bytes of the pool.
template <typename Entry>
std::size_t page_pool_bytes(std::size_t pages, std::uint32_t log_slots) {
  return ColumnArena::bytes_for<Entry>(pages * log_slots) +
         ColumnArena::bytes_for<std::uint64_t>(pages * log_slots) +
         2 * ColumnArena::bytes_for<std::uint32_t>(pages) + ColumnArena::bytes_for<PageMark>(pages);
}

// A pool of so many pages by stripe. Says nothing of which are free.
template <typename Entry, typename Arena>
void carve_page_pool(Arena& arena, LogPages<Entry>& pages, std::uint32_t stripe_pages) {
  const std::size_t count = static_cast<std::size_t>(stripe_pages) * pages.stripe_count;
  pages.log = arena.template column<Entry>(count * pages.log_slots);
  pages.origin = arena.template column<std::uint64_t>(count * pages.log_slots);
  pages.owner = arena.template column<std::uint32_t>(count);
  pages.mark = arena.template column<PageMark>(count);
  pages.free = arena.template column<std::uint32_t>(count);
  pages.stripe_pages = stripe_pages;
}

// Makes all pages of a pool of the host free, the first one next. Its memory is zeros.
template <typename Entry>
void free_all_pages(const LogPages<Entry>& pages) {
  for (std::uint32_t at = 0; at < pages.stripe_count; ++at) {
    for (std::uint32_t k = 0; k < pages.stripe_pages; ++k) {
      pages.free_at(at, k) = pages.stripe_pages - 1 - k;
    }
    pages.stripe[at].free_count = pages.stripe_pages;
  }
}

// The page of a row of a stripe on which nothing runs, taken if it has none. Host: memory that is
// filled from storage.
template <typename Entry>
void hold_page(const LogPages<Entry>& pages, std::uint32_t stripe_at, std::uint32_t row) {
  if (pages.of_row[row] != kNoLogPage) {
    return;
  }
  PageStripe& stripe = pages.stripe[stripe_at];
  GCOORD_ASSERT(stripe.free_count != 0);
  --stripe.free_count;
  const std::uint32_t name = pages.name_of(stripe_at, pages.free_at(stripe_at, stripe.free_count));
  pages.owner[name - 1] = 1 + row;
  pages.of_row[row] = name;
}

}  // namespace gcoord::server
