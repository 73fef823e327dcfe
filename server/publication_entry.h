// What shard 0's log says of the cluster log: its rounds, in the order that binds everyone, and the
// nodes' keys.
//
// A round appends heads of shards to the cluster log (publication.h). The entry names the log's
// size before and after, the root after, and a digest of the leaves. Whoever applies it takes it
// only if it continues the last round that was taken, so two publishers at once do no harm: the
// log of shard 0 decides, and every replica decides alike. A key entry binds a node to a public
// key; the newest one counts, the others stay in the history.
//
// Formats: little-endian, behind the record header of the log (log_record.h), never to be
// renumbered. Not for threads; host only.
#pragma once

#include "common/ids.h"
#include "ledger/merkle_hash.h"
#include "ledger/shard_head.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace gcoord::server {

// The shard whose log orders the rounds; its leader is the publisher.
inline constexpr ShardId kPublicationShard{0};

// Heads of one round: 2.9 MB of leaves, hashed and compared in some 20 ms.
inline constexpr std::size_t kHeadsPerRoundMax = std::size_t{1} << 16;

// A public Ed25519 key.
inline constexpr std::size_t kLedgerKeyBytes = 32;
using LedgerKey = std::array<std::byte, kLedgerKeyBytes>;

struct RoundEntry {
  std::uint64_t round = 0;  // From 1.
  std::uint64_t old_size = 0;
  std::uint64_t size = 0;
  ledger::MerkleHash root{};    // Of the cluster log at `size`.
  ledger::MerkleHash digest{};  // digest_of() the leaves from old_size on.

  friend bool operator==(const RoundEntry& a, const RoundEntry& b) = default;
};

struct KeyEntry {
  NodeId node;
  LedgerKey key{};

  friend bool operator==(const KeyEntry& a, const KeyEntry& b) = default;
};

using PublicationEntry = std::variant<RoundEntry, KeyEntry>;

std::vector<std::byte> encode(const PublicationEntry& entry);

// nullopt: no publication entry. Such an entry is in the log, and no replica takes it.
std::optional<PublicationEntry> decode_publication_entry(std::span<const std::byte> bytes);

// SHA-256 over the leaves, one behind the other, told apart from any leaf and node.
ledger::MerkleHash digest_of(std::span<const ledger::ShardHead> heads);

// What the entries so far come to; part of shard 0's replicated state.
class PublicationState {
 public:
  // Whether the entry was taken. The same on every replica.
  bool apply(const PublicationEntry& entry);

  // The last round that was taken; round 0: none yet.
  const RoundEntry& last() const { return last_; }

  const std::map<NodeId, LedgerKey>& keys() const { return keys_; }

  // Equal states give equal bytes.
  void serialize(std::vector<std::byte>& bytes) const;
  static std::optional<PublicationState> parse(std::span<const std::byte> bytes);

  friend bool operator==(const PublicationState& a, const PublicationState& b) = default;

 private:
  bool take(const RoundEntry& entry);
  bool take(const KeyEntry& entry);

  RoundEntry last_;
  std::map<NodeId, LedgerKey> keys_;
};

}  // namespace gcoord::server
