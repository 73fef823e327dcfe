// The liveness word that nodes exchange, never behind data (docs/internals/architecture.md).
//
// The sender stamps its own tick and echoes the newest tick it heard from the receiver, with the
// incarnation that tick belongs to. netcore carries the word and interprets none of it; it only
// guarantees that the newest word wins: an older one is never delivered after a newer one.
#pragma once

#include "common/ids.h"

#include <cstdint>

namespace gcoord::netcore {

struct Heartbeat {
  Incarnation incarnation;         // Of the sender.
  Tick send_tick;                  // On the sender's clock, when it sent this word.
  Tick echoed_peer_send_tick;      // The receiver's newest send_tick that the sender has seen.
  Incarnation echoed_incarnation;  // The incarnation of the receiver that sent that tick.
  std::uint32_t flags = 0;         // Meaning belongs to server/.
  // How far the sender's storage has reached: never falls in the life of a data directory, so that
  // a peer who remembers it can tell an old copy. Meaning belongs to server/.
  std::uint64_t durable = 0;

  friend bool operator==(const Heartbeat& a, const Heartbeat& b) = default;
};

}  // namespace gcoord::netcore
