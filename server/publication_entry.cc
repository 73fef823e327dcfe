#include "server/publication_entry.h"

#include "common/assert.h"
#include "rpc/byte_codec.h"
#include "server/publication_bytes.h"

namespace gcoord::server {
namespace {

// First byte of an entry. Never renumber.
constexpr std::uint8_t kRound = 1;
constexpr std::uint8_t kKey = 2;

// A cluster has at most as many nodes as a shard has replicas; keys of more are damage.
constexpr std::uint32_t kKeysMax = 64;

void write(rpc::ByteWriter& out, const RoundEntry& entry) {
  out.integer(entry.round);
  out.integer(entry.old_size);
  out.integer(entry.size);
  write_bytes(out, entry.root);
  write_bytes(out, entry.digest);
}

RoundEntry read_round(rpc::ByteReader& in) {
  RoundEntry entry;
  entry.round = in.integer<std::uint64_t>();
  entry.old_size = in.integer<std::uint64_t>();
  entry.size = in.integer<std::uint64_t>();
  read_bytes(in, entry.root);
  read_bytes(in, entry.digest);
  return entry;
}

void write(rpc::ByteWriter& out, const KeyEntry& entry) {
  out.integer(entry.node.value);
  write_bytes(out, entry.key);
}

KeyEntry read_key(rpc::ByteReader& in) {
  KeyEntry entry;
  entry.node = NodeId{in.integer<std::uint32_t>()};
  read_bytes(in, entry.key);
  return entry;
}

}  // namespace

std::vector<std::byte> encode(const PublicationEntry& entry) {
  std::vector<std::byte> bytes;
  rpc::ByteWriter out(bytes);
  const bool round = std::holds_alternative<RoundEntry>(entry);
  out.integer(round ? kRound : kKey);
  std::visit([&](const auto& each) { write(out, each); }, entry);
  return bytes;
}

std::optional<PublicationEntry> decode_publication_entry(std::span<const std::byte> bytes) {
  rpc::ByteReader in(bytes);
  const auto kind = in.integer<std::uint8_t>();
  std::optional<PublicationEntry> entry;
  if (kind == kRound) {
    entry = read_round(in);
  } else if (kind == kKey) {
    entry = read_key(in);
  }
  return in.complete() ? entry : std::nullopt;
}

ledger::MerkleHash digest_of(std::span<const ledger::ShardHead> heads) {
  // A first byte that neither a leaf nor a node of a tree has.
  std::vector<std::byte> bytes{std::byte{2}};
  bytes.reserve(1 + heads.size() * ledger::kShardHeadBytes);
  for (const ledger::ShardHead& head : heads) {
    const ledger::ShardHeadBytes leaf = ledger::encode_head(head);
    bytes.insert(bytes.end(), leaf.begin(), leaf.end());
  }
  return ledger::hash_leaf(bytes);
}

bool PublicationState::apply(const PublicationEntry& entry) {
  return std::visit([this](const auto& each) { return take(each); }, entry);
}

bool PublicationState::take(const RoundEntry& entry) {
  const bool continues = entry.round == last_.round + 1 && entry.old_size == last_.size;
  const bool grows =
      entry.size > entry.old_size && entry.size - entry.old_size <= kHeadsPerRoundMax;
  if (!continues || !grows) {
    return false;
  }
  last_ = entry;
  return true;
}

bool PublicationState::take(const KeyEntry& entry) {
  const bool known = keys_.contains(entry.node);
  if (entry.node == NodeId{0} || (!known && keys_.size() >= kKeysMax)) {
    return false;
  }
  keys_[entry.node] = entry.key;
  return true;
}

void PublicationState::serialize(std::vector<std::byte>& bytes) const {
  rpc::ByteWriter out(bytes);
  write(out, last_);
  out.integer(static_cast<std::uint32_t>(keys_.size()));
  for (const auto& [node, key] : keys_) {
    write(out, KeyEntry{node, key});
  }
}

std::optional<PublicationState> PublicationState::parse(std::span<const std::byte> bytes) {
  rpc::ByteReader in(bytes);
  PublicationState state;
  state.last_ = read_round(in);
  const std::uint32_t count = in.count(sizeof(std::uint32_t) + kLedgerKeyBytes, kKeysMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    const KeyEntry entry = read_key(in);
    const bool ascends = state.keys_.empty() || state.keys_.rbegin()->first < entry.node;
    if (!ascends || !state.take(entry)) {
      return std::nullopt;
    }
  }
  return in.complete() ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace gcoord::server
