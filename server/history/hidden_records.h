// Records of a ledger that have a secret in them, and what is given of them to readers who may not
// have it (docs/adr/0137).
//
// A change of users that sets a password has its verifier (security/roles/command.h), against which
// whoever has it can try passwords at home. Readers who may not manage users get a stand-in for
// such an entry: its leaf hash, and the record without the bytes of the verifier. What cannot be
// read as a change of users of this release is hidden as a whole, since a verifier may be in it.
// In the log of a device the further parts of a record are pieces like those of names, so all
// pieces of shard 0 are hidden. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "ledger/merkle/tree_reader.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// The stand-in (ledger/tiles/hidden_entry.h) for an entry with a secret; nothing: it has none.
std::optional<std::vector<std::byte>> without_secret(ShardId shard,
                                                     std::span<const std::byte> entry);

// A shard's tree as readers see it who may not have secrets: hashes are those of the entries.
class OpenTree final : public ledger::TreeReader {
 public:
  OpenTree(ShardId shard, std::shared_ptr<const ledger::TreeReader> tree)
      : shard_(shard), tree_(std::move(tree)) {}

  std::uint64_t size() const override { return tree_->size(); }

  std::uint64_t first() const override { return tree_->first(); }

  Result<std::vector<ledger::MerkleHash>> hashes(std::uint32_t level,
                                                 std::uint64_t index,
                                                 std::size_t count) const override {
    return tree_->hashes(level, index, count);
  }

  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override;

  // Whether entries() has hidden any.
  bool has_hidden() const { return hidden_.load(std::memory_order_relaxed); }

 private:
  ShardId shard_;
  std::shared_ptr<const ledger::TreeReader> tree_;
  mutable std::atomic<bool> hidden_{false};  // By any reader; nothing is published by it.
};

}  // namespace gcoord::server
