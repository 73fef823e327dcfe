#include "ledger/publication/ledger_notary.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "ledger/notes/checkpoint_note.h"
#include "ledger/notes/shard_note.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kLeavesPerRead = 256;

Status absent(const std::string& what) {
  return Status{StatusCode::NotFound, what, ledger::kLedgerAbsent};
}

}  // namespace

LedgerNotary::LedgerNotary(ClusterId cluster,
                           std::uint32_t shard_count,
                           ledger::NoteSigner signer,
                           const ledger::TreeReader& log)
    : cluster_(cluster), signer_(std::move(signer)), log_(log), places_(shard_count) {}

LedgerKey LedgerNotary::public_key() const {
  return signer_.key().bytes();
}

std::string LedgerNotary::text_of(std::uint64_t size, const ledger::MerkleHash& root) const {
  return ledger::checkpoint_text({.origin = ledger::cluster_origin(cluster_.value),
                                  .size = size,
                                  .root = root,
                                  .extensions = {}});
}

LedgerSignature LedgerNotary::sign(std::uint64_t size, const ledger::MerkleHash& root) const {
  return signer_.sign(text_of(size, root));
}

bool LedgerNotary::genuine(NodeId node,
                           const LedgerKey& key,
                           const SignatureMessage& message) const {
  const auto known = ledger::NoteKey::make(ledger::node_key_name(cluster_.value, node.value), key);
  return known.ok() &&
         known.value().verifies(text_of(message.size, message.root), message.signature);
}

void LedgerNotary::set_keys(const std::map<NodeId, LedgerKey>& keys) {
  const std::lock_guard lock(mutex_);
  known_keys_ = keys;
}

Status LedgerNotary::publish(const PublishedLog& log) {
  ledger::SignedNote note{.text = text_of(log.size, log.root), .signatures = {}};
  const std::lock_guard lock(mutex_);
  for (const auto& [node, signature] : log.signatures) {
    const auto bytes = known_keys_.find(node);
    GCOORD_ASSERT(bytes != known_keys_.end());  // genuine() knew it.
    GCOORD_TRY(
        const auto key,
        ledger::NoteKey::make(ledger::node_key_name(cluster_.value, node.value), bytes->second));
    note.signatures.push_back(
        {.name = key.name(), .key_id = key.id(), .bytes = {signature.begin(), signature.end()}});
  }
  GCOORD_TRY_STATUS(note_heads(log.size));
  note_ = ledger::print_note(note);
  return Status{};
}

Status LedgerNotary::note_heads(std::uint64_t size) {
  if (size_ == 0 && size > kScannedMax) {
    size_ = size - kScannedMax;
  }
  size_ = std::max(size_, log_.first());
  while (size_ < size) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kLeavesPerRead, size - size_));
    GCOORD_TRY(const auto leaves, log_.entries(size_, count));
    for (const auto& leaf : leaves) {
      GCOORD_TRY(const auto head, ledger::decode_head(leaf));
      ++size_;
      if (head.shard.value < places_.size()) {
        places_[head.shard.value].after_leaf = size_;
      }
    }
  }
  return Status{};
}

Result<std::string> LedgerNotary::checkpoint() const {
  const std::lock_guard lock(mutex_);
  if (note_.empty()) {
    return absent("no checkpoint has been signed by a majority since this node started");
  }
  return note_;
}

Result<LedgerNotary::PlacedHead> LedgerNotary::placed_head(ShardId shard) const {
  std::uint64_t after_leaf = 0;
  std::uint64_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    after_leaf = shard.value < places_.size() ? places_[shard.value].after_leaf : 0;
    size = size_;
  }
  if (after_leaf == 0) {
    return absent("no head of shard " + std::to_string(shard.value) + " has been published");
  }
  GCOORD_TRY(const auto leaves, log_.entries(after_leaf - 1, 1));
  GCOORD_TRY(const auto head, ledger::decode_head(leaves.front()));
  return PlacedHead{head, {after_leaf - 1, size}};
}

Result<ledger::ShardHead> LedgerNotary::head(ShardId shard) const {
  GCOORD_TRY(const PlacedHead placed, placed_head(shard));
  return placed.head;
}

Result<std::string> LedgerNotary::shard_checkpoint(ShardId shard) const {
  GCOORD_TRY(const PlacedHead placed, placed_head(shard));
  const std::string text =
      ledger::checkpoint_text(ledger::shard_checkpoint(cluster_.value, placed.head, placed.place));
  return ledger::print_note({text, {ledger::sign_note(signer_, text)}});
}

std::vector<std::string> LedgerNotary::keys() const {
  std::vector<std::string> texts{signer_.key().text()};
  const std::lock_guard lock(mutex_);
  for (const auto& [node, bytes] : known_keys_) {
    const auto key =
        ledger::NoteKey::make(ledger::node_key_name(cluster_.value, node.value), bytes);
    if (key.ok() && key.value().text() != texts.front()) {
      texts.push_back(key.value().text());
    }
  }
  return texts;
}

}  // namespace gcoord::server
