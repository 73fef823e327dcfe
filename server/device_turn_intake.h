// How a stripe's turn begins: looks at its lanes and its clients' ring, and what it takes of what
// they found.
//
// A group spends most of its life in looks that find nothing, so these are short
// (docs/adr/0070); one message, or the row of the last turn, is taken on a way of its own
// (device_turn_alone.h); anything else as device_turn_receive.h and device_turn_requests.h do.
// Nothing here waits but for loads. Contract: one group; all members call every function. Host and
// device.
#pragma once

#include "common/hd.h"
#include "common/warp_device.h"
#include "server/client_pace.h"
#include "server/device_turn_alone.h"
#include "server/device_turn_ends.h"
#include "server/device_turn_receive.h"
#include "server/device_turn_requests.h"

#include <cstdint>

namespace gcoord::server {

template <typename Service>
class StripeIntake : protected StripeEnds<Service> {
 protected:
  using StripeEnds<Service>::t_;
  using StripeEnds<Service>::from_;
  using StripeEnds<Service>::to_;
  using StripeEnds<Service>::requests_;
  using StripeEnds<Service>::replies_;
  using StripeEnds<Service>::has_plenty;

  GCOORD_HD StripeIntake(const TurnNode<Service>& node, std::uint32_t stripe, StripeDesk& desk)
      : StripeEnds<Service>(node, stripe, desk),
        pace_(client_pace(node.shape.stripe_count, warp_lanes() != 1)) {}

  // What the first looks of a turn at the peers' lanes found, once their loads are done.
  struct Looks {
    netcore::SlotTile seen[kTurnPeers];
    std::uint32_t most[kTurnPeers];   // Slots asked for.
    std::uint32_t plain[kTurnPeers];  // Slots that came and can be taken without a word.
    bool nothing[kTurnPeers];         // Came.
  };

  // Begins them.
  GCOORD_HD Looks look() const {
    Looks looks;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      looks.most[p] = few_from(p);
      looks.seen[p] = from_[p].template look<kFewSlots>(looks.most[p]);
    }
    return looks;
  }

  // Whether they found nothing, in fewer instructions where the look before found nothing either:
  // then what it left open is asked only. A group spends most of its life here.
  GCOORD_HD bool looks_quiet(Looks& looks) {
    requests_wait_ = clients_wait();
    moved_ = clock_moved();
    bool quiet = !(moved_ | (requests_wait_ & (t_.state.halted == 0)));
    if (calm_) {
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
        const std::uint64_t front = from_[p].in_front(looks.seen[p]);
        looks.plain[p] = 0;
        looks.nothing[p] = true;
        if (warp_ballot(front != in_front_[p]) != 0) {
          judge_look(looks, p);
          in_front_[p] = front;
        }
        quiet = quiet & (looks.nothing[p] | (t_.state.halted != 0));
      }
    } else {
      quiet = is_quiet(looks, quiet);
    }
    calm_ = quiet;
    return quiet;
  }

  // The intake of a turn that has one row, which was spoken to in one message of each peer, is
  // asked one thing by a client or wants another turn, and nothing else to do; false: it may be
  // another one, and nothing was taken.
  GCOORD_HD_FLAT bool take_in_alone(const Looks& looks) {
    const bool again = t_.again != kNoTurnPlace;
    if (moved_ | rows_are_due() | (t_.state.version == 0) | (t_.state.halted != 0) |
        (again & !has_plenty())) {
      return false;
    }
    std::uint32_t row = t_.again;
    const bool asked = requests_wait_;
    if (asked && !finds_request(row)) {
      return false;
    }
    std::uint32_t slots[kTurnPeers];
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      slots[p] = 0;
      if (!looks.nothing[p]) {
        std::uint32_t named = 0;
        slots[p] = looks.plain[p];
        const bool whole = (slots[p] != first_look()) | (warp_lanes() == 1);
        if (!(whole & (slots[p] != 0) & (t_.state.held[p] == 0))) {
          return false;
        }
        const bool found = finds_one_message(t_, p, looks.seen[p], slots[p], named);
        if (!(found & ((row == kNoTurnPlace) | (row == named)))) {
          warp_sync();  // Before somebody else writes what was read.
          return false;
        }
        row = named;
      }
    }
    if (divide_replies(asked) != asked) {
      return false;
    }
    if (warp_rank() == 0) {
      open_place(t_.desk, 0, row);
      open_inbox(t_.desk, slots);
      t_.desk.proposal[0][0] = 0;
      t_.desk.proposal_count[0] = asked ? 1 : 0;
    }
    t_.place_count = 1;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      came_[p] = slots[p];
      from_[p].pass(slots[p]);
    }
    t_.again = kNoTurnPlace;
    ++t_.state.looks;
    warp_sync();
    if (asked) {
      requests_.pass(1);
      ++t_.state.counts.requests;
    }
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
      receive_requests(t_, requests_, parked());
    }
    const bool rows_wait = t_.state.due_count != 0 || t_.again != kNoTurnPlace || waking(t_);
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

  // After a turn with work: what is looked at now and then is looked at soon.
  GCOORD_HD void look_soon() {
    const bool answers = (t_.desk.tally.answered | t_.desk.refused_count) != 0;
    pace_.turned(answers               ? TurnWork::Answers
                 : t_.place_count == 1 ? TurnWork::One
                                       : TurnWork::Many);
    clock_left_ = 1;
  }

 private:
  // What a look at a peer's lane found. Most of what comes is plain, so that is asked first.
  GCOORD_HD void judge_look(Looks& looks, std::uint32_t p) {
    const netcore::SlotTile& seen = looks.seen[p];
    looks.plain[p] = from_[p].template plain_slots<kFewSlots>(seen, looks.most[p]);
    looks.nothing[p] = looks.plain[p] == 0 &&
                       (looks.most[p] == 0 || from_[p].template finds_nothing<kFewSlots>(seen));
  }

  // Whether what waits in the clients' ring is one command, for this row or, where there is none
  // yet, any of this stripe; then it lies on the desk. Nothing is taken yet.
  GCOORD_HD bool finds_request(std::uint32_t& row) {
    std::uint32_t named = 0;
    const netcore::SlotTile tile = parked();
    if (requests_.template plain_slots<kFewSlots>(tile, kFewSlots) != 1 || more_wait()) {
      return false;
    }
    const bool found = finds_one_request(t_, tile, named);
    const bool fits = found & ((row == kNoTurnPlace) | (row == named));
    warp_sync();  // Before somebody else writes what was read.
    row = named;
    return fits;
  }

  // Whether another request lies behind the one that a look found. A host's group looks at one slot
  // at a time, so the look does not say.
  GCOORD_HD bool more_wait() const {
    if (warp_lanes() != 1) {
      return false;
    }
    netcore::LaneReceiver behind = requests_;
    behind.pass(1);
    return !behind.template finds_nothing<kFewSlots>(behind.template look<kFewSlots>(1));
  }

  // Whether nothing has come since the last turn and no row waits for another one: a group spends
  // most of its life here, so this is short, and leaves the rest of a turn's code in the caches as
  // it is. The clock is asked now and then: all groups of a device read the same word.
  GCOORD_HD bool is_quiet(Looks& looks, bool quiet) {
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      judge_look(looks, p);
      in_front_[p] = from_[p].in_front(looks.seen[p]);
      // Where much came the last time, the next look is a large one.
      looks.nothing[p] = looks.nothing[p] & (came_[p] < kFewSlots);
      quiet = quiet && (looks.nothing[p] || t_.state.halted != 0);
    }
    return quiet & ((t_.state.halted != 0) | !((t_.again != kNoTurnPlace) | rows_are_due()));
  }

  // Whether rows want a turn besides the one that was alone in the last one.
  GCOORD_HD bool rows_are_due() const {
    return (t_.state.due_count != 0) | waking(t_) | (t_.tick() >= t_.state.deadline_next);
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

  // Whether the clients' ring has requests, if it is time to look (client_pace.h); then they lie on
  // the desk. Waits for the load: to go on meanwhile takes registers that a turn has not.
  GCOORD_HD bool clients_wait() {
    if (!has_clients(t_.node) || !pace_.is_due()) {
      return false;
    }
    const netcore::SlotTile tile = requests_.template look<kFewSlots>(kFewSlots);
    const bool found = !requests_.template finds_nothing<kFewSlots>(tile);
    if (found) {
      park(tile);
    }
    pace_.looked(found);
    return found;
  }

  // Keeps on the desk what a look at the clients' ring found, each member its own packet.
  GCOORD_HD void park(const netcore::SlotTile& tile) const {
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < netcore::kSlotPackets; ++row) {
      const std::uint32_t number = row * warp_lanes() + warp_rank();
      if (netcore::is_past(row, kFewSlots)) {
        break;
      }
      if (number < kFewSlots * netcore::kSlotPackets) {
        t_.desk.asked[number] = tile.packet[row];
      }
    }
  }

  // What was kept so; nothing was taken in between.
  GCOORD_HD netcore::SlotTile parked() const {
    netcore::SlotTile tile;
    tile.first = requests_.state().credit.received;
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < netcore::kSlotPackets; ++row) {
      const std::uint32_t number = row * warp_lanes() + warp_rank();
      if (netcore::is_past(row, kFewSlots)) {
        break;
      }
      if (number < kFewSlots * netcore::kSlotPackets) {
        tile.packet[row] = t_.desk.asked[number];
      }
    }
    return tile;
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
      if (asks && !takes) {
        pace_.look_again();
      }
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

  // Looks at the peers' lanes for one at the clock: one, and one more for every so many stripes.
  static constexpr std::uint32_t kClockStripes = 64;
  // Places of a turn that no message takes while rows wait.
  static constexpr std::uint32_t kKeptPlaces = 8;

  bool requests_wait_ = false;            // On the desk (parked).
  bool moved_ = false;                    // The clock, by the last look at it.
  bool calm_ = false;                     // The last look found nothing,
  std::uint64_t in_front_[kTurnPeers]{};  // and this in front of the lanes.
  ClientPace pace_;
  std::uint32_t clock_left_ = 1;
  std::uint32_t came_[kTurnPeers]{};
};

}  // namespace gcoord::server
