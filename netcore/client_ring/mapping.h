// The memory of a client's rings (layout.h), as a process has it mapped.
//
// The node makes it: anonymous memory that is there in full from the beginning and that nobody can
// make smaller or larger (memfd, sealed), so no access of either side is ever beyond its end.
// Either side can give pages of it back to the system, though. The next access finds zeros in new
// pages, charged to whoever made it; so a client that does this makes the node pay again, but never
// for more than the rings' size. The client maps what it is given only if it is sealed and as large
// as was said. Dumps of either process have none of it. Host only; one thread.
#pragma once

#include "common/status.h"
#include "netcore/client_ring/layout.h"

#include <cstddef>

namespace gcoord::netcore {

// Numbers of protocol/error_codes.h; never renumber.
inline constexpr std::uint32_t kShmNoPlace = 4013;
inline constexpr std::uint32_t kShmAbsent = 6690;
inline constexpr std::uint32_t kShmLayoutUnknown = 6691;
inline constexpr std::uint32_t kShmExhausted = 6692;
inline constexpr std::uint32_t kShmNotSpoken = 6693;

class RingMapping {
 public:
  RingMapping() = default;
  ~RingMapping();
  RingMapping(RingMapping&& other) noexcept;
  RingMapping& operator=(RingMapping&& other) noexcept;

  // kShmExhausted: no memory, or no descriptors. The shape is sound.
  static Result<RingMapping> make(const ClientRingShape& shape);

  // Maps what a node has made; the descriptor stays the caller's. kShmNotSpoken: it is not what a
  // node makes. kShmExhausted: this process has no room for it.
  static Result<RingMapping> adopt(int descriptor, const ClientRingShape& shape);

  bool is_mapped() const { return start_ != nullptr; }

  std::size_t bytes() const { return start_ == nullptr ? 0 : mapped_bytes(shape_); }

  const ClientRingShape& shape() const { return shape_; }

  // Of what make() made, until close_descriptor(): to be sent to the client.
  int descriptor() const { return descriptor_; }

  void close_descriptor();

  ClientRingView request() const;
  ClientRingView reply() const;

  // Gives the pages of the request ring, or of everything, back to the system, whoever else has
  // them mapped: zeros are there then.
  void discard_request();
  void discard();

 private:
  Status map(int descriptor, const ClientRingShape& shape);

  std::byte* start_ = nullptr;
  ClientRingShape shape_;
  int descriptor_ = -1;
};

}  // namespace gcoord::netcore
