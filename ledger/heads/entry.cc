#include "ledger/heads/entry.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/merkle/frontier_growth.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gcoord::server {
namespace {

// First byte of an entry. Never renumber.
constexpr std::uint8_t kRound = 1;
constexpr std::uint8_t kKey = 2;

constexpr std::size_t kRoundHeadBytes = 1 + 8 + 8 + ledger::kMerkleHashBytes;
static_assert(kRoundHeadBytes + kHeadsPerEntryMax * ledger::kShardHeadBytes ==
              kPublicationEntryBytesMax);

// A cluster has at most as many nodes as a shard has replicas; keys of more are damage.
constexpr std::uint32_t kKeysMax = 64;

void write(ByteWriter& out, const RoundEntry& entry) {
  GCOORD_ASSERT(!entry.heads.empty() && entry.heads.size() <= kHeadsPerEntryMax);
  out.integer(entry.round);
  out.integer(entry.old_size);
  out.array(entry.root);
  for (const ledger::ShardHead& head : entry.heads) {
    write_head(out, head);
  }
}

// The heads fill the rest.
std::optional<RoundEntry> read_round(ByteReader& in, std::size_t byte_count) {
  const std::size_t heads_bytes = byte_count - std::min(byte_count, kRoundHeadBytes);
  const std::size_t count = heads_bytes / ledger::kShardHeadBytes;
  if (count == 0 || count > kHeadsPerEntryMax) {
    return std::nullopt;
  }
  RoundEntry entry;
  entry.round = in.integer<std::uint64_t>();
  entry.old_size = in.integer<std::uint64_t>();
  in.array(entry.root);
  for (std::size_t k = 0; k < count; ++k) {
    entry.heads.push_back(ledger::read_head(in));
  }
  return entry;
}

void write(ByteWriter& out, const KeyEntry& entry) {
  out.integer(entry.node.value);
  out.array(entry.key);
}

KeyEntry read_key(ByteReader& in) {
  KeyEntry entry;
  entry.node = NodeId{in.integer<std::uint32_t>()};
  in.array(entry.key);
  return entry;
}

}  // namespace

std::vector<std::byte> encode(const PublicationEntry& entry) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  const bool round = std::holds_alternative<RoundEntry>(entry);
  out.integer(round ? kRound : kKey);
  std::visit([&](const auto& each) { write(out, each); }, entry);
  return bytes;
}

std::optional<PublicationEntry> decode_publication_entry(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto kind = in.integer<std::uint8_t>();
  std::optional<PublicationEntry> entry;
  if (kind == kRound) {
    if (auto round = read_round(in, bytes.size())) {
      entry = *std::move(round);
    }
  } else if (kind == kKey) {
    entry = read_key(in);
  }
  return in.complete() ? entry : std::nullopt;
}

bool PublicationState::apply(const PublicationEntry& entry) {
  return std::visit([this](const auto& each) { return take(each); }, entry);
}

bool PublicationState::take(const RoundEntry& entry) {
  const bool continues = entry.round == round_ + 1 && entry.old_size == log_.size;
  if (!continues || entry.heads.empty() || entry.heads.size() > kHeadsPerEntryMax) {
    return false;
  }
  ledger::MerkleFrontier grown = log_;
  for (const ledger::ShardHead& head : entry.heads) {
    ledger::append_leaf(grown, ledger::hash_leaf(ledger::encode_head(head)));
  }
  if (ledger::root_of(grown) != entry.root) {
    return false;
  }
  round_ = entry.round;
  log_ = std::move(grown);
  root_ = entry.root;
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
  ByteWriter out(bytes);
  out.integer(round_);
  out.integer(log_.size);
  for (const ledger::MerkleHash& peak : log_.peaks) {
    out.array(peak);
  }
  out.integer(static_cast<std::uint32_t>(keys_.size()));
  for (const auto& [node, key] : keys_) {
    write(out, KeyEntry{node, key});
  }
}

std::optional<PublicationState> PublicationState::parse(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  PublicationState state;
  state.round_ = in.integer<std::uint64_t>();
  state.log_.size = in.integer<std::uint64_t>();
  state.log_.peaks.resize(static_cast<std::size_t>(std::popcount(state.log_.size)));
  for (ledger::MerkleHash& peak : state.log_.peaks) {
    in.array(peak);
  }
  state.root_ = ledger::root_of(state.log_);
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
