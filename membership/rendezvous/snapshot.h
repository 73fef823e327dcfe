// One shard's rendezvous as bytes: written, checked, and put back.
//
// Canonical: replicas that applied the same commands write the same bytes. Little-endian, without
// padding:
//
//   header      magic 4 "GRDV", version 2, bytes of the whole 4, number_last 8, state_hash 8,
//               rendezvous 4
//   rendezvous  name bytes 2, name, version 8, call 8, round 8, members at least 4, at most 4, last
//               call in milliseconds 4, waiting 4, members 4; in the order of their names' hashes
//   waiting     session 8, sequence 8, payload bytes 2, payload; as they came
//   member      session 8, sequence 8, present 1, payload bytes 2, payload; by rank; behind those
//               who wait
//
// Reading trusts nothing. Pure functions; thread-safe.
#pragma once

#include "common/status.h"
#include "membership/rendezvous/table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::membership {

inline constexpr std::uint32_t kRendezvousSnapshotMagic = 0x56445247;  // "GRDV" in memory order.
inline constexpr std::uint16_t kRendezvousSnapshotVersion = 1;

struct RendezvousSnapshot {
  RendezvousShard shard{};
  std::vector<Rendezvous> rendezvous{};
};

// A shard's state behind that of its groups: the rendezvous' part, if there is any, and the rest.
struct RendezvousParts {
  std::span<const std::byte> rendezvous;  // Empty: none.
  std::span<const std::byte> rest;
};

// Where the parts are. Bytes that say nothing of rendezvous are all of the rest.
RendezvousParts split_rendezvous(std::span<const std::byte> state);

void write_rendezvous(const RendezvousSnapshot& snapshot, std::vector<std::byte>& bytes);

// DataLoss with the reason for what write_rendezvous() could not have made.
Result<RendezvousSnapshot> parse_rendezvous(std::span<const std::byte> bytes);

// The part of a state from which a new cluster begins: numbers are drawn from `lift` higher on, so
// that no round comes twice; without sessions nobody waits and no round stands.
Result<std::vector<std::byte>> raise_rendezvous(std::span<const std::byte> bytes,
                                                std::uint64_t lift,
                                                bool drop_sessions);

}  // namespace gcoord::membership
