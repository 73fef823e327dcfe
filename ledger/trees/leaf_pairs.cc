#include "ledger/trees/leaf_pairs.h"

#include "common/assert.h"
#include "common/sha256_pair.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kBlockBytes = sizeof(Sha256Block);
// Before a record: the zero byte of a leaf. Behind it: SHA-256's end mark, and the length in bits.
constexpr std::size_t kPrefixBytes = 1;
constexpr std::size_t kEndBytes = 1 + sizeof(std::uint64_t);

// A leaf as the blocks of its message.
class LeafMessage {
 public:
  LeafMessage(const std::byte* payload, const LeafExtent& leaf)
      : record_(payload + leaf.offset), length_(leaf.length) {}

  std::size_t block_count() const {
    return (kPrefixBytes + length_ + kEndBytes + kBlockBytes - 1) / kBlockBytes;
  }

  Sha256Block block(std::size_t number) const {
    std::array<std::byte, kBlockBytes> bytes{};
    const std::size_t prefix = number == 0 ? kPrefixBytes : 0;
    const std::size_t from = number * kBlockBytes - (kPrefixBytes - prefix);
    if (from < length_) {
      const std::size_t count = std::min(length_ - from, kBlockBytes - prefix);
      std::memcpy(bytes.data() + prefix, record_ + from, count);
    }
    const std::size_t mark = kPrefixBytes + length_ - number * kBlockBytes;
    if (mark < kBlockBytes) {  // Wraps, and is not, where it lies in a block before.
      bytes[mark] = std::byte{0x80};
    }
    Sha256Block block;
    std::memcpy(block.word, bytes.data(), kBlockBytes);
    for (std::uint32_t& word : block.word) {
      word = most_significant_first(word);
    }
    if (number + 1 == block_count()) {
      const std::uint64_t bits = std::uint64_t{kPrefixBytes + length_} * 8;
      block.word[14] = static_cast<std::uint32_t>(bits >> 32);
      block.word[15] = static_cast<std::uint32_t>(bits);
    }
    return block;
  }

 private:
  const std::byte* record_;
  std::size_t length_;
};

// A node's message begins with the one byte of a node, so every word of it is one byte late; the
// second block has the last byte, the end mark and the length.
struct NodeMessage {
  Sha256Block first;
  Sha256Block second{};

  explicit NodeMessage(const Sha256Words* children) {
    std::uint32_t before = 0x01;
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint32_t word = children[i / 8].word[i % 8];
      first.word[i] = before << 24 | word >> 8;
      before = word;
    }
    second.word[0] = before << 24 | 0x00800000;
    second.word[15] = (1 + 2 * sizeof(Sha256Words)) * 8;
  }
};

void add_alone(const LeafMessage& message, std::size_t from_block, Sha256Words& hash) {
  for (std::size_t k = from_block; k < message.block_count(); ++k) {
    sha256_add_block_on_host(hash, message.block(k));
  }
}

}  // namespace

void hash_leaf_pairs(const std::byte* payload,
                     std::span<const LeafExtent> leaves,
                     std::span<Sha256Words> hashes) {
  GCOORD_ASSERT(hashes.size() == leaves.size());
  std::ranges::fill(hashes, sha256_start());
  std::size_t k = 0;
  for (; k + 1 < leaves.size(); k += 2) {
    const LeafMessage one(payload, leaves[k]);
    const LeafMessage two(payload, leaves[k + 1]);
    const std::size_t both = std::min(one.block_count(), two.block_count());
    for (std::size_t b = 0; b < both; ++b) {
      sha256_add_two_blocks({hashes[k], hashes[k + 1]}, {one.block(b), two.block(b)});
    }
    add_alone(one, both, hashes[k]);
    add_alone(two, both, hashes[k + 1]);
  }
  if (k < leaves.size()) {
    add_alone(LeafMessage(payload, leaves[k]), 0, hashes[k]);
  }
}

void hash_node_pair(const NodePair& nodes, Sha256Words (&hashes)[2]) {
  const NodeMessage one(nodes.children[0]);
  const NodeMessage two(nodes.children[1]);
  hashes[0] = sha256_start();
  hashes[1] = sha256_start();
  sha256_add_two_blocks({hashes[0], hashes[1]}, {one.first, two.first});
  sha256_add_two_blocks({hashes[0], hashes[1]}, {one.second, two.second});
}

}  // namespace gcoord::ledger
