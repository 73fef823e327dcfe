// Publication entries in shard 0's log: the leaves of the cluster log in their binding order, and
// the nodes' keys.
//
// A round entry appends heads of shards to the cluster log (publication.h); so the log of shard 0
// has every leaf, as durably as any decision. Whoever applies it takes it only if it continues the
// last one that was taken and its root is the one that the leaves make. So two publishers at once
// do no harm, nor does one that miscounts: the log of shard 0 decides, and every replica decides
// alike. A key entry binds a node to a public key; the newest one counts, the others stay in the
// history.
//
// Formats: little-endian, behind the record header of the log (log_record.h), never to be
// renumbered. Not for threads; host only.
#pragma once

#include "common/ids.h"
#include "ledger/merkle/frontier.h"
#include "ledger/merkle/hash.h"
#include "ledger/notes/shard_head.h"

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

// As many as fit a command (kCommandBytesMax).
inline constexpr std::size_t kHeadsPerEntryMax = 44;
inline constexpr std::size_t kPublicationEntryBytesMax =
    1 + 8 + 8 + ledger::kMerkleHashBytes + kHeadsPerEntryMax * ledger::kShardHeadBytes;

// A public Ed25519 key.
inline constexpr std::size_t kLedgerKeyBytes = 32;
using LedgerKey = std::array<std::byte, kLedgerKeyBytes>;

struct RoundEntry {
  std::uint64_t round = 0;  // From 1.
  std::uint64_t old_size = 0;
  ledger::MerkleHash root{};  // Of the cluster log with these heads at its end.
  std::vector<ledger::ShardHead> heads;

  std::uint64_t size() const { return old_size + heads.size(); }

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

// What the entries so far come to; part of shard 0's replicated state.
class PublicationState {
 public:
  // Whether the entry was taken. The same on every replica.
  bool apply(const PublicationEntry& entry);

  // Rounds that were taken.
  std::uint64_t round() const { return round_; }

  // The cluster log's leaves, and its root.
  std::uint64_t size() const { return log_.size; }

  const ledger::MerkleHash& root() const { return root_; }

  const std::map<NodeId, LedgerKey>& keys() const { return keys_; }

  // Equal states give equal bytes.
  void serialize(std::vector<std::byte>& bytes) const;
  static std::optional<PublicationState> parse(std::span<const std::byte> bytes);

  friend bool operator==(const PublicationState& a, const PublicationState& b) = default;

 private:
  bool take(const RoundEntry& entry);
  bool take(const KeyEntry& entry);

  std::uint64_t round_ = 0;
  ledger::MerkleFrontier log_;
  ledger::MerkleHash root_ = ledger::empty_root();
  std::map<NodeId, LedgerKey> keys_;
};

}  // namespace gcoord::server
