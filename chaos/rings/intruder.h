// A client of a node's shared memory that writes there what it likes.
//
// It has the rings as any client gets them, and the honest writer beside direct access to all
// memory. One thread.
#pragma once

#include "common/host/descriptor.h"
#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/mapping.h"
#include "protocol/frame.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::chaos {

class Intruder {
 public:
  // Nothing: no node is there, or it gives no rings within a second.
  static std::optional<Intruder> connect(const std::string& path);

  netcore::ClientRingView requests() const { return memory_.request(); }

  netcore::ClientRingView replies() const { return memory_.reply(); }

  // The next frame of this client: a Hello first, then so many lookups of a lock.
  std::vector<std::byte> next_frame(std::uint32_t lookups);

  // As much as there is room for, published and with a bell; how many bytes.
  std::size_t write(std::span<const std::byte> bytes);

  // The same, but the node does not see it yet.
  std::size_t write_unpublished(std::span<const std::byte> bytes);

  void ring(std::size_t bells = 1) const;

  // Whether the node has ended the connection; waits for that so long.
  bool is_ended(std::chrono::milliseconds wait = std::chrono::milliseconds{0}) const;

 private:
  Intruder(std::unique_ptr<OwnedDescriptor> socket, netcore::RingMapping memory);

  std::unique_ptr<OwnedDescriptor> socket_;
  netcore::RingMapping memory_;
  netcore::RingWriter writer_;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  std::uint64_t request_id_ = 0;
};

}  // namespace gcoord::chaos
