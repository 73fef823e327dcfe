#include "client/net/ring_link.h"

#include "common/wipe.h"

#include <string>
#include <utility>

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
  taken_.resize(offer.offer.shape.reply_bytes);
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
  }
  if (writer_.publish()) {
    netcore::ring_bell(socket_);
  }
  return written;
}

std::span<const std::byte> RingLink::read() {
  reader_.disarm();
  const netcore::RingTaken taken = reader_.take(taken_.data(), taken_.size());
  if (taken.wakes) {
    netcore::ring_bell(socket_);
  }
  taken_bytes_ = taken.bytes;
  return std::span<const std::byte>{taken_}.first(taken_bytes_);
}

void RingLink::forget_taken() {
  wipe(std::span{taken_}.first(std::exchange(taken_bytes_, 0)));
}

bool RingLink::take_bells() {
  const netcore::Bells bells = netcore::take_bells(socket_);
  if (bells != netcore::Bells::None) {  // Each sleep has one: what sleeps on does so anew.
    reader_.disarm();
    writer_.disarm();
  }
  return bells != netcore::Bells::Gone;
}

}  // namespace gcoord::client
