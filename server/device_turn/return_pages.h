// Gives the log pages of rows at rest back to their stripe's pool, at the end of a turn.
//
// A hand goes round the pages of a stripe, some of them at a time, and in each turn while few are
// free. A row of which everything is applied, stored and acknowledged, and whose applied index
// has not moved for two election timeouts, forgets its log and loses its page. Why wait: whoever
// lacks an entry that nobody's log has any more needs a snapshot, and a snapshot brings no state of
// a service that keeps it elsewhere (a row that was brought up by one is `absent`,
// lock_turn_service.h). So with all peers alive a leader has heard that both have all. A follower
// counts a leader that died among the living for one timeout; with the other one, that leader had
// the time to bring everything to both. Where few pages are free a row at rest at two looks is
// enough; and where there will be no more of them, who is away is not waited for: it is brought up
// by a snapshot, as ever where a page is full.
// Contract: nothing of the turn is under way any more; one group, all members call every function.
// Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "consensus/device/packed_table.h"
#include "consensus/device/row_copy.h"
#include "consensus/step/readmission_plan.h"
#include "consensus/step/step.h"
#include "server/device_turn/pages.h"
#include "server/device_turn/row.h"
#include "server/device_turn/scratch.h"
#include "server/device_turn/take_pages.h"

#include <cstdint>

namespace gcoord::server {

// Pages that one look visits.
inline constexpr std::uint32_t kHandPages = 32;

// Ticks between two looks while there are enough: 64 looks in an election timeout, and as many more
// as it takes to go round in one.
GCOORD_HD constexpr std::uint32_t page_pause(const consensus::Timing& timing,
                                             std::uint32_t stripe_pages) {
  const std::uint32_t looks = stripe_pages / kHandPages < 64 ? 64 : stripe_pages / kHandPages;
  return timing.election_ticks < 2 * looks ? 1 : timing.election_ticks / looks;
}

// How a stripe is off for pages.
enum class PageStock : std::uint8_t { Enough, Few };

template <typename Service>
GCOORD_HD PageStock page_stock(const StripeTurn<Service>& t) {
  const LogPages<typename Service::Entry>& pages = t.node.pages;
  const bool few =
      !has_all_pages(t) && few_pages(pages.stripe_pages, pages.stripe[t.stripe].free_count);
  return few ? PageStock::Few : PageStock::Enough;
}

// A look of the hand, as each member has it; by value where it is passed on (RowTurn).
template <typename Service>
struct PageHand {
  const TurnNode<Service>& node;
  const WorkspaceFor<Service>& desk;
  std::uint32_t again;  // As StripeTurn has it.
  PageStock stock;

  GCOORD_HD bool is_few() const { return stock == PageStock::Few; }

  // Whether rows wait for peers that are away. A pool that may grow does so first.
  GCOORD_HD bool waits_for_away() const { return !is_few() || node.pages.grows != 0; }

  // Whether a page's row may be at rest: it applied nothing since the last look, and for long
  // enough. Otherwise the mark says when it was seen to move. By the group that has the page.
  GCOORD_HD bool rests_since(LogIndex applied, PageMark& mark) const {
    const auto low = static_cast<std::uint32_t>(applied.value);
    const auto now = static_cast<std::uint32_t>(desk.reading.input.tick.value);
    if (mark.applied != low) {
      mark = {low, now};
      return false;
    }
    return is_few() || now - mark.since >= 2 * desk.reading.input.timing.election_ticks;
  }

  // Whether a leader knows of all peers that they have its whole log.
  GCOORD_HD bool peers_have_all(consensus::ShardRef shard) const {
    const consensus::Hot& hot = shard.hot();
    bool all = true;
    GCOORD_UNROLL
    for (std::uint32_t slot = 0; slot < kVotersOf<Service>; ++slot) {
      if (slot == hot.self_slot) {
        continue;
      }
      const std::uint32_t p = slot < hot.self_slot ? slot : slot - 1;
      const bool waited_for = waits_for_away() || desk.reading.peer[p].live != 0;
      all = all & (!waited_for | (shard.progress(slot).match == shard.log().last));
    }
    return all;
  }

  // Whether a row that leads may go on without a page: its own term is decided, and it has nothing
  // to append by itself.
  GCOORD_HD static bool leads_at_rest(consensus::ShardRef shard) {
    return consensus::last_term(shard.log(), shard.runs()) == shard.hot().term &&
           shard.election().transfer_target == consensus::kSlotNone &&
           !consensus::wants_readmission(shard);
  }

  // Whether a row needs nothing that is in its log, and will not append by itself (pages.h).
  GCOORD_HD bool is_at_rest(consensus::ShardRef shard, LogIndex applied) const {
    const consensus::Log& log = shard.log();
    const consensus::Storage& storage = shard.storage();
    const bool follows = shard.hot().role == consensus::Role::Follower;
    const bool leads = shard.hot().role == consensus::Role::Leader;
    // A configuration among what was applied is known to the step already: else the row has a flag.
    const bool settled = (log.commit == log.last) & (applied == log.last);
    const bool stored = (storage.request_pending == 0) & (storage.snapshot_pending == 0) &
                        (storage.durable == log.last) & (storage.persist_from == log.last + 1);
    if (!((follows | leads) & settled & stored)) {
      return false;
    }
    return follows || (leads_at_rest(shard) && peers_have_all(shard));
  }

  // Whether something may still be read in the page of a row that is at rest: by whoever hashes, or
  // for a command whose pieces end the log.
  GCOORD_HD bool is_still_read(std::uint32_t row, std::uint32_t page, LogIndex last) const {
    bool read = false;
    if constexpr (Service::kEntriesKept != 0) {
      read = Service::is_piece(node.entry_in(page, last));
    }
    if (is_hashed(node)) {
      read = read || node.trees.hashed_to(row) < last;
    }
    return read;
  }

  // Makes a row at rest forget its log: what a step does that hears of what was applied and may be
  // forgotten, and of nothing else.
  GCOORD_HD void forget_log(consensus::ShardRef shard, LogIndex applied) const {
    consensus::InboxHead in;
    in.applied = applied;
    in.compact_to = applied;
    consensus::OutboxHead unused;
    const consensus::StepArrays none;
    consensus::on_applied(consensus::StepRow{shard, desk.input[0], unused, none}, in);
    GCOORD_ASSERT(shard.log().floor == shard.log().last);
  }
};

template <typename Service>
GCOORD_HD PageHand<Service> page_hand(const StripeTurn<Service>& t, PageStock stock) {
  return {t.node, t.desk, t.again, stock};
}

// Takes the page of a row back if it is at rest. By one member. Apart: it is seldom, and long.
template <typename Service>
GCOORD_HD_APART bool leave_page(const PageHand<Service> hand,
                                std::uint32_t row,
                                std::uint32_t page) {
  const TurnNode<Service>& node = hand.node;
  if (node.flags[row] != 0 || row == hand.again) {
    return false;  // It has a turn soon, or owes something.
  }
  consensus::RowCopy copy;
  const consensus::ShardRef shard = consensus::ref_of(copy, shard_of_row(row), kVotersOf<Service>);
  const std::uint32_t wide_place = consensus::load_row<kMoreOf<Service>>(node.table, row, shard);
  const LogIndex applied = node.applied[row];
  if (!hand.is_at_rest(shard, applied) || hand.is_still_read(row, page, applied)) {
    return false;
  }
  hand.forget_log(shard, applied);
  if (needs_page(shard)) {
    return false;  // It decides alone, or soon does; nothing of this is stored.
  }
  if (!store_turned(node, row, wide_place, shard)) {
    return false;  // It is as it was: a row that forgets entries fits where it did.
  }
  node.pages.of_row[row] = kNoLogPage;
  node.pages.owner[page - 1] = 0;
  return true;
}

// One look of the hand at pages of the stripe.
template <typename Service>
GCOORD_HD void visit_pages(const StripeTurn<Service>& t, PageStock stock) {
  const LogPages<typename Service::Entry>& pages = t.node.pages;
  PageStripe& mine = pages.stripe[t.stripe];
  const PageHand<Service> hand = page_hand(t, stock);
  const std::uint32_t first = mine.hand;
  const std::uint32_t looks = pages.stripe_pages < kHandPages ? pages.stripe_pages : kHandPages;
  const bool waits = hand.waits_for_away() && !all_peers_live(t);
  warp_sync();  // Before a member writes what others have read.
  for (std::uint32_t base = 0; base < looks; base += warp_lanes()) {
    const bool meant = base + warp_rank() < looks;
    const std::uint32_t at = first + (meant ? base + warp_rank() : 0);
    const std::uint32_t k = at < pages.stripe_pages ? at : at - pages.stripe_pages;
    const std::uint32_t page = pages.name_of(t.stripe, k);
    const std::uint32_t owner = meant ? pages.owner[page - 1] : 0;
    const std::uint32_t row = owner - 1;
    bool left = owner != 0 && hand.rests_since(t.node.applied[row], pages.mark[page - 1]);
    left = left && row != t.desk.kept.row && !waits && leave_page<Service>(hand, row, page);
    const std::uint32_t leaving = warp_ballot(left);
    const std::uint32_t free_count = mine.free_count;
    if (left) {
      pages.free_at(t.stripe, free_count + rank_among(leaving)) = k;
    }
    warp_sync();
    if (warp_rank() == 0) {
      mine.free_count = free_count + count_bits(leaving);
    }
    warp_sync();
  }
  if (warp_rank() == 0) {
    const std::uint32_t next = first + looks;
    mine.hand = next < pages.stripe_pages ? next : next - pages.stripe_pages;
    mine.visited = hand.is_few() ? mine.visited + looks : 0;
  }
  warp_sync();
}

// Whether the kept row, which is not in the table, may be at rest, so that it is to be put back.
template <typename Service>
GCOORD_HD bool kept_rests(const StripeTurn<Service>& t, PageStock stock) {
  const std::uint32_t row = t.desk.kept.row;
  if (row == kNoTurnPlace) {
    return false;
  }
  PageMark mark = t.node.pages.mark[t.desk.kept.page - 1];
  return page_hand(t, stock).rests_since(t.node.applied[row], mark);
}

// The node leaves for a larger pool if its owner has one to give.
template <typename Service>
GCOORD_HD void ask_for_pages(const StripeTurn<Service>& t) {
  const LogPages<typename Service::Entry>& pages = t.node.pages;
  if (warp_rank() == 0 && pages.grows != 0 && !has_all_pages(t) &&
      lacks_pages(pages.stripe_pages, pages.stripe[t.stripe])) {
    static_cast<void>(relaxed_claim(t.node.control->abort, kAbortPagesShort));
  }
}

}  // namespace gcoord::server
