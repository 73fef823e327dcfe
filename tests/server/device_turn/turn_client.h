// A client's end of one stripe of a node whose turn stays on its device.
#pragma once

#include "netcore/gpu_channel/device.h"
#include "server/device_turn/view.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace gcoord::server {

struct Client {
  explicit Client(const netcore::GpuChannelDevice& end, std::uint32_t stripe)
      : to(netcore::open_sender(end, netcore::Band::Rpc, stripe)),
        from(netcore::open_receiver(end, netcore::Band::Rpc, stripe)) {}

  bool ask(const TurnRequest& request) {
    const netcore::Reservation place = to.reserve(1);
    if (place.slot_count == 0) {
      return false;
    }
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &request, sizeof words);
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
    return true;
  }

  std::optional<TurnReply> answer() {
    const netcore::SlotTile tile = from.poll(1);
    if (tile.slot_count == 0) {
      return std::nullopt;
    }
    std::uint32_t words[netcore::kSlotWords];
    tile.for_each_word(
        [&words](std::uint32_t, std::uint32_t word, std::uint32_t value) { words[word] = value; });
    from.release(tile);
    TurnReply reply;
    std::memcpy(static_cast<void*>(&reply), words, sizeof reply);
    return reply;
  }

  netcore::LaneSender to;
  netcore::LaneReceiver from;
};

}  // namespace gcoord::server
