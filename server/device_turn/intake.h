// Intake of a stripe's turn: it polls the lanes and the clients' ring and takes messages from them.
//
// A group spends most of its life in looks that find nothing, so these are short
// (docs/adr/0070); one message, or the row of the last turn, is taken on a way of its own
// (device_turn_alone.h); anything else as device_turn_receive.h and device_turn_requests.h do.
// Nothing here waits but for loads. Contract: one group; all members call every function. Host and
// device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "server/device_turn/client_pace.h"
#include "server/device_turn/deadlines.h"
#include "server/device_turn/endpoints.h"
#include "server/device_turn/receive.h"
#include "server/device_turn/requests.h"
#include "server/device_turn/single_row.h"

#include <cstdint>

namespace gcoord::server {

template <typename Service>
class StripeIntake : protected StripeEndpoints<Service> {
 protected:
  using StripeEndpoints<Service>::t_;
  using StripeEndpoints<Service>::from_;
  using StripeEndpoints<Service>::to_;
  using StripeEndpoints<Service>::requests_;
  using StripeEndpoints<Service>::replies_;
  using StripeEndpoints<Service>::has_plenty;

  GCOORD_HD StripeIntake(const TurnNode<Service>& node,
                         std::uint32_t stripe,
                         WorkspaceFor<Service>& desk)
      : StripeEndpoints<Service>(node, stripe, desk),
        pace_(client_pace(node.shape.stripe_count, warp_lanes() != 1)) {
    open_scan(t_);
  }

  // What the first looks of a turn at the peers' lanes found, once their loads are done.
  struct Looks {
    netcore::SlotTile seen[kPeersOf<Service>];
    bool asked;  // Something in front has changed, or the looks before were not in vain.
    bool work;   // Found, for a row that may be alone.
    std::uint32_t most[kPeersOf<Service>];   // Slots asked for.
    std::uint32_t plain[kPeersOf<Service>];  // Slots that came and can be taken without a word.
    bool nothing[kPeersOf<Service>];         // Came, as far as it was judged.
  };

  // Begins them.
  GCOORD_HD Looks look() const {
    Looks looks;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      looks.most[p] = few_from(p);
      looks.seen[p] = from_[p].template look<kFewSlots>(looks.most[p]);
    }
    return looks;
  }

  // After what had a turn of its own: peers and clients are told of the places that are free again,
  // and it is looked for what peers granted, if it is time, which it seldom is. A turn without
  // plenty would be a general one.
  GCOORD_HD void settle_credit() {
    bool owes = false;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      owes = owes | from_[p].owes_grant();
    }
    const bool peers = owes | !has_plenty();
    if (peers | (requests_wait_ & requests_.owes_grant())) {
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
        from_[p].grant_if_due();
        static_cast<void>(to_[p].credit_up_to(row_slots<typename Service::Entry>(t_.node.shape)));
      }
      if (requests_wait_) {
        requests_.grant_if_due();
      }
    }
  }

  // Whether there is work for which nothing has to be judged: what came whole and needs no word, a
  // request of a client, or the row of the last turn. Most of what comes is such, so it is asked
  // first, and in few instructions where nothing in front of the lanes has changed since a look in
  // vain: a group spends most of its life there. Where the clock has moved, its reading comes
  // first.
  GCOORD_HD bool finds_work(Looks& looks) {
    requests_wait_ = clients_wait();
    moved_ = clock_moved();
    bool changed = !calm_;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      changed = changed | (from_[p].in_front(looks.seen[p]) != in_front_[p]);
      looks.plain[p] = 0;
      looks.nothing[p] = false;
    }
    looks.asked = warp_ballot(changed) != 0;
    std::uint32_t came = 0;
    if (looks.asked) {
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
        looks.plain[p] = from_[p].template plain_slots<kFewSlots>(looks.seen[p], looks.most[p]);
        came |= looks.plain[p];
      }
    }
    const bool waits = requests_wait_ | (t_.again != kNoTurnPlace);
    looks.work = (waits | (came != 0)) & (t_.state.halted == 0);
    calm_ = calm_ & !looks.work;
    const bool judges = must_judge();
    turns_alone_ += looks.work & !judges ? 1 : 0;
    return looks.work & !(moved_ | judges);
  }

  // Of looks that found no work: whether there is nothing else to do either. Judges what lies in
  // front of the lanes.
  GCOORD_HD bool looks_quiet(Looks& looks) {
    partly_ = false;
    bool quiet = !moved_ & !looks.work;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      looks.nothing[p] = true;
      if (looks.asked) {
        in_front_[p] = from_[p].in_front(looks.seen[p]);
        // Where much came the last time, the next look is a large one.
        looks.nothing[p] =
            (looks.most[p] == 0 || from_[p].template finds_nothing<kFewSlots>(looks.seen[p])) &
            (came_[p] < kFewSlots) & (t_.desk.waits[p] == 0);
      }
      quiet = quiet & looks.nothing[p];
    }
    // Rows become due by the clock or by a turn with work.
    const bool due = looks.asked && rows_are_due();
    calm_ = (quiet & !due) | ((t_.state.halted != 0) & !moved_);
    put_off_ = put_off_ & !calm_;
    turns_alone_ = 0;
    return calm_;
  }

  // The intake of a turn that has one row, which was spoken to in one message of each peer, is
  // asked a few things by clients or wants another turn, and nothing else to do; false: it may be
  // another one, and nothing was taken.
  GCOORD_HD_FLAT bool take_in_alone(const Looks& looks) {
    partly_ = false;
    if (rows_are_due() | (t_.state.version == 0) | !has_plenty()) {
      return false;
    }
    const bool asked = requests_wait_;
    const bool again = t_.again != kNoTurnPlace;
    bool fits = !asked | (asked_row_ != kNoTurnPlace);
    fits = fits & (!(asked & again) | (asked_row_ == t_.again));
    std::uint32_t row = asked ? asked_row_ : t_.again;
    std::uint32_t slots[kPeersOf<Service>];
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      slots[p] = looks.plain[p];
      // What is held back lies where a message would be laid.
      const bool whole = (slots[p] != first_look()) | (warp_lanes() == 1);
      const bool meant = (slots[p] != 0) & (t_.state.held[p] == 0);
      fits = fits & whole & (meant | (slots[p] == 0));
      if (meant) {
        std::uint32_t named = 0;
        bool partly = false;
        const bool found = finds_one_message(t_, p, looks.seen[p], slots[p], named, partly);
        partly_ = partly_ | partly;
        fits = fits & found & ((row == kNoTurnPlace) | (row == named));
        row = named;
      }
    }
    fits = fits && divide_replies(asked) == asked;
    if (fits) {
      begin_alone(row, slots, asked);
    }
    warp_sync();  // Before somebody else writes what was read.
    return fits;
  }

  // Whether the clock's reading is to be taken over by itself, on a short way; what was found has a
  // turn of its own with the next look. Once, since the clock may move with every look. A stripe
  // that begins, has many rows at work or some that are due, takes all in at once; so does a group
  // of one member, for which nothing is shorter.
  GCOORD_HD bool reads_clock() const {
    const bool begins = (t_.state.version == 0) | (t_.state.halted != 0) | must_judge();
    return (warp_lanes() != 1) & moved_ & !(begins | put_off_ | crowded_ | rows_are_due());
  }

  // Takes it over. Whether no row is due by it; where one is, the turn goes on.
  GCOORD_HD bool read_clock() {
    take_reading(t_);
    if (t_.state.version == kNoReading) {
      return false;
    }
    scan_deadlines(t_);
    if (rows_are_due()) {
      return false;
    }
    put_off();
    return true;
  }

  // Takes over the clock's reading, and what came in. Messages before rows that are due: an answer
  // frees a sender, and a row that is due can wait. Some places are kept for rows that nobody
  // speaks to, and where a later peer has much to say, those before it take their share of the
  // others: a node that all its peers hear last would fall behind.
  GCOORD_HD void take_in(const Looks& looks) {
    take_reading(t_);
    if (t_.state.version == 0 || t_.state.halted != 0) {
      return;  // The clock has not been read; or all that counts is when it says to leave.
    }
    scan_deadlines(t_);
    if (partly_ & !put_off_) {
      put_off();
      return;
    }
    put_off_ = false;
    ++t_.state.looks;
    if (divide_replies(requests_wait_)) {
      receive_requests(t_, requests_, parked());
    }
    const bool rows_wait = t_.state.due_count != 0 || t_.again != kNoTurnPlace || waking(t_);
    const std::uint32_t places = rows_wait ? kTurnPlaces - kKeptPlaces : kTurnPlaces;
    take_from_peers(looks, places);
    if (messages_wait()) {
      turns_alone_ = kTurnsAlone;  // The next look goes on with them, whatever comes.
    }
    if (rows_wait) {
      take_again(t_);
      take_due(t_, due_places());
      take_woken(t_, kTurnPlaces);
    }
  }

  // After a turn with work: what is looked at now and then is looked at soon.
  GCOORD_HD void look_soon() {
    calm_ = false;
    crowded_ = t_.place_count > 1;
    const bool answers = (t_.desk.tally.answered | t_.desk.refused_count) != 0;
    pace_.turned(answers               ? TurnWork::Answers
                 : t_.place_count == 1 ? TurnWork::One
                                       : TurnWork::Many);
    clock_left_ = 1;
  }

 private:
  // Leaves what was found to the next look.
  GCOORD_HD void put_off() {
    put_off_ = true;
    calm_ = false;
    clock_left_ = 1;
    if (requests_wait_) {
      pace_.look_again();
    }
  }

  // Takes what take_in_alone() found.
  GCOORD_HD void begin_alone(std::uint32_t row,
                             const std::uint32_t (&slots)[kPeersOf<Service>],
                             bool asked) {
    if (warp_rank() == 0) {
      open_place(t_.desk, 0, row);
      open_inbox(t_.desk, slots);
      GCOORD_UNROLL
      for (std::uint32_t k = 0; k + 1 < kFewSlots; ++k) {
        t_.desk.proposal[0][k] = static_cast<std::uint8_t>(k);
      }
      t_.desk.proposal_count[0] = static_cast<std::uint8_t>(asked ? asked_count_ : 0);
    }
    t_.place_count = 1;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      came_[p] = slots[p];
      from_[p].pass(slots[p]);
    }
    t_.again = kNoTurnPlace;
    put_off_ = false;
    ++t_.state.looks;
    requests_.pass(asked ? asked_count_ : 0);
    t_.state.counts.requests += asked ? asked_count_ : 0;
  }

  // The row for which all that a look found in the clients' ring is meant, asked_count_ commands or
  // pieces of one, which then lie on the desk; kNoTurnPlace: it may be anything else, or more.
  // Nothing is taken yet.
  GCOORD_HD std::uint32_t asked_row(const netcore::SlotTile& tile) {
    std::uint32_t row = 0;
    asked_count_ = requests_.template plain_slots<kFewSlots>(tile, kFewSlots);
    const bool all = (asked_count_ != first_look()) | (warp_lanes() == 1);
    if (asked_count_ == 0 || !all || more_wait()) {
      return kNoTurnPlace;
    }
    const bool found = finds_requests_of_one(t_, tile, asked_count_, row);
    warp_sync();  // Before somebody else writes what was read.
    return found ? row : kNoTurnPlace;
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

  // Whether looks have found work so often that this one is judged, whatever it found.
  GCOORD_HD bool must_judge() const { return turns_alone_ >= kTurnsAlone; }

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
      asked_row_ = asked_row(tile);
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
    const std::uint32_t room = room_for(t_, p);
    const std::uint32_t few = room < kFewSlots ? room : kFewSlots;
    return came_[p] < kFewSlots ? few : 0;
  }

  // Whether a peer behind this one has much to say.
  template <std::uint32_t p>
  GCOORD_HD bool crowded_behind() const {
    bool crowded = false;
    GCOORD_UNROLL
    for (std::uint32_t q = p + 1; q < kPeersOf<Service>; ++q) {
      crowded = crowded | (came_[q] >= kFewSlots) | (t_.desk.waits[q] != 0);
    }
    return crowded;
  }

  // Messages of peer p and those behind it. Places up to which the first of them may take some: its
  // share of what those before it left, where others need theirs.
  template <std::uint32_t p = 0>
  GCOORD_HD void take_from_peers(const Looks& looks, std::uint32_t places) {
    constexpr std::uint32_t kLeft = kPeersOf<Service> - p;
    const std::uint32_t taken = p == 0 || t_.place_count > places ? 0 : t_.place_count;
    const std::uint32_t share = taken + (places - taken) / kLeft;
    const bool crowded = crowded_behind<p>();
    if (!looks.nothing[p]) {
      take_messages<p>(looks.seen[p], looks.most[p], crowded ? share : places);
    }
    if constexpr (kLeft > 1) {
      take_from_peers<p + 1>(looks, places);
    }
  }

  // Whether messages that are there whole wait for the next turn.
  GCOORD_HD bool messages_wait() const {
    std::uint32_t waits = 0;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      waits |= t_.desk.waits[p];
    }
    return waits != 0;
  }

  template <std::uint32_t p>
  GCOORD_HD void take_messages(const netcore::SlotTile& seen,
                               std::uint32_t looked,
                               std::uint32_t places) {
    if (t_.place_count >= places) {
      came_[p] = t_.state.broken[p] != 0 ? 0 : kFewSlots;  // It has its part in the next turn.
      return;
    }
    const std::uint32_t room = room_for(t_, p);
    // A first look that is full was too small.
    const bool few = came_[p] < kFewSlots &&
                     (looked < kFewSlots ||
                      from_[p].template arrived<kFewSlots>(seen, kFewSlots) < first_look());
    if (few) {
      const std::uint32_t most = looked < room ? looked : room;
      came_[p] = receive_messages<kFewSlots>(t_, p, from_[p], seen, most, places);
    } else {
      const netcore::SlotTile tile = from_[p].look(room);
      came_[p] = receive_messages<netcore::kTileSlots>(t_, p, from_[p], tile, room, places);
    }
  }

  // Rows ask for another turn because of credit, too: no more of them than find some, or they would
  // be stepped for nothing and keep others from what frees them.
  GCOORD_HD std::uint32_t due_places() {
    const std::uint32_t each = row_slots<typename Service::Entry>(t_.node.shape);
    std::uint32_t places = kTurnPlaces;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
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
  // Looks with work after which one is judged, whatever comes: what lies in front of a lane and is
  // not plain would wait for ever where something else always is.
  static constexpr std::uint32_t kTurnsAlone = 64;
  // Places of a turn that no message takes while rows wait.
  static constexpr std::uint32_t kKeptPlaces = 8;

  bool requests_wait_ = false;                   // On the desk (parked),
  std::uint32_t asked_row_ = kNoTurnPlace;       // and this row is asked, if it is known,
  std::uint32_t asked_count_ = 0;                // so many things.
  bool moved_ = false;                           // The clock, by the last look at it.
  std::uint32_t turns_alone_ = 0;                // Looks with work, one after the other.
  bool partly_ = false;                          // Of a message the rest is still to come.
  bool crowded_ = false;                         // The last turn with work had several rows.
  bool put_off_ = false;                         // The last turn left work to the next one.
  bool calm_ = false;                            // The last look found nothing,
  std::uint64_t in_front_[kPeersOf<Service>]{};  // and this in front of the lanes.
  ClientPace pace_;
  std::uint32_t clock_left_ = 1;
  std::uint32_t came_[kPeersOf<Service>]{};
};

}  // namespace gcoord::server
