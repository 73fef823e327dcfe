// Handshake by which a client gets its rings, over a Unix stream socket: it says which layouts it
// knows, the node answers with one and passes the memory (SCM_RIGHTS). From then on a byte on the
// socket is a bell, in either direction, and the socket's end is the connection's end.
//
// Bells are bytes of the socket and not eventfds: both sides would share an eventfd's flags and
// count, so a client could make the node's write to it block, and that is the loop of all clients.
// A send with MSG_DONTWAIT never does. All calls return at once. Host only; any thread.
#pragma once

#include "common/host/descriptor.h"
#include "common/status.h"
#include "netcore/client_ring/layout.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace gcoord::netcore {

// "GCSHMREQ" and "GCSHMOFF" as little-endian words. On the socket: never renumber.
inline constexpr std::uint64_t kRingRequestMagic = 0x5145'524d'4853'4347;
inline constexpr std::uint64_t kRingOfferMagic = 0x4646'4f4d'4853'4347;

// The client, at once and once.
struct RingRequest {
  std::uint64_t magic = kRingRequestMagic;
  std::uint32_t layout_min = kClientRingLayout;
  std::uint32_t layout_max = kClientRingLayout;
  ClientRingShape wanted;  // The node may choose another one.
  std::uint64_t reserved = 0;
};

static_assert(sizeof(RingRequest) == 32);

// The node. A descriptor comes with it unless `error` says why not.
struct RingOffer {
  std::uint64_t magic = kRingOfferMagic;
  std::uint32_t layout = kClientRingLayout;
  std::uint32_t error = 0;  // A number of protocol/error_codes.h.
  ClientRingShape shape;
  std::uint64_t reserved = 0;
};

static_assert(sizeof(RingOffer) == 32);

// What the node answers to these bytes, without memory yet; nothing: it is no request of a client.
std::optional<RingOffer> answer_to(std::span<const std::byte, sizeof(RingRequest)> request);

// False: the socket does not take it.
bool send_request(int socket, const RingRequest& request);
bool send_offer(int socket, const RingOffer& offer, int memory);

struct ReceivedOffer {
  RingOffer offer;
  std::unique_ptr<OwnedDescriptor> memory;  // None where the offer has an error.
};

// Nothing has come yet: Unavailable without a number. kShmNotSpoken: what came is no offer, or the
// node closed the socket. kShmLayoutUnknown, kShmExhausted,
// kShmNoPlace: as the node says.
Result<ReceivedOffer> receive_offer(int socket);

// Wakes the other side, or leaves a bell that is there already.
void ring_bell(int socket);

enum class Bells : std::uint8_t {
  None,
  Rung,
  TooMany,  // Rung kBellsMax times at least; perhaps more of them are here.
  Gone,     // The other side has closed, or the socket failed.
};

// Bells that are taken at once. A side that rings once per sleep never has so many under way.
inline constexpr std::size_t kBellsMax = 256;

// Takes the bells that are here, kBellsMax of them at most.
Bells take_bells(int socket);

}  // namespace gcoord::netcore
