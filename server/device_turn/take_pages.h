// Takes log pages for the rows of a general turn that may append in it, before their steps.
//
// The rows of a turn say what they wish for; the group gives pages in the order of places, to
// Appends first, as far as each kind of wish may empty the pool (page_floor). So a host's group of
// one gives the same pages to the same rows as a warp. A row that gets none is stepped all the
// same: what it would append is refused, lost or put off (row.h), and counted here. Contract: one
// group; all members call every function. Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "consensus/device/packed_table.h"
#include "server/device_turn/pages.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// Whether the stripe's pool has a page for each of its rows, and so for every wish.
template <typename Service>
GCOORD_HD bool has_all_pages(const StripeTurn<Service>& t) {
  return t.node.pages.stripe_pages >= t.rows.count();
}

template <typename Service>
GCOORD_HD bool all_peers_live(const StripeTurn<Service>& t) {
  bool all = true;
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
    all = all & (t.desk.reading.peer[p].live != 0);
  }
  return all;
}

// The last index of a row without a page, whose log is empty.
GCOORD_HD inline LogIndex last_of(const consensus::PackedTable& table, std::uint32_t row) {
  const consensus::PackedRow& packed = table.packed[row];
  if (consensus::is_wide(packed)) {
    return table.wide.log[packed.term].last;
  }
  return LogIndex{packed.floor + packed.last_ahead};
}

// Whether a message of the place brings entries, or a snapshot: its configuration may be one in
// which the row decides alone.
template <typename Service>
GCOORD_HD bool brings_entries(const StripeTurn<Service>& t, std::uint32_t place) {
  bool brings = t.desk.snapshot[place] != 0;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < t.desk.arrived_count[place]; ++k) {
    const std::uint32_t code = t.desk.arrived[place][k];
    const netcore::Slot& slot = t.desk.slots[code / kTurnSlots][code % kTurnSlots];
    const std::uint64_t names = consensus::load_chunk(&slot).word[0];
    const auto kind = static_cast<consensus::MessageKind>(names >> 32 & 0xffu);
    brings = brings || (kind == consensus::MessageKind::Append && names >> 48 != 0);
  }
  return brings;
}

// What a row without a page may append in its step. A candidate may be elected and opens its term.
template <typename Service>
GCOORD_HD PageWish page_wish(const StripeTurn<Service>& t, std::uint32_t place) {
  if (brings_entries(t, place)) {
    return PageWish::Append;
  }
  const std::uint32_t row = t.desk.row[place];
  const consensus::Role role = consensus::role_of(t.node.table.packed[row]);
  bool leads = role == consensus::Role::Candidate;
  if (role == consensus::Role::Leader) {
    leads = t.desk.proposal_count[place] != 0 || (t.node.flags[row] & kTurnPageWanted) != 0 ||
            t.node.service.offers(row, t.desk.reading.order) != 0;
  }
  return leads ? PageWish::Lead : PageWish::None;
}

// Gives a page to the row in a place. By one member.
template <typename Service>
GCOORD_HD void give_page(const StripeTurn<Service>& t, std::uint32_t place, std::uint32_t page) {
  const std::uint32_t row = t.desk.row[place];
  const LogPages<typename Service::Entry>& pages = t.node.pages;
  GCOORD_ASSERT(pages.owner[page - 1] == 0);
  pages.owner[page - 1] = 1 + row;
  pages.mark[page - 1] = {static_cast<std::uint32_t>(t.node.applied[row].value),
                          static_cast<std::uint32_t>(t.tick().value)};
  pages.of_row[row] = page;
  t.desk.page[place] = page;
  t.node.flags[row] = static_cast<std::uint8_t>(t.node.flags[row] & ~kTurnPageWanted);
  if constexpr (Service::kEntriesKept != 0) {
    t.node.entry_in(page, last_of(t.node.table, row)) = Service::noop();
  }
}

// Gives pages to the rows with one kind of wish. `left`: pages that stay free.
template <typename Service>
GCOORD_HD void give_pages(const StripeTurn<Service>& t, PageWish wish, std::uint32_t left) {
  const LogPages<typename Service::Entry>& pages = t.node.pages;
  PageStripe& mine = pages.stripe[t.stripe];
  for (std::uint32_t base = 0; base < t.place_count; base += warp_lanes()) {
    const std::uint32_t place = base + warp_rank();
    const bool wants =
        place < t.place_count && t.desk.page[place] == kNoLogPage && page_wish(t, place) == wish;
    const std::uint32_t wanting = warp_ballot(wants);
    if (wanting == 0) {
      continue;
    }
    const std::uint32_t free_count = mine.free_count;
    const std::uint32_t usable = free_count > left ? free_count - left : 0;
    const std::uint32_t rank = rank_among(wanting);
    if (wants && rank < usable) {
      const std::uint32_t k = pages.free_at(t.stripe, free_count - 1 - rank);
      give_page(t, place, pages.name_of(t.stripe, k));
    }
    warp_sync();  // Before a member writes what others have read.
    if (warp_rank() == 0) {
      const std::uint32_t count = count_bits(wanting);
      const std::uint32_t given = count < usable ? count : usable;
      mine.free_count = free_count - given;
      (wish == PageWish::Append ? mine.refused_appends : mine.refused_leads) += count - given;
    }
    warp_sync();
  }
}

// Finds the pages of the rows of the turn, and takes some for those that may append and have none.
template <typename Service>
GCOORD_HD void take_pages(const StripeTurn<Service>& t) {
  std::uint32_t wishes = 0;
  for (std::uint32_t base = 0; base < t.place_count; base += warp_lanes()) {
    const std::uint32_t place = base + warp_rank();
    PageWish wish = PageWish::None;
    if (place < t.place_count) {
      const std::uint32_t page = t.node.pages.of_row[t.desk.row[place]];
      t.desk.page[place] = page;
      wish = page == kNoLogPage ? page_wish(t, place) : PageWish::None;
    }
    wishes |= warp_ballot(wish != PageWish::None);
  }
  warp_sync();
  if (wishes == 0) {
    return;
  }
  const bool whole = has_all_pages(t);
  const bool live = all_peers_live(t);
  const std::uint32_t count = t.node.pages.stripe_pages;
  give_pages(t, PageWish::Append, whole ? 0 : page_floor(count, PageWish::Append, live));
  give_pages(t, PageWish::Lead, whole ? 0 : page_floor(count, PageWish::Lead, live));
}

}  // namespace gcoord::server
