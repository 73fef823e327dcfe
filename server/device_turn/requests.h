// Requests that a stripe takes from its clients' ring: commands, and the host's orders about a row.
//
// A word is a request with a tag that no client's has: what was made durable, to whom a row is to
// hand its leadership, when a row's state is linearizable, and whose the requests behind it are
// (TurnPass). Whatever names no row of
// this stripe is refused or ignored. Nothing that a writer of the ring derived is believed: the
// service judges each request before it is proposed, one slot at a time, so that nothing has to be
// kept between two of them, and refuses what is not sound (docs/adr/0144). Contract: as
// device_turn_receive.h. Host and device.
#pragma once

#include "server/device_turn/receive.h"
#include "server/device_turn/store.h"

#include <cstdint>

namespace gcoord::server {

// What the host has made durable. A row has one request under way, so an acknowledgement at most.
template <typename Service>
GCOORD_HD void take_stored(StripeTurn<Service>& t, const TurnRequest& request) {
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < kStoredAcks; ++k) {
    const std::uint32_t row = stored_row(request, k);
    if (!t.rows.has(row)) {
      continue;  // None, or not of this stripe.
    }
    const std::uint32_t place = place_for(t, row);
    GCOORD_ASSERT(place != kNoTurnPlace);
    if (warp_rank() == 0) {
      t.desk.stored_ack[place] = stored_ack(request, k);
    }
    warp_sync();
  }
}

// The host asks the row to hand its leadership over.
template <typename Service>
GCOORD_HD void take_transfer(StripeTurn<Service>& t, const TurnRequest& request) {
  const std::uint32_t row = row_of_shard(request.shard);
  const std::uint64_t to = request.word[0];
  if (!t.rows.has(row) || to == 0 || to > kVotersOf<Service>) {
    return;
  }
  const std::uint32_t place = place_for(t, row);
  GCOORD_ASSERT(place != kNoTurnPlace);
  if (warp_rank() == 0) {
    t.desk.order[place].transfer_to = static_cast<std::uint8_t>(to);
  }
  warp_sync();
}

// The host asks when the row's state is linearizable (reads.h). It asks anew behind a read only
// when that one has ended on its side, so the newer of two counts.
template <typename Service>
GCOORD_HD void take_read(StripeTurn<Service>& t, const TurnRequest& asked, std::uint32_t at) {
  TurnRequest request = asked;  // As the answer names it.
  request.tag = asked.word[0];
  ++t.state.counts.requests;
  const std::uint32_t row = row_of_shard(request.shard);
  const bool known = t.rows.has(row) && request.tag != 0;
  const std::uint32_t place = known ? place_for(t, row) : kNoTurnPlace;
  GCOORD_ASSERT(!known || place != kNoTurnPlace);
  if (warp_rank() == 0 && !known) {
    refuse(t, request, TurnVerdict::Refused, NodeId{});
  } else if (warp_rank() == 0) {
    std::uint8_t& read = t.desk.order[place].read;
    if (read != 0) {
      request.tag = request_at(t.desk, read - 1u).word[0];
      refuse(t, request, TurnVerdict::Overloaded, NodeId{});
    }
    read = static_cast<std::uint8_t>(at + 1);
  }
  warp_sync();
}

// Whose the requests behind it are.
template <typename Service>
GCOORD_HD void take_pass(StripeTurn<Service>& t, const TurnRequest& request) {
  if (warp_rank() == 0) {
    t.scratch.pass = pass_of(request);
  }
  warp_sync();
}

// Why the service does not take a request of the ring; 0: it does.
template <typename Service>
GCOORD_HD std::uint32_t unsound(const StripeTurn<Service>& t, std::uint32_t at) {
  if constexpr (Service::kTellsHost) {
    const std::uint32_t homes = t.node.service.homes(t.stripe, t.node.shape.shard_count);
    return Service::judge(t.desk.request[at], t.scratch.pass, homes);
  } else {
    return 0;
  }
}

template <typename Service>
GCOORD_HD void take_request(StripeTurn<Service>& t, std::uint32_t at) {
  const TurnRequest request = request_at(t.desk, at);
  if (request.tag == kStoredTag) {
    take_stored(t, request);
    return;
  }
  if (request.tag == kTransferTag) {
    take_transfer(t, request);
    return;
  }
  if (request.tag == kPassTag) {
    take_pass(t, request);
    return;
  }
  if constexpr (Service::kTellsHost) {
    if (request.tag == kReadTag) {
      take_read(t, request, at);
      return;
    }
  }
  ++t.state.counts.requests;
  const std::uint32_t row = row_of_shard(request.shard);
  if (!t.rows.has(row) || request.tag == 0) {
    if (warp_rank() == 0) {
      refuse(t, request, TurnVerdict::Refused, NodeId{});
    }
    warp_sync();
    return;
  }
  if (const std::uint32_t reason = unsound(t, at); reason != 0) {
    if (warp_rank() == 0) {
      refuse_unsound(t, request, reason);
    }
    warp_sync();
    return;
  }
  const std::uint32_t place = place_for(t, row);
  GCOORD_ASSERT(place != kNoTurnPlace);
  const std::uint32_t count = t.desk.proposal_count[place];
  warp_sync();
  if (warp_rank() == 0 && count == kTurnProposals) {
    refuse(t, request, TurnVerdict::Overloaded, NodeId{});
  } else if (warp_rank() == 0) {
    t.desk.proposal[place][count] = static_cast<std::uint8_t>(at);
    t.desk.proposal_count[place] = static_cast<std::uint8_t>(count + 1);
  }
  warp_sync();
}

static_assert(kTurnRequests == kFewSlots, "a look's worth");

// Puts what came in behind the first `count` requests of the turn.
template <typename Service>
GCOORD_HD void lay_requests(const StripeTurn<Service>& t,
                            const netcore::SlotTile& tile,
                            std::uint32_t count) {
  auto* words = reinterpret_cast<std::uint32_t*>(&t.desk.request[count]);
  tile.for_each_word<kFewSlots>(
      [words](std::uint32_t slot, std::uint32_t word, std::uint32_t value) {
        words[slot * netcore::kSlotWords + word] = value;
      });
}

// Takes in what a look for at most kFewSlots requests found.
template <typename Service>
GCOORD_HD void receive_requests(StripeTurn<Service>& t,
                                netcore::LaneReceiver& from,
                                netcore::SlotTile tile) {
  std::uint32_t count = 0;
  while (count < kFewSlots) {
    from.take<kFewSlots>(tile, kFewSlots - count);
    if (tile.slot_count == 0) {
      break;
    }
    lay_requests(t, tile, count);
    from.release(tile);
    count += tile.slot_count;
    if (warp_lanes() != 1 || count == kFewSlots) {
      break;
    }
    tile = from.look<kFewSlots>(kFewSlots - count);
  }
  warp_sync();
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t at = 0; at < count; ++at) {
    take_request(t, at);
  }
}

}  // namespace gcoord::server
