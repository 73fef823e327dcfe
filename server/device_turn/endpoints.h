// The ends of the lanes of one stripe, and what its group works on.
//
// Both ends of the lanes of both peers and of the clients' ring lie in the group's registers from
// one turn to the next; between two kernels they rest in memory (netcore/gpu_channel/device.h).
// Contract: one group; all members call every function. Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "netcore/gpu_channel/device.h"
#include "server/device_turn/receive.h"
#include "server/device_turn/scratch.h"

#include <cstdint>
#include <utility>

namespace gcoord::server {

template <typename Node>
GCOORD_HD bool has_clients(const Node& node) {
  return node.client.epoch != 0;
}

// `Numbers`: of the peers, as a pack, since a lane's end cannot be made without its lane.
template <typename Service,
          typename Numbers = std::make_integer_sequence<std::uint32_t, kPeersOf<Service>>>
class StripeEndpoints;

template <typename Service, std::uint32_t... kPeer>
class StripeEndpoints<Service, std::integer_sequence<std::uint32_t, kPeer...>> {
 protected:
  GCOORD_HD StripeEndpoints(const TurnNode<Service>& node,
                            std::uint32_t stripe,
                            WorkspaceFor<Service>& desk)
      : t_{node,
           desk,
           node.scratch_of(stripe),
           stripe,
           rows_of_stripe(node.shape, stripe),
           state_of(node.stripe[stripe]),
           stripe_rows(node.shape)},
        from_{receiver(node, kPeer, stripe)...},
        to_{sender(node, kPeer, stripe)...},
        requests_(client_receiver(node, stripe)),
        replies_(client_sender(node, stripe)) {
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      const auto& lanes =
          node.channel[p].layout.band[static_cast<std::size_t>(netcore::Band::Consensus)];
      GCOORD_ASSERT(is_turn_ring<typename Service::Entry>(node.shape, lanes.ring_slots));
      copy_words(desk.slots[p], t_.scratch.held[p], t_.state.held[p] * netcore::kSlotBytes);
    }
    if (warp_rank() == 0) {
      desk.kept.row = kNoTurnPlace;
      GCOORD_UNROLL
      for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
        desk.waits[p] = t_.state.held[p] != 0 ? 1 : 0;  // It may be; the first turn looks.
      }
    }
    t_.again = kNoTurnPlace;
    t_.state.version = 0;  // The desk is empty: take the newest reading, whichever it is.
    warp_sync();
  }

  // Puts everything back where the next group finds it.
  GCOORD_HD void close_ends() {
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
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
      copy_state(t_.node.stripe[t_.stripe], t_.state);
    }
  }

  // Whether all living peers surely have room for what one row says.
  GCOORD_HD bool has_plenty() const {
    const std::uint32_t each = row_slots<typename Service::Entry>(t_.node.shape);
    bool plenty = true;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      const bool whole = (t_.state.broken[p] == 0) & !to_[p].broken();
      const bool room = whole & (to_[p].credit() >= each);
      plenty = plenty & (room | (t_.desk.reading.peer[p].live == 0));
    }
    return plenty;
  }

  // Which peers have room for so many slots. A silent peer takes everything: what its ring does not
  // hold is lost like the rest.
  GCOORD_HD std::uint32_t credit_mask(std::uint32_t wanted, const std::uint32_t* credit) const {
    std::uint32_t mask = 0;
    GCOORD_UNROLL
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      const bool silent = t_.desk.reading.peer[p].live == 0;
      mask |= silent || credit[p] >= wanted ? 1u << p : 0u;
    }
    return mask;
  }

  StripeTurn<Service> t_;
  netcore::LaneReceiver from_[kPeersOf<Service>];
  netcore::LaneSender to_[kPeersOf<Service>];
  netcore::LaneReceiver requests_;
  netcore::LaneSender replies_;

 private:
  GCOORD_HD static StripeStateOf<kPeersOf<Service>> state_of(const StripeState& stored) {
    StripeStateOf<kPeersOf<Service>> state;
    copy_state(state, stored);
    return state;
  }

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
};

}  // namespace gcoord::server
