// The moves of an upgrade: which node goes to which release, in which order, and how it ends
// before. Pure; one seed draws all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

// The two releases that share a cluster.
enum class Release : std::uint8_t { Previous, This };

std::string_view release_name(Release release);

struct Move {
  std::uint32_t number = 0;  // From 1 on.
  std::uint32_t node = 0;
  Release to = Release::This;
  bool killed = false;  // By SIGKILL; else it gets SIGTERM, and hands over what it leads.
};

// Every node up, every node down, every node up again: one move for each node each time, in drawn
// orders. One node of each of the three times is killed.
std::vector<Move> upgrade_moves(std::uint32_t node_count, std::uint64_t seed);

// The line of a node's log in which it refuses a data directory of a newer release (GC2007); empty
// when there is none.
std::string refusal_in(std::string_view log);

}  // namespace gcoord::chaos
