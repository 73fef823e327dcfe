// The turn of one stripe, and the loops that run it: poll, step, store, send, apply, reply.
//
// Two drivers compose the same functions. `persistent`: one kernel for the node's life, in which
// every group calls run_stripe() or run_clock() and stays. `graph`: two kernels per turn, in which
// every group calls them for one turn and leaves; lane ends and cursors then rest in memory. On a
// host the same objects are turned by threads or one after the other, which is how all of this is
// tested where there is no device.
//
// Waiting: nothing here waits. A group that has nothing to do pauses for a moment and looks again;
// it leaves when the clock's reading says so, and by itself when the node's abort word is set or
// its deadline has passed, so that it ends even if the clock's group never ran. Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "netcore/memory/bounded_wait.h"
#include "server/device_turn/clock.h"
#include "server/device_turn/deadlines.h"
#include "server/device_turn/intake.h"
#include "server/device_turn/return_pages.h"
#include "server/device_turn/row.h"
#include "server/device_turn/scratch.h"
#include "server/device_turn/send.h"
#include "server/device_turn/single_row.h"
#include "server/device_turn/take_pages.h"

#include <cstdint>

namespace gcoord::server {

template <typename Service>
class TurnStripe : private StripeIntake<Service> {
 public:
  GCOORD_HD TurnStripe(const TurnNode<Service>& node,
                       std::uint32_t stripe,
                       WorkspaceFor<Service>& desk)
      : StripeIntake<Service>(node, stripe, desk) {}

  // One turn. Whether any row was stepped. The groups of a block run its parts together; where all
  // of them have looked in vain, that was all of it. What a row in a hurry runs through stands in
  // one piece, with the general turn beside it and not in between: on a device every jump over code
  // that is not needed waits for what comes behind it (docs/adr/0073).
  GCOORD_HD_FLAT bool turn() {
    t_.place_count = 0;
    rests_ = false;
    Looks looks = look();
    bool quiet = false;
    bool taken = false;
    std::uint64_t began_ns = 0;
    std::uint64_t taken_ns = 0;
    if (finds_work(looks)) {
      static_cast<void>(block_any(true));
      began_ns = device_now_ns();
      clear_desk(t_);
      taken = take_in_alone(looks);
      if (taken) {
        taken_ns = device_now_ns();
        block_meet();
        const bool leads = t_.desk.kept.hot.role == consensus::Role::Leader;
        if (step_alone(leads)) {
          block_meet();
          const std::uint64_t stepped_ns = device_now_ns();
          say_alone(leads);
          settle_credit();
          close_alone();
          count_turn();
          count_times(began_ns, taken_ns, stepped_ns);
          look_soon();
          return true;
        }
        settle_credit();
      }
    } else if (reads_clock() && read_clock()) {
      static_cast<void>(block_any(true));
      block_meet();
      block_meet();
      tend_pages();
      return false;
    } else {
      quiet = looks_quiet(looks);
      rests_ = !block_any(!quiet);
      if (rests_) {
        return false;
      }
      began_ns = device_now_ns();
      if (!quiet) {
        clear_desk(t_);
      }
    }
    if (!taken) {
      if (!quiet) {
        take_in(looks);
      }
      taken_ns = device_now_ns();
      block_meet();
    }
    return finish(!quiet, began_ns, taken_ns);
  }

  // Whether all groups of the block looked in vain in the last turn. One that pauses while another
  // works would be waited for.
  GCOORD_HD bool rests() const { return rests_; }

  // The newest reading of the clock says that the node stops.
  GCOORD_HD bool leaves() const { return t_.state.version != 0 && t_.desk.reading.leave != 0; }

  // Puts everything back where the next group finds it.
  GCOORD_HD void close() {
    take_again(t_);
    if (keep_only(kNoTurnPlace)) {
      static_cast<void>(halts());
    }
    close_ends();
  }

  GCOORD_HD const StripeCounts& counts() const { return t_.state.counts; }

  // Slots that were ever written into the ring to a peer.
  GCOORD_HD std::uint64_t sent_to(std::uint32_t place) const {
    return to_[place].state().credit.sent;
  }

 private:
  using StripeEndpoints<Service>::t_;
  using StripeEndpoints<Service>::to_;
  using StripeEndpoints<Service>::replies_;
  using StripeEndpoints<Service>::close_ends;
  using StripeEndpoints<Service>::credit_mask;
  using StripeIntake<Service>::finds_work;
  using StripeIntake<Service>::look;
  using StripeIntake<Service>::look_soon;
  using StripeIntake<Service>::looks_quiet;
  using StripeIntake<Service>::read_clock;
  using StripeIntake<Service>::reads_clock;
  using StripeIntake<Service>::settle_credit;
  using StripeIntake<Service>::take_in;
  using StripeIntake<Service>::take_in_alone;
  using typename StripeIntake<Service>::Looks;

  // Puts the row that is kept back into the table, unless it is this one. Whether there was one.
  GCOORD_HD bool keep_only(std::uint32_t row) {
    const std::uint32_t kept = t_.desk.kept.row;
    warp_sync();  // Before a member writes which row is kept, here or in its turn.
    if (kept == kNoTurnPlace || kept == row) {
      return false;
    }
    if (warp_rank() == 0) {
      put_back(t_.node, t_.desk);
    }
    warp_sync();
    return true;
  }

  // The general turn from its steps on, of a group that took something in if it `looked`. Whether
  // any row was stepped.
  GCOORD_HD_FLAT bool finish(bool looked, std::uint64_t began_ns, std::uint64_t taken_ns) {
    const bool busy = looked && (t_.place_count != 0 || t_.desk.refused_count != 0);
    if (busy) {
      step_places();
    }
    block_meet();
    const std::uint64_t stepped_ns = device_now_ns();
    if (busy && !halts()) {
      say();
      close_turn();
      count_times(began_ns, taken_ns, stepped_ns);
      look_soon();
    }
    if (t_.state.halted == 0) {
      tend_pages();
    }
    return busy;
  }

  // A few times per election timeout, and in every general turn while few log pages are free: gives
  // back those of rows at rest. The row that is kept is put back before it can be one of them.
  GCOORD_HD void tend_pages() {
    const PageStock stock = page_stock(t_);
    const std::uint32_t pause =
        page_pause(t_.desk.reading.input.timing, t_.node.pages.stripe_pages);
    if (t_.state.version == 0 || (stock == PageStock::Enough && t_.tick() < tended_ + pause)) {
      return;
    }
    tended_ = t_.tick();
    if (kept_rests(t_, stock) && keep_only(kNoTurnPlace) && halts()) {
      return;
    }
    visit_pages(t_, stock);
    ask_for_pages(t_);
  }

  // Of a turn with work that ends now.
  GCOORD_HD void count_times(std::uint64_t began_ns,
                             std::uint64_t taken_ns,
                             std::uint64_t stepped_ns) {
    StripeCounts& counts = t_.state.counts;
    counts.intake_ns += taken_ns - began_ns;
    counts.step_ns += stepped_ns - taken_ns;
    counts.send_ns += device_now_ns() - stepped_ns;
  }

  // Whether the only row of this turn had its step (device_turn_alone.h); `leads`: the row that is
  // kept does. What a client asks of a follower is refused by the general turn.
  GCOORD_HD_FLAT bool step_alone(bool leads) {
    if constexpr (!kHasFastPath<Service>) {
      return false;
    } else {
      const bool kept = t_.desk.kept.row == t_.desk.row[0];
      const bool meant = leads | (t_.desk.proposal_count[0] == 0);
      warp_sync();  // Before a member writes which row is kept.
      return kept & meant & !is_hashed(t_.node) && turn_kept(t_, leads);
    }
  }

  // A row may speak to a peer if all that the rows up to its place could say finds room there.
  GCOORD_HD_FLAT void step_places() {
    using Entry = typename Service::Entry;
    static_cast<void>(keep_only(t_.place_count == 1 ? t_.desk.row[0] : kNoTurnPlace));
    take_pages(t_);
    if (is_hashed(t_.node)) {
      ask_trees();
    }
    std::uint32_t credit[kPeersOf<Service>];
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      const std::uint32_t wanted = t_.place_count * row_slots<Entry>(t_.node.shape);
      credit[p] = t_.state.broken[p] != 0 ? 0 : to_[p].credit_up_to(wanted);
    }
    std::uint32_t before = 0;
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      const bool meant = place < t_.place_count;
      const std::uint32_t row = meant ? t_.desk.row[place] : t_.rows.first;
      const consensus::Role role = consensus::role_of(t_.node.table.packed[row]);
      const bool leads = role == consensus::Role::Leader;
      const std::uint32_t needed = leads ? row_slots<Entry>(t_.node.shape) : kOthersSlots;
      std::uint32_t up_to = needed;
      if (t_.place_count != 1) {
        up_to += before + warp_sum_below(meant ? needed : 0);
        before += warp_sum(meant ? needed : 0);
      }
      turn_row(t_, place, meant, leads, credit_mask(up_to, credit));
    }
    warp_sync();
    apply_left(t_);
    if (is_hashed(t_.node)) {
      tell_trees();
    }
  }

  // How far the trees of the turn's rows reach: of all rows at once, since each acquire empties the
  // first-level cache.
  GCOORD_HD void ask_trees() {
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      if (place < t_.place_count) {
        t_.desk.hashed_to[place] = t_.node.trees.hashed_to(t_.desk.row[place]);
      }
    }
    warp_sync();
  }

  // What the rows of the turn have applied may be hashed.
  GCOORD_HD void tell_trees() {
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      if (place < t_.place_count) {
        const std::uint32_t row = t_.desk.row[place];
        t_.node.trees.decide(row, t_.node.applied[row]);
      }
    }
    warp_sync();
  }

  GCOORD_HD void tell_clients() {
    if constexpr (Service::kTellsHost) {
      if (t_.desk.noop_count != 0) {
        send_noops(t_, replies_);
      }
    }
    if ((t_.desk.reply_count | t_.desk.refused_count) != 0) {
      send_replies(t_, replies_);
    }
  }

  // Of the row that is kept, which leads as `leads` says: see carry_out_kept().
  GCOORD_HD_FLAT void say_alone(bool leads) {
    if (leads) {
      tell_clients();
    }
    send_kept(t_, to_);
    if (!leads) {
      carry_on_kept(t_);
      tell_clients();
    }
  }

  // Clients first: who waits for an answer waits for nothing else.
  GCOORD_HD void say() {
    tell_clients();
    if (t_.place_count == 1) {
      send_messages_alone(t_, to_);
    } else {
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
        send_messages(t_, p, to_[p]);
      }
    }
  }

  // Of a turn of one row, which all members read.
  GCOORD_HD void close_alone() {
    const std::uint32_t row = t_.desk.row[0];
    t_.again = t_.desk.again[0] != 0 ? row : kNoTurnPlace;
    note_deadline(t_, row, t_.desk.deadline[0]);
    if constexpr (Service::kTellsHost) {
      if (warp_rank() == 0 && t_.desk.led_anew[0] != 0) {
        t_.node.leaders.close(t_.stripe, row - t_.rows.first, t_.state.looks);
      }
    }
  }

  // Rows that want another turn, deadlines, counts.
  GCOORD_HD void close_turn() {
    if (t_.place_count == 1) {
      close_alone();
    } else {
      close_places();
    }
    count_turn();
    warp_sync();
  }

  GCOORD_HD void close_places() {
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      const bool meant = place < t_.place_count;
      const std::uint32_t row = meant ? t_.desk.row[place] : t_.rows.first;
      const bool again = meant && t_.desk.again[place] != 0;
      note_deadlines(t_, meant, row, t_.desk.deadline[meant ? place : 0]);
      if (warp_ballot(again) != 0) {
        push_due(t_, again && (t_.node.flags[row] & kTurnQueued) == 0, row);
      }
      if constexpr (Service::kTellsHost) {
        if (meant && t_.desk.led_anew[place] != 0) {
          t_.node.leaders.close(t_.stripe, row - t_.rows.first, t_.state.looks);
        }
      }
    }
  }

  GCOORD_HD void count_turn() {
    const TurnTally& tally = t_.desk.tally;
    StripeCounts& counts = t_.state.counts;
    ++counts.turns;
    counts.steps += t_.place_count;
    counts.applied += tally.applied;
    if ((tally.stalled | tally.dropped | tally.held | tally.led | tally.elected) != 0) {
      counts.stalled += tally.stalled;
      counts.dropped += tally.dropped;
      counts.held += tally.held;
      counts.led += static_cast<std::uint64_t>(static_cast<std::int32_t>(tally.led));
      counts.elected_ns = tally.elected != 0 ? device_now_ns() : counts.elected_ns;
    }
  }

  // Whether a row found no place in the table (packed_table.h), which is behind what was done then:
  // nothing of the turn is said, the stripe takes no other one, and the node stops. After a sync.
  GCOORD_HD bool halts() {
    if (t_.desk.tally.exhausted == 0) {
      return false;
    }
    t_.state.halted = 1;
    if (warp_rank() == 0) {
      netcore::SystemOrder::raise(t_.node.control->abort, 1);
    }
    return true;
  }

  bool rests_ = false;
  Tick tended_;  // When pages were last looked at.
};

}  // namespace gcoord::server
