// Bits that flip on the disk of a node that is down, one at a time, and what the node makes of it.
//
// The disk is that of a node of a simulated world, stopped in the middle of its load: the product's
// log of record and identity file on simulated disks, its checkpoints as values of the twin store,
// or in a real RocksDB directory. Each flip is made on a copy of it; then the product recovers from
// the copy. It refuses to start, or knows exactly what it knows without the flip: its log, terms,
// votes, configurations, the state of its services and who it is. Or its process dies, as it does
// when RocksDB asserts what was on the disk; then it serves nothing, but says so badly. Anything
// else is wrong. Blocking; for processes of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace gcoord::chaos {

enum class FlipOutcome : std::uint8_t { Refused, Harmless, Died, Wrong };

inline constexpr std::array<const char*, 4> kFlipOutcomeNames = {
    "refused", "harmless", "died", "wrong"};

struct FlipCounts {
  // By what the flipped bit belonged to; the names are part of `--json`.
  std::map<std::string, std::array<std::uint64_t, 4>> by_kind;
  std::map<std::string, std::uint64_t> by_refusal;  // "GC2201".
  std::string first_wrong;

  void add(const FlipCounts& other);
  std::uint64_t total(FlipOutcome outcome) const;
};

struct FlipPlan {
  std::uint64_t seed = 1;           // Of the world, and of the places.
  std::uint64_t flips = 0;          // In the log, the identity file and the twin's values.
  std::uint64_t rocksdb_flips = 0;  // In the files of a RocksDB directory.
  std::string directory;            // Where that directory and its copies are made; exists.
};

FlipCounts flip_bits(const FlipPlan& plan);

// Between processes.
std::string to_text(const FlipCounts& counts);
FlipCounts flip_counts_of(const std::string& text);  // Of a text that is none: a wrong one.

}  // namespace gcoord::chaos
