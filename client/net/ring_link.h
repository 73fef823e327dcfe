// The rings in shared memory of a connection to a node of this host, on this side
// (netcore/client_ring): bytes in, bytes out, and when to sleep. It counts the node's bells,
// because one that rings without reason would keep the client's thread awake for ever.
//
// The socket stays its owner's. All calls return at once. The client's thread only.
#pragma once

#include "common/status.h"
#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "netcore/client_ring/mapping.h"
#include "protocol/frame.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::client {

class RingLink {
 public:
  // `socket`: connected, to the node's path for shared memory.
  explicit RingLink(int socket) : socket_(socket) {}

  // First of all.
  gcoord::Status send_request() const;

  // The node may have answered. Whether the rings are here; failures end the connection.
  gcoord::Result<bool> take_offer();

  bool is_open() const { return memory_.is_mapped(); }

  // Copies as many bytes in as there is room for, and wakes the node if it sleeps; how many.
  std::size_t write(std::span<const std::byte> bytes);

  // The node rings when there is room again. False: there is some already.
  bool await_room() { return writer_.arm(); }

  // Copies what has come to where frames are checked; how many bytes.
  std::size_t read(protocol::FrameDecoder& decoder);

  // The node rings when something comes. False: something is here already.
  bool await_input() { return reader_.is_armed() || reader_.arm(); }

  // Takes the bells of the socket, 256 of them at most; Gone: the node has closed it. What it wrote
  // before is still to be read.
  netcore::Bells take_bells();

  // Whether the node rings without end, or again and again for nothing.
  bool is_loud() const { return loud_times_ >= kLoudTimesMax || idle_bells_ >= kIdleBellsMax; }

  // Whether the node's side of a ring cannot be.
  bool broken() const { return reader_.broken() || writer_.broken(); }

 private:
  // So many times in a row there may be more bells than are taken at once, as at a node.
  static constexpr std::uint32_t kLoudTimesMax = 8;

  // And so many times bells without anything that came or left since. A node rings once for what it
  // wrote or read, so a bell that comes late finds nothing; two in a row hardly do.
  static constexpr std::uint32_t kIdleBellsMax = 64;

  int socket_;
  netcore::RingMapping memory_;
  netcore::RingWriter writer_;
  netcore::RingReader reader_;
  std::uint32_t loud_times_ = 0;
  std::uint32_t idle_bells_ = 0;
};

}  // namespace gcoord::client
