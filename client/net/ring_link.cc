#include "client/net/ring_link.h"

#include <string>

namespace gcoord::client {

gcoord::Status RingLink::send_request() const {
  if (netcore::send_request(socket_, {})) {
    return {};
  }
  // It has gone already; if it has no place for this client, it has said so.
  const gcoord::Status said = netcore::receive_offer(socket_).status();
  return said.detail() == netcore::kShmNoPlace
             ? said
             : gcoord::Status{gcoord::StatusCode::Unavailable, "the node closed the connection"};
}

gcoord::Result<bool> RingLink::take_offer() {
  auto received = netcore::receive_offer(socket_);
  if (!received.ok()) {
    const bool waits = received.status().code() == gcoord::StatusCode::Unavailable &&
                       received.status().detail() == 0;
    return waits ? gcoord::Result<bool>{false} : gcoord::Result<bool>{received.status()};
  }
  const netcore::ReceivedOffer& offer = received.value();
  GCOORD_TRY(memory_, netcore::RingMapping::adopt(offer.memory->get(), offer.offer.shape));
  writer_ = netcore::RingWriter{memory_.request()};
  reader_ = netcore::RingReader{memory_.reply()};
  return true;
}

std::size_t RingLink::write(std::span<const std::byte> bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const std::size_t count = writer_.write(bytes.data() + written, bytes.size() - written);
    if (count == 0) {
      break;
    }
    written += count;
    idle_bells_ = 0;
  }
  if (writer_.publish()) {
    netcore::ring_bell(socket_);
  }
  return written;
}

std::size_t RingLink::read(protocol::FrameDecoder& decoder) {
  reader_.disarm();
  const std::span<std::byte> room = decoder.room_for(reader_.waiting_bytes());
  const netcore::RingTaken taken = reader_.take(room.data(), room.size());
  if (taken.wakes) {
    netcore::ring_bell(socket_);
  }
  decoder.written(taken.bytes);
  idle_bells_ = taken.bytes > 0 ? 0 : idle_bells_;
  return taken.bytes;
}

netcore::Bells RingLink::take_bells() {
  const netcore::Bells bells = netcore::take_bells(socket_);
  if (bells != netcore::Bells::None) {  // Each sleep has one: what sleeps on does so anew.
    reader_.disarm();
    writer_.disarm();
    ++idle_bells_;
  }
  loud_times_ = bells == netcore::Bells::TooMany ? loud_times_ + 1 : 0;
  return bells;
}

}  // namespace gcoord::client
