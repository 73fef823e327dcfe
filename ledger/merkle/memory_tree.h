// A log and its Merkle tree in memory, for tests and for simulated nodes.
//
// Every hash of every level is kept, so that what it shows is exactly what was appended; a real
// node keeps tiles on its disk instead. Thread-safe: one appends while others read.
#pragma once

#include "ledger/merkle/tree_reader.h"

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <vector>

namespace gcoord::ledger {

class MemoryTree final : public TreeReader {
 public:
  // Appends an entry of any length; it is leaf size() - 1 then.
  void append(std::span<const std::byte> entry);

  // Forgets the entries below `first`; all hashes are kept. A lower number than before, or one
  // above size(), changes nothing.
  void prune(std::uint64_t first);

  std::uint64_t size() const override;
  std::uint64_t first() const override;
  Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                         std::uint64_t index,
                                         std::size_t count) const override;
  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override;

 private:
  mutable std::shared_mutex mutex_;
  std::uint64_t first_ = 0;
  std::vector<std::vector<std::byte>> entries_;
  std::vector<std::vector<MerkleHash>> levels_;
};

}  // namespace gcoord::ledger
