// The rings in shared memory of a connection to a node of this host, on this side
// (netcore/client_ring): bytes in, bytes out, and when to sleep.
//
// The socket stays its owner's. All calls return at once. The client's thread only.
#pragma once

#include "common/status.h"
#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "netcore/client_ring/mapping.h"

#include <cstddef>
#include <span>
#include <vector>

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

  // What has come, valid until the next call; nothing: none has.
  std::span<const std::byte> read();

  // Overwrites what read() gave, once that was copied: it may have secrets.
  void forget_taken();

  // The node rings when something comes. False: something is here already.
  bool await_input() { return reader_.is_armed() || reader_.arm(); }

  // Takes the bells of the socket. False: the node has closed it. What it wrote before is still to
  // be read.
  bool take_bells();

  // Whether the node's side of a ring cannot be.
  bool broken() const { return reader_.broken() || writer_.broken(); }

 private:
  int socket_;
  netcore::RingMapping memory_;
  netcore::RingWriter writer_;
  netcore::RingReader reader_;
  std::vector<std::byte> taken_;
  std::size_t taken_bytes_ = 0;  // Of them, since the last read().
};

}  // namespace gcoord::client
