// The number of voters of a turn's rows, as a constant of its code.
//
// Why a constant: what a turn keeps of its peers lies in registers, which nothing can index at run
// time, and loops over them are unrolled. So each number of voters is code of its own, and that of
// three is what it would be if there were no other (docs/adr/0158). The service's type carries the
// number, because every function of a turn has it. What lies in memory is divided alike for all
// numbers, with room for kTurnPeersMax peers, or as TurnShape::voters says; so a host has one type
// of node (TurnNode<Service>), and as_node_of() names it for the code of its number. Host and
// device.
#pragma once

#include <cstdint>

namespace gcoord::server {

// Where nobody says else; and the most, of which one fewer are peers.
inline constexpr std::uint32_t kTurnNodes = 3;
inline constexpr std::uint32_t kTurnPeers = kTurnNodes - 1;
inline constexpr std::uint32_t kTurnNodesMax = 7;
inline constexpr std::uint32_t kTurnPeersMax = kTurnNodesMax - 1;

// Whether there is a turn for so many voters.
constexpr bool has_turn_of(std::uint64_t voters) {
  return voters == 3 || voters == 5 || voters == 7;
}

// A service whose rows have so many voters.
template <typename Service, std::uint32_t voters>
struct ServiceOfVoters : Service {
  static_assert(has_turn_of(voters));
  static constexpr std::uint32_t kVoters = voters;
};

template <typename Service>
consteval std::uint32_t voters_of() {
  if constexpr (requires { Service::kVoters; }) {
    return Service::kVoters;
  } else {
    return kTurnNodes;
  }
}

template <typename Service>
inline constexpr std::uint32_t kVotersOf = voters_of<Service>();

template <typename Service>
inline constexpr std::uint32_t kPeersOf = kVotersOf<Service> - 1;

// Members of a row beyond those that a packed row holds (consensus::PackedSlot).
template <typename Service>
inline constexpr std::uint32_t kMoreOf = kVotersOf<Service> - 3;

// Whether a row that is alone in its turn has code of its own (row.h, single_row.h). A turn of
// seven is long anyway: its group keeps the lanes of six peers in its registers, and spills.
template <typename Service>
inline constexpr bool kHasFastPath = kVotersOf<Service> <= 5;

}  // namespace gcoord::server
