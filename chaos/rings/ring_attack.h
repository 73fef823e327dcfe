// Body of a process that is a hostile client of one node's shared memory.
//
// Its acts may cost it its own connection and nothing else. Blocking; connects anew as
// often as the node ends a connection. The process has one thread, because it makes children.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::chaos {

enum class RingAttack : std::uint8_t {
  Scribble,    // Changes words, pieces and frames while the node reads them, and rings for nothing.
  DieInWrite,  // Is killed by SIGKILL with a part of a frame written.
  NeverRead,   // Asks for more than its reply ring holds, and reads nothing.
};

// "scribble", "die-in-write", "never-read".
std::optional<RingAttack> ring_attack_of(std::string_view name);
std::string_view ring_attack_name(RingAttack attack);

struct RingAttackOptions {
  std::string path;
  RingAttack attack = RingAttack::Scribble;
  std::uint64_t seed = 1;
  std::chrono::milliseconds length{1000};
};

struct RingAttackCounts {
  std::uint64_t rings = 0;  // Connections that got rings.
  std::uint64_t ended = 0;  // Of them: ended by the node.
  // Of them: held back by the node at some time, which took no more requests for a while.
  std::uint64_t held_back = 0;

  RingAttackCounts& operator+=(const RingAttackCounts& other) {
    rings += other.rings;
    ended += other.ended;
    held_back += other.held_back;
    return *this;
  }
};

RingAttackCounts attack_rings(const RingAttackOptions& options);

}  // namespace gcoord::chaos
