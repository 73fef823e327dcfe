// Links between endpoints of one process: for tests and for single-process clusters. Deterministic.
//
// A LoopbackFabric is the set of endpoints that can reach each other; each endpoint is a Transport
// of its own. An endpoint's address is its (host, port) pair, which names nothing outside the
// fabric. Each direction of a link is a ring of message slots owned by the receiver, so a receiver
// that does not progress makes the sender busy. Messages arrive whole, in order and unchanged.
// All endpoints of a fabric belong to one thread; there is no event fd.
#pragma once

#include "netcore/transport/transport.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::netcore {

class LoopbackFabric {
 public:
  // `ring_slots`: messages under way per direction of a link, a power of two.
  explicit LoopbackFabric(std::uint32_t ring_slots = 64);
  ~LoopbackFabric();
  LoopbackFabric(const LoopbackFabric&) = delete;
  LoopbackFabric& operator=(const LoopbackFabric&) = delete;

  // A new endpoint. The fabric outlives it. Destroying an endpoint closes its links, as the death
  // of a process would.
  std::unique_ptr<Transport> endpoint();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace gcoord::netcore
