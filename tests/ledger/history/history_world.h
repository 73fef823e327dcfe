// A history over a medium in memory, and what it should be: a tree in memory per shard.
#pragma once

#include "ledger/history/history.h"
#include "ledger/history/memory_store.h"
#include "ledger/history/reader.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/proof.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/trees/cpu.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::ledger {

inline std::vector<std::byte> entry_bytes_of(std::uint32_t shard, std::uint64_t index) {
  const std::string text = "entry " + std::to_string(index) + " of shard " + std::to_string(shard);
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

class HistoryWorld {
 public:
  explicit HistoryWorld(std::uint32_t shard_count, bool decisions_last = true)
      : shard_count_(shard_count), decisions_last_(decisions_last) {
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      models.push_back(std::make_unique<MemoryTree>());
    }
    reopen();
  }

  // As after a crash: what was not flushed is gone.
  void reopen() {
    history = nullptr;
    store = open_memory_history_store(medium);
    HistoryOptions options;
    options.shard_count = shard_count_;
    options.decisions_last = decisions_last_;
    auto opened = History::open(options, make_cpu_merkle_device(), *store);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    history = opened.value();
  }

  // The shard's next entries, as one batch, from `first` on.
  Status append(std::uint32_t shard, std::uint64_t first, std::uint64_t count) {
    auto batch = std::make_shared<HistoryEntries>();
    for (std::uint64_t index = first; index < first + count; ++index) {
      const auto bytes = entry_bytes_of(shard, index);
      batch->add(ShardId{shard}, index, bytes);
      if (index == models[shard]->size()) {
        models[shard]->append(bytes);
      }
    }
    return history->append(batch);
  }

  // What its reader says of the shard is what the model says, at several sizes.
  void expect_as_model(std::uint32_t shard) const {
    const auto reader = history->reader(ShardId{shard});
    const MemoryTree& model = *models[shard];
    ASSERT_EQ(reader->size(), model.size());
    for (std::uint64_t size = model.size(); size > reader->first(); size -= (size + 6) / 7) {
      const auto root = root_at(*reader, size);
      ASSERT_TRUE(root.ok()) << root.status().message();
      EXPECT_EQ(root.value(), root_at(model, size).value()) << shard << " at " << size;
      expect_proved(*reader, model, size - 1, model.size());
    }
  }

  // The reader's entry and proof hold against the model's root.
  static void expect_proved(const TreeReader& reader,
                            const MemoryTree& model,
                            std::uint64_t index,
                            std::uint64_t size) {
    const auto entry = reader.entries(index, 1);
    ASSERT_TRUE(entry.ok()) << index << ": " << entry.status().message();
    const auto proof = inclusion_proof(reader, index, size);
    ASSERT_TRUE(proof.ok()) << index << ": " << proof.status().message();
    const InclusionClaim claim{
        index, size, hash_leaf(entry.value().front()), root_at(model, size).value()};
    EXPECT_TRUE(verify_inclusion(claim, proof.value()).ok()) << index << " of " << size;
  }

  std::vector<std::unique_ptr<MemoryTree>> models;
  HistoryMedium medium;
  std::unique_ptr<HistoryStore> store;
  std::shared_ptr<History> history;

 private:
  std::uint32_t shard_count_;
  bool decisions_last_;
};

}  // namespace gcoord::ledger
