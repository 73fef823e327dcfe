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
#include "server/device_turn_clock.h"
#include "server/device_turn_desk.h"
#include "server/device_turn_receive.h"
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
           node.stripe[stripe]},
        from_{receiver(node, 0, stripe), receiver(node, 1, stripe)},
        to_{sender(node, 0, stripe), sender(node, 1, stripe)},
        requests_(client_receiver(node, stripe)),
        replies_(client_sender(node, stripe)) {
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      const auto& lanes =
          node.channel[p].layout.band[static_cast<std::size_t>(netcore::Band::Consensus)];
      GCOORD_ASSERT(is_turn_ring<typename Service::Entry>(node.shape, lanes.ring_slots));
      copy_words(desk.slots[p], t_.scratch.held[p], t_.state.held[p] * netcore::kSlotBytes);
    }
    t_.state.version = 0;  // The desk is empty: take the newest reading, whichever it is.
    warp_sync();
  }

  // One turn. Whether any row was stepped. The groups of a block run its parts together.
  GCOORD_HD_FLAT bool turn() {
    const std::uint64_t began_ns = device_now_ns();
    take_reading(t_);
    clear_desk(t_);
    if (t_.state.version != 0) {  // The clock has been read.
      scan_deadlines(t_);
      take_in();
    }
    const bool busy = t_.place_count != 0 || t_.desk.reply_count != 0;
    const std::uint64_t taken_ns = device_now_ns();
    block_meet();
    if (busy) {
      step_places();
    }
    block_meet();
    const std::uint64_t stepped_ns = device_now_ns();
    if (busy) {
      say();
      close_turn();
      StripeCounts& counts = t_.state.counts;
      counts.intake_ns += taken_ns - began_ns;
      counts.step_ns += stepped_ns - taken_ns;
      counts.send_ns += device_now_ns() - stepped_ns;
    }
    block_meet();
    return busy;
  }

  // The newest reading of the clock says that the node stops.
  GCOORD_HD bool leaves() const { return t_.state.version != 0 && t_.desk.reading.leave != 0; }

  // Puts everything back where the next group finds it.
  GCOORD_HD void close() {
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

  // Reads across PCIe take a microsecond and slow each other down: with many stripes each looks at
  // its clients only now and then.
  GCOORD_HD bool asks_clients() const {
    constexpr std::uint32_t kEagerStripes = 16;
    const std::uint32_t every = 1 + t_.node.shape.stripe_count / kEagerStripes;
    return has_clients(t_.node) && (t_.state.looks + t_.stripe) % every == 0;
  }

  // Messages first: an answer frees a sender, and a row that is due can wait. Peers take turns at
  // who comes first, and some places are kept for rows that nobody speaks to.
  GCOORD_HD void take_in() {
    constexpr std::uint32_t kKept = 8;
    ++t_.state.looks;
    if constexpr (Service::kTellsHost) {
      const std::uint32_t room = replies_.credit_up_to(kTurnReplies);
      if (warp_rank() == 0) {
        t_.desk.reply_room = room < kTurnReplies ? room : kTurnReplies;
      }
      warp_sync();
    }
    if (asks_clients()) {
      receive_requests(t_, requests_);
    }
    const bool rows_wait =
        t_.state.due_tail != t_.state.due_head || t_.state.wake_next < t_.rows.count();
    const std::uint32_t places = rows_wait ? kTurnPlaces - kKept : kTurnPlaces;
    const std::uint32_t first = t_.state.looks % kTurnPeers == 0 ? 0 : 1;
    for (std::uint32_t k = 0; k < kTurnPeers; ++k) {
      const std::uint32_t p = k == 0 ? first : 1 - first;
      receive_messages(t_, p, from_[p], places, came_[p]);
    }
    if (rows_wait) {
      take_due(t_, due_places());
      take_woken(t_, kTurnPlaces);
    }
  }

  // Rows ask for another turn because of credit, too: no more of them than find some, or they would
  // be stepped for nothing and keep others from what frees them.
  GCOORD_HD std::uint32_t due_places() {
    const std::uint32_t each = row_slots<typename Service::Entry>(t_.node.shape);
    std::uint32_t places = kTurnPlaces;
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      if (t_.desk.reading.peer[p].live != 0) {
        const std::uint32_t room = to_[p].credit_up_to(kTurnPlaces / 2 * each) / each;
        places = room < places ? room : places;
      }
    }
    return places;
  }

  // Which peers have room for all that the rows up to a place could say to them. A silent peer
  // takes everything: what its ring does not hold is lost like the rest.
  GCOORD_HD std::uint32_t credit_mask(std::uint32_t place, const std::uint32_t* credit) const {
    const std::uint32_t wanted = (place + 1) * row_slots<typename Service::Entry>(t_.node.shape);
    std::uint32_t mask = 0;
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      const bool silent = t_.desk.reading.peer[p].live == 0;
      mask |= silent || credit[p] >= wanted ? 1u << p : 0u;
    }
    return mask;
  }

  GCOORD_HD_FLAT void step_places() {
    std::uint32_t credit[kTurnPeers];
    const std::uint32_t wanted = t_.place_count * row_slots<typename Service::Entry>(t_.node.shape);
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      credit[p] = t_.state.broken[p] != 0 ? 0 : to_[p].credit_up_to(wanted);
    }
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      if (place < t_.place_count) {
        turn_row(t_, place, credit_mask(place, credit));
      }
    }
    warp_sync();
  }

  GCOORD_HD void say() {
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kTurnPeers; ++p) {
      send_messages(t_, p, to_[p]);
    }
    if (t_.desk.reply_count != 0) {
      send_replies(t_, replies_);
    }
  }

  // Rows that want another turn, deadlines, counts.
  GCOORD_HD void close_turn() {
    Tick next = kTickNever;
    for (std::uint32_t base = 0; base < t_.place_count; base += warp_lanes()) {
      const std::uint32_t place = base + warp_rank();
      const bool meant = place < t_.place_count;
      const std::uint32_t row = meant ? t_.desk.row[place] : t_.rows.first;
      const bool again = meant && t_.desk.again[place] != 0;
      next = meant ? min_id(next, t_.desk.deadline[place]) : next;
      push_due(t_, again && (t_.node.flags[row] & kTurnQueued) == 0, row);
    }
    t_.state.deadline_next = min_id(t_.state.deadline_next, Tick{warp_least(next.value)});
    const TurnTally& tally = t_.desk.tally;
    StripeCounts& counts = t_.state.counts;
    ++counts.turns;
    counts.steps += t_.place_count;
    counts.stalled += tally.stalled;
    counts.dropped += tally.dropped;
    counts.applied += tally.applied;
    counts.unreplied += tally.unreplied;
    counts.led += static_cast<std::uint64_t>(static_cast<std::int32_t>(tally.led));
    if (tally.elected != 0) {
      counts.elected_ns = device_now_ns();
    }
    if (tally.exhausted != 0 && warp_rank() == 0) {
      // A row is behind what its peers were told: the node stops (packed_table.h).
      netcore::SystemOrder::raise(t_.node.control->abort, 1);
    }
    warp_sync();
  }

  StripeTurn<Service> t_;
  netcore::LaneReceiver from_[kTurnPeers];
  netcore::LaneSender to_[kTurnPeers];
  netcore::LaneReceiver requests_;
  netcore::LaneSender replies_;
  std::uint32_t came_[kTurnPeers]{};
};

}  // namespace gcoord::server
