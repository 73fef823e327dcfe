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

#include "common/hd.h"
#include "common/warp_device.h"
#include "netcore/bounded_wait.h"
#include "netcore/gpu_channel_device.h"
#include "server/device_turn_alone.h"
#include "server/device_turn_clock.h"
#include "server/device_turn_desk.h"
#include "server/device_turn_receive.h"
#include "server/device_turn_requests.h"
#include "server/device_turn_row.h"
#include "server/device_turn_send.h"

#include <cstdint>

namespace gcoord::server {

template <typename Node>
GCOORD_HD bool has_clients(const Node& node) {
  return node.client.epoch != 0;
}

template <typename Service>
class TurnStripe {
 public:
  GCOORD_HD TurnStripe(const TurnNode<Service>& node, std::uint32_t stripe, StripeDesk& desk)
      : t_{node,
           desk,
           node.scratch[stripe],
           stripe,
           rows_of_stripe(node.shape, stripe),
           node.stripe[stripe],
           stripe_rows(node.shape)},
        from_{receiver(node, 0, stripe), receiver(node, 1, stripe)},
        to_{sender(node, 0, stripe), sender(node, 1, stripe)},
        requests_(client_receiver(node, stripe)),
        replies_(client_sender(node, stripe)),
        looks_between_(looks_between(node.shape.stripe_count)) {
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      const auto& lanes =
          node.channel[p].layout.band[static_cast<std::size_t>(netcore::Band::Consensus)];
      GCOORD_ASSERT(is_turn_ring<typename Service::Entry>(node.shape, lanes.ring_slots));
      copy_words(desk.slots[p], t_.scratch.held[p], t_.state.held[p] * netcore::kSlotBytes);
    }
    if (warp_rank() == 0) {
      desk.kept.row = kNoTurnPlace;
    }
    t_.again = kNoTurnPlace;
    t_.state.version = 0;  // The desk is empty: take the newest reading, whichever it is.
    warp_sync();
  }

  // One turn. Whether any row was stepped. The groups of a block run its parts together; where all
  // of them have looked in vain, that was all of it.
  GCOORD_HD_FLAT bool turn() {
    const std::uint64_t began_ns = device_now_ns();
    t_.place_count = 0;
    Looks looks = look();
    const bool quiet = looks_quiet(looks);
    rests_ = !block_any(!quiet);
    if (rests_) {
      return false;
    }
    bool busy = false;
    if (!quiet) {
      clear_desk(t_);
      if (!take_in_alone(looks)) {
        take_in(looks);
      }
      busy = t_.place_count != 0 || t_.desk.refused_count != 0;
    }
    const std::uint64_t taken_ns = device_now_ns();
    block_meet();
    if (busy) {
      step_places();
    }
    block_meet();
    const std::uint64_t stepped_ns = device_now_ns();
    if (busy && !halts()) {
      say();
      close_turn();
      StripeCounts& counts = t_.state.counts;
      counts.intake_ns += taken_ns - began_ns;
      counts.step_ns += stepped_ns - taken_ns;
      counts.send_ns += device_now_ns() - stepped_ns;
      const std::uint32_t turns = turns_between(t_.node.shape.stripe_count);
      looks_left_ = looks_left_ < turns ? looks_left_ : turns;
      clock_left_ = 1;
    }
    return busy;
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
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      move_held(t_, p);
      copy_words(t_.scratch.held[p], t_.desk.slots[p], t_.state.held[p] * netcore::kSlotBytes);
      netcore::close_receiver(t_.node.channel[p], netcore::Band::Consensus, t_.stripe, from_[p]);
      netcore::close_sender(t_.node.channel[p], netcore::Band::Consensus, t_.stripe, to_[p]);
    }
    if (has_clients(t_.node)) {
      netcore::close_receiver(t_.node.client, netcore::Band::Rpc, t_.stripe, requests_);
      netcore::close_sender(t_.node.client, netcore::Band::Rpc, t_.stripe, replies_);
    }
    warp_sync();
    if (warp_rank() == 0) {
      t_.node.stripe[t_.stripe] = t_.state;
    }
  }

  GCOORD_HD const StripeCounts& counts() const { return t_.state.counts; }

 private:
  GCOORD_HD static netcore::LaneReceiver receiver(const TurnNode<Service>& node,
                                                  std::uint32_t p,
                                                  std::uint32_t stripe) {
    return netcore::open_receiver(node.channel[p], netcore::Band::Consensus, stripe);
  }

  GCOORD_HD static netcore::LaneSender sender(const TurnNode<Service>& node,
                                              std::uint32_t p,
                                              std::uint32_t stripe) {
    return netcore::open_sender(node.channel[p], netcore::Band::Consensus, stripe);
  }

  // Without clients, the ends of a peer's channel stand in for theirs and are never touched.
  GCOORD_HD static netcore::LaneReceiver client_receiver(const TurnNode<Service>& node,
                                                         std::uint32_t stripe) {
    return has_clients(node) ? netcore::open_receiver(node.client, netcore::Band::Rpc, stripe)
                             : receiver(node, 0, stripe);
  }

  GCOORD_HD static netcore::LaneSender client_sender(const TurnNode<Service>& node,
                                                     std::uint32_t stripe) {
    return has_clients(node) ? netcore::open_sender(node.client, netcore::Band::Rpc, stripe)
                             : sender(node, 0, stripe);
  }

  // What the first looks of a turn at the peers' lanes found, once their loads are done.
  struct Looks {
    netcore::SlotTile seen[kTurnPeers];
    std::uint32_t most[kTurnPeers];  // Slots asked for.
    bool nothing[kTurnPeers];        // Came (is_quiet).
  };

  // Begins them. The last one at the clients' ring may still be under way.
  GCOORD_HD Looks look() const {
    Looks looks;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      looks.most[p] = few_from(p);
      looks.seen[p] = from_[p].template look<kFewSlots>(looks.most[p]);
    }
    return looks;
  }

  // The same, in fewer instructions where the look before found nothing either: then what it left
  // open is asked only. A group spends most of its life here.
  GCOORD_HD bool looks_quiet(Looks& looks) {
    const bool asks = has_clients(t_.node) && looks_left_ == 1;
    bool quiet = false;
    if (calm_ && !asks) {
      looks_left_ -= has_clients(t_.node) ? 1 : 0;
      moved_ = clock_moved();
      quiet = !moved_;
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
        const bool changed = from_[p].in_front(looks.seen[p]) != in_front_[p];
        looks.nothing[p] = warp_ballot(changed) == 0;
        quiet = quiet & looks.nothing[p];
      }
    } else {
      quiet = is_quiet(looks);
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
        in_front_[p] = from_[p].in_front(looks.seen[p]);
      }
    }
    calm_ = quiet;
    return quiet;
  }

  // Whether nothing has come since the last turn and no row waits for another one: a group spends
  // most of its life here, so this is short, and leaves the rest of a turn's code in the caches as
  // it is. The clock is asked now and then: all groups of a device read the same word.
  GCOORD_HD bool is_quiet(Looks& looks) {
    requests_wait_ = clients_wait();
    moved_ = clock_moved();
    bool quiet = !moved_;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      // Where much came the last time, the next look is a large one.
      looks.nothing[p] =
          came_[p] < kFewSlots &&
          (looks.most[p] == 0 || from_[p].template finds_nothing<kFewSlots>(looks.seen[p]));
      quiet = quiet && (looks.nothing[p] || t_.state.halted != 0);
    }
    const bool rows_wait = t_.state.due_count != 0 || t_.again != kNoTurnPlace || waking(t_) ||
                           t_.tick() >= t_.state.deadline_next;
    return quiet && (t_.state.halted != 0 || (!requests_wait_ && !rows_wait));
  }

  GCOORD_HD bool clock_moved() {
    if (--clock_left_ != 0) {
      return false;
    }
    clock_left_ = 1 + t_.node.shape.stripe_count / kClockStripes;
    std::uint64_t version = 0;
    if (warp_rank() == 0) {
      version = netcore::SystemOrder::peek(t_.node.clock->version);
    }
    return warp_broadcast(version, 0) != t_.state.version;
  }

  // Whether the last look at the clients' ring found requests, if it is time to know. A look takes
  // a microsecond across PCIe: it is under way while the group looks at its peers, or has its turn,
  // and the next one begins when it is done. Many stripes would slow each other down: each of them
  // asks only now and then.
  GCOORD_HD bool clients_wait() {
    if (!has_clients(t_.node) || --looks_left_ != 0) {
      return false;
    }
    looks_left_ = looks_between_;
    if (!asked_) {
      ask_clients();  // A group that turns once has no later look.
    }
    if (!requests_.template finds_nothing<kFewSlots>(asked_tile_)) {
      return true;
    }
    ask_clients();
    return false;
  }

  GCOORD_HD void ask_clients() {
    asked_tile_ = requests_.template look<kFewSlots>(kFewSlots);
    asked_ = true;
  }

  // Divides what the clients leave room for. Whether what they ask can be refused beside whatever
  // this turn tells; if not, they are asked again with the next look: a refusal that was lost would
  // leave its request under way for as long as the row leads. Where a host is not told all, its
  // clients ask again by themselves.
  GCOORD_HD bool divide_replies(bool asks) {
    if constexpr (Service::kTellsHost) {
      const std::uint32_t room = replies_.credit_up_to(kTurnReplies + kNoopSlots + kTurnRequests);
      const bool takes = asks && room >= kTurnRequests;
      if (warp_rank() == 0) {
        divide_room(t_.desk, takes ? room - kTurnRequests : room);
      }
      warp_sync();
      looks_left_ = asks && !takes ? 1 : looks_left_;
      return takes;
    } else {
      return asks;
    }
  }

  // Slots that one look can bring at most.
  GCOORD_HD static std::uint32_t first_look() {
    return kFewSlots < warp_lanes() ? kFewSlots : warp_lanes();
  }

  // Slots that a first look at a peer's lane asks for; none where the last time so many came that
  // the next look is a large one.
  GCOORD_HD std::uint32_t few_from(std::uint32_t p) const {
    const std::uint32_t room = room_for(t_, p, kTurnPlaces);
    const std::uint32_t few = room < kFewSlots ? room : kFewSlots;
    return came_[p] < kFewSlots ? few : 0;
  }

  // The intake of a turn that has one row, which was spoken to in one message of each peer or wants
  // another turn, and nothing else to do; false: it may be another one, and nothing was taken.
  GCOORD_HD_FLAT bool take_in_alone(const Looks& looks) {
    const bool rows_wait =
        (t_.state.due_count != 0) | waking(t_) | (t_.tick() >= t_.state.deadline_next);
    const bool again = t_.again != kNoTurnPlace;
    if (moved_ | rows_wait | requests_wait_ | (t_.state.version == 0) | (t_.state.halted != 0) |
        (again & !has_plenty())) {
      return false;
    }
    std::uint32_t row = t_.again;
    std::uint32_t slots[kTurnPeers];
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      slots[p] = 0;
      if (!looks.nothing[p]) {
        std::uint32_t named = 0;
        const bool few = (came_[p] < kFewSlots) & (t_.state.held[p] == 0);
        slots[p] = from_[p].template plain_slots<kFewSlots>(looks.seen[p], looks.most[p]);
        const bool whole = (slots[p] != first_look()) | (warp_lanes() == 1);
        if (!(few & whole & (slots[p] != 0))) {
          return false;
        }
        const bool found = finds_one_message(t_, p, looks.seen[p], slots[p], named);
        if (!(found & ((row == kNoTurnPlace) | (row == named)))) {
          return false;
        }
        row = named;
      }
    }
    if (warp_rank() == 0) {
      open_place(t_.desk, 0, row);
      open_inbox(t_.desk, slots);
    }
    t_.place_count = 1;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      came_[p] = slots[p];
      from_[p].pass(slots[p]);
    }
    t_.again = kNoTurnPlace;
    ++t_.state.looks;
    static_cast<void>(divide_replies(false));
    warp_sync();
    return true;
  }

  // Takes over the clock's reading, and what came in. Messages before rows that are due: an answer
  // frees a sender, and a row that is due can wait. Some places are kept for rows that nobody
  // speaks to, and where both peers have much to say, one of them leaves half of the others in
  // every second turn.
  GCOORD_HD void take_in(const Looks& looks) {
    take_reading(t_);
    if (t_.state.version == 0 || t_.state.halted != 0) {
      return;  // The clock has not been read; or all that counts is when it says to leave.
    }
    scan_deadlines(t_);
    ++t_.state.looks;
    if (divide_replies(requests_wait_)) {
      take_requests();
    }
    const bool rows_wait =
        t_.state.due_count != 0 || t_.again != kNoTurnPlace || waking(t_);
    const std::uint32_t places = rows_wait ? kTurnPlaces - kKeptPlaces : kTurnPlaces;
    const bool halves = t_.state.looks % 2 == 0 && came_[1] >= kFewSlots;
    if (!looks.nothing[0]) {
      take_messages<0>(looks.seen[0], looks.most[0], halves ? places / 2 : places);
    }
    if (!looks.nothing[1]) {
      take_messages<1>(looks.seen[1], looks.most[1], places);
    }
    if (rows_wait) {
      take_again(t_);
      take_due(t_, due_places());
      take_woken(t_, kTurnPlaces);
    }
  }

  template <std::uint32_t p>
  GCOORD_HD void take_messages(const netcore::SlotTile& seen,
                               std::uint32_t looked,
                               std::uint32_t places) {
    const std::uint32_t room = room_for(t_, p, places);
    // A first look that is full was too small.
    const bool few = came_[p] < kFewSlots &&
                     (looked < kFewSlots ||
                      from_[p].template arrived<kFewSlots>(seen, kFewSlots) < first_look());
    if (few) {
      const std::uint32_t most = looked < room ? looked : room;
      came_[p] = receive_messages<kFewSlots>(t_, p, from_[p], seen, most);
    } else {
      const netcore::SlotTile tile = from_[p].look(room);
      came_[p] = receive_messages<netcore::kTileSlots>(t_, p, from_[p], tile, room);
    }
  }

  // What the last look at the clients' ring found. The next one is begun at once, and is under way
  // during the turn.
  GCOORD_HD void take_requests() {
    receive_requests(t_, requests_, asked_tile_);
    ask_clients();
  }

  // Rows ask for another turn because of credit, too: no more of them than find some, or they would
  // be stepped for nothing and keep others from what frees them.
  GCOORD_HD std::uint32_t due_places() {
    const std::uint32_t each = row_slots<typename Service::Entry>(t_.node.shape);
    std::uint32_t places = kTurnPlaces;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      if (t_.desk.reading.peer[p].live == 0) {
        continue;
      }
      const std::uint32_t credit = to_[p].credit_up_to(kTurnPlaces / 2 * each);
      std::uint32_t room = kTurnPlaces;
      GCOORD_UNROLL_BY(1)
      while (room * each > credit) {  // Seldom; and a device divides slowly.
        --room;
      }
      places = room < places ? room : places;
    }
    return places;
  }

  // Which peers have room for so many slots. A silent peer takes everything: what its ring does not
  // hold is lost like the rest.
  GCOORD_HD std::uint32_t credit_mask(std::uint32_t wanted, const std::uint32_t* credit) const {
    std::uint32_t mask = 0;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      const bool silent = t_.desk.reading.peer[p].live == 0;
      mask |= silent || credit[p] >= wanted ? 1u << p : 0u;
    }
    return mask;
  }

  // Puts the row that is kept back into the table, unless it is this one. Whether there was one.
  GCOORD_HD bool keep_only(std::uint32_t row) {
    const std::uint32_t kept = t_.desk.kept.row;
    if (kept == kNoTurnPlace || kept == row) {
      return false;
    }
    warp_sync();
    if (warp_rank() == 0) {
      put_back(t_.node, t_.desk);
    }
    warp_sync();
    return true;
  }

  // Whether all living peers surely have room for what one row says.
  GCOORD_HD bool has_plenty() const {
    const std::uint32_t each = row_slots<typename Service::Entry>(t_.node.shape);
    bool plenty = true;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      const bool room = (t_.state.broken[p] == 0) & (to_[p].credit() >= each);
      plenty = plenty & (room | (t_.desk.reading.peer[p].live == 0));
    }
    return plenty;
  }

  // Whether the only row of this turn had its step (device_turn_alone.h).
  GCOORD_HD_FLAT bool step_alone() {
    const bool kept = (t_.place_count == 1) & (t_.desk.kept.row == t_.desk.row[0]);
    return kept & has_plenty() & !is_hashed(t_.node) && turn_kept(t_);
  }

  // A row may speak to a peer if all that the rows up to its place could say finds room there.
  GCOORD_HD_FLAT void step_places() {
    using Entry = typename Service::Entry;
    if (step_alone()) {
      return;
    }
    static_cast<void>(keep_only(t_.place_count == 1 ? t_.desk.row[0] : kNoTurnPlace));
    if (is_hashed(t_.node)) {
      ask_trees();
    }
    std::uint32_t credit[kTurnPeers];
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
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

  // Clients first: who waits for an answer waits for nothing else.
  GCOORD_HD void say() {
    if constexpr (Service::kTellsHost) {
      if (t_.desk.noop_count != 0) {
        send_noops(t_, replies_);
      }
    }
    if (t_.desk.reply_count != 0 || t_.desk.refused_count != 0) {
      send_replies(t_, replies_);
    }
    if (t_.place_count == 1) {
      send_messages_alone(t_, to_);
    } else {
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
        send_messages(t_, p, to_[p]);
      }
    }
  }

  // Of a turn of one row, which all members read.
  GCOORD_HD void close_alone() {
    const std::uint32_t row = t_.desk.row[0];
    t_.again = t_.desk.again[0] != 0 ? row : kNoTurnPlace;
    t_.state.deadline_next = min_id(t_.state.deadline_next, t_.desk.deadline[0]);
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
    Tick next = kTickNever;
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      const bool meant = place < t_.place_count;
      const std::uint32_t row = meant ? t_.desk.row[place] : t_.rows.first;
      const bool again = meant && t_.desk.again[place] != 0;
      next = meant ? min_id(next, t_.desk.deadline[place]) : next;
      if (warp_ballot(again) != 0) {
        push_due(t_, again && (t_.node.flags[row] & kTurnQueued) == 0, row);
      }
      if constexpr (Service::kTellsHost) {
        if (meant && t_.desk.led_anew[place] != 0) {
          t_.node.leaders.close(t_.stripe, row - t_.rows.first, t_.state.looks);
        }
      }
    }
    t_.state.deadline_next = min_id(t_.state.deadline_next, Tick{warp_least(next.value)});
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

  // Turns of a group between two looks at the clients' ring: many stripes would slow each other
  // down across PCIe.
  GCOORD_HD static std::uint32_t turns_between(std::uint32_t stripe_count) {
    return stripe_count <= kEagerStripes ? 1 : 2 + stripe_count / kEagerStripes;
  }

  // The same of looks at the peers' lanes, which are short on a device while nothing happens. A
  // host's group has other work between two of them.
  GCOORD_HD static std::uint32_t looks_between(std::uint32_t stripe_count) {
    return warp_lanes() == 1 ? turns_between(stripe_count) : 4 + stripe_count / kLookStripes;
  }

  static constexpr std::uint32_t kEagerStripes = 16;
  static constexpr std::uint32_t kLookStripes = 4;
  // Looks at the peers' lanes for one at the clock: one, and one more for every so many stripes.
  static constexpr std::uint32_t kClockStripes = 64;
  // Places of a turn that no message takes while rows wait.
  static constexpr std::uint32_t kKeptPlaces = 8;

  StripeTurn<Service> t_;
  netcore::LaneReceiver from_[kTurnPeers];
  netcore::LaneSender to_[kTurnPeers];
  netcore::LaneReceiver requests_;
  netcore::LaneSender replies_;
  netcore::SlotTile asked_tile_;  // A look at the clients' ring, under way.
  bool rests_ = false;
  bool moved_ = false;  // The clock, by the last look at it.
  bool calm_ = false;   // The last look found nothing,
  std::uint32_t in_front_[kTurnPeers]{};  // and this in front of the lanes.
  bool asked_ = false;
  bool requests_wait_ = false;   // What it found, as far as it is known.
  std::uint32_t looks_between_;  // At the clients' ring.
  std::uint32_t looks_left_ = 1;
  std::uint32_t clock_left_ = 1;
  std::uint32_t came_[kTurnPeers]{};
};

}  // namespace gcoord::server
