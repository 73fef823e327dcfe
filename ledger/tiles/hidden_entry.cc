#include "ledger/tiles/hidden_entry.h"

#include <algorithm>

namespace gcoord::ledger {

namespace {

constexpr std::size_t kShownAt = kHiddenEntryMark.size() + kMerkleHashBytes;

}  // namespace

std::vector<std::byte> hidden_entry(std::span<const std::byte> entry,
                                    std::span<const std::byte> shown) {
  const MerkleHash leaf = hash_leaf(entry);
  std::vector<std::byte> bytes(kHiddenEntryMark.begin(), kHiddenEntryMark.end());
  bytes.insert(bytes.end(), leaf.begin(), leaf.end());
  bytes.insert(bytes.end(), shown.begin(), shown.end());
  return bytes;
}

std::optional<HiddenEntry> parse_hidden_entry(std::span<const std::byte> bytes) {
  if (bytes.size() < kShownAt ||
      !std::equal(kHiddenEntryMark.begin(), kHiddenEntryMark.end(), bytes.begin())) {
    return std::nullopt;
  }
  HiddenEntry hidden;
  std::ranges::copy(bytes.subspan(kHiddenEntryMark.size(), kMerkleHashBytes), hidden.leaf.begin());
  hidden.shown = bytes.subspan(kShownAt);
  return hidden;
}

EntryMatch match_entry(std::span<const std::byte> bytes, const MerkleHash& leaf) {
  if (hash_leaf(bytes) == leaf) {
    return EntryMatch::Whole;
  }
  const auto hidden = parse_hidden_entry(bytes);
  return hidden && hidden->leaf == leaf ? EntryMatch::Hidden : EntryMatch::None;
}

MerkleHash leaf_of_entry(std::span<const std::byte> bytes) {
  const auto hidden = parse_hidden_entry(bytes);
  return hidden ? hidden->leaf : hash_leaf(bytes);
}

}  // namespace gcoord::ledger
