// The file that a snapshot of a cluster is kept in, byte by byte
// (docs/reference/snapshot_format.md).
//
//   prologue, 16 bytes | section | section | ... | SHA-256 over all before it, 32 bytes
//
// The prologue is magic 8, format 4, CRC32C 4 of the twelve bytes before, and never changes its
// form, so that any release can tell a newer file from a damaged one. A section is a head of 24
// bytes (kind 2, flags 2, shard 4, payload bytes 4, reserved 4, CRC32C 4 of the payload, CRC32C 4
// of the head before it) and a payload of at most 1 MiB; what is longer goes on in the next
// section of the same kind and shard. The checksums say where a file is damaged, the hash says that
// it is not. Order: Header, then per shard in ascending order Shard, State and further kinds, then
// End. Shards that no entry was ever applied in are left out. All integers are little-endian.
#pragma once

#include "common/ids.h"
#include "ledger/merkle/hash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::ledger {

inline constexpr std::array<char, 8> kSnapshotMagic = {'G', 'C', 'O', 'R', 'D', 'S', 'N', 'P'};
inline constexpr std::uint32_t kSnapshotFormatNewest = 1;
inline constexpr std::size_t kSnapshotPrologueBytes = 16;
inline constexpr std::size_t kSnapshotHeadBytes = 24;
inline constexpr std::size_t kSnapshotHashBytes = 32;
// Of one section: what a reader has to hold.
inline constexpr std::size_t kSnapshotPartBytesMax = std::size_t{1} << 20;

// Never renumber. Kinds between State and End belong to a shard; a reader that does not know one
// passes over it if it is kSnapshotPassOver, else the file is of a newer format.
enum class SnapshotKind : std::uint16_t {
  Header = 1,
  Shard = 2,
  State = 3,     // What the shard's service gave (server/interfaces/state_machine.h).
  Frontier = 4,  // Of its Merkle tree as of the applied index.
  Entries = 5,   // Kept free, as the next.
  Hashes = 6,
  View = 7,  // Of shard 0, may be passed over: the cluster view (membership/view/cpu.h).
  // Of shard 0, in parts: users and roles (security/roles/role_cpu.h). Not to be passed over: a
  // release without them would open a cluster to everybody.
  Access = 8,
  // Of shard 0, in parts, may be passed over: limits and denials (security/limits/limit_cpu.h).
  Limits = 9,
  End = 0xffff,
};

// Never renumber: bits of a head's flags.
inline constexpr std::uint16_t kSnapshotLastPart =
    1;  // Nothing of this kind follows for the shard.
inline constexpr std::uint16_t kSnapshotPassOver = 2;

// A node of the cluster as the saving node knew it.
struct SnapshotNode {
  NodeId node;
  Incarnation incarnation;  // 0: never met.
};

// Where the snapshot comes from. Payload: cluster 8, time 8, node 4, shard count 4, flags 4 (bit 0:
// durable, bit 1: ledger), node count 4, per node {id 4, incarnation 4}, release bytes 2, release.
struct SnapshotHeader {
  ClusterId cluster;
  std::uint64_t time_ms = 0;  // Unix milliseconds at the saving node. Informative.
  NodeId node;                // That saved it.
  std::uint32_t shard_count = 0;
  bool durable = true;              // The cluster's durability; false: memory.
  bool ledger = false;              // Every shard has its frontier.
  std::vector<SnapshotNode> nodes;  // All of the cluster; at most kSnapshotNodesMax.
  std::string release;              // Of the saving node; at most kSnapshotReleaseBytesMax.
};

inline constexpr std::uint32_t kSnapshotNodesMax = 64;
inline constexpr std::size_t kSnapshotReleaseBytesMax = 64;
// As many shards as a cluster can have.
inline constexpr std::uint32_t kSnapshotShardsMax = 1u << 24;

// A shard at an index that was decided and applied. Payload: applied 8, applied term 8, term 8,
// state bytes 8.
struct SnapshotShard {
  ShardId shard;
  LogIndex applied;
  Term applied_term;              // Of the entry at `applied`.
  Term term;                      // The newest one that the saving node knew of.
  std::uint64_t state_bytes = 0;  // In the State sections that follow.
};

// What stands for all entries of a shard up to the applied index: the size of its Merkle tree and
// the roots of its perfect subtrees, the largest first (RFC 6962 section 2.1). Payload: size 8,
// peaks 32 each, one per bit of size.
struct SnapshotFrontier {
  std::uint64_t size = 0;
  std::vector<MerkleHash> peaks;
};

// What the file holds in all. Payload: shards 8, sections 8 before this one, bytes 8 before it.
struct SnapshotEnd {
  std::uint64_t shard_count = 0;
  std::uint64_t section_count = 0;
  std::uint64_t bytes = 0;
};

}  // namespace gcoord::ledger
