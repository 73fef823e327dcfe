#include "ledger/checkpoint/checkpoint_store.h"

#include "ledger/base/error_details.h"
#include "ledger/checkpoint/memory_checkpoint_store.h"
#include "tests/ledger/replay_log.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

std::string text(std::span<const std::byte> bytes) {
  return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Loaded final : public CheckpointVisitor {
 public:
  void on_shard(ShardId shard,
                std::span<const std::byte> hard,
                std::span<const std::byte> service) override {
    order.push_back(shard.value);
    rows[shard.value] = text(hard) + "|" + text(service);
  }

  std::vector<std::uint32_t> order;
  std::map<std::uint32_t, std::string> rows;
};

// A store that closes and opens again over the same medium.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  virtual std::unique_ptr<CheckpointStore> open() = 0;
};

class CheckpointsInRocksDb final : public Checkpoints {
 public:
  std::unique_ptr<CheckpointStore> open() override {
    return CheckpointStore::open(directory_.path("checkpoint")).value();
  }

 private:
  ScratchFolder directory_;
};

class CheckpointsInMemory final : public Checkpoints {
 public:
  std::unique_ptr<CheckpointStore> open() override { return open_memory_checkpoint_store(medium_); }

 private:
  CheckpointMedium medium_;
};

// The contract, which the simulator's store keeps as the real one does.
struct CheckpointMaker {
  const char* name;
  std::unique_ptr<Checkpoints> (*make)();
};

class CheckpointContract : public testing::TestWithParam<CheckpointMaker> {
 protected:
  std::unique_ptr<CheckpointStore> open() { return checkpoints_->open(); }

 private:
  std::unique_ptr<Checkpoints> checkpoints_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(
    Of,
    CheckpointContract,
    testing::Values(CheckpointMaker{"RocksDb",
                                    []() -> std::unique_ptr<Checkpoints> {
                                      return std::make_unique<CheckpointsInRocksDb>();
                                    }},
                    CheckpointMaker{"Memory",
                                    []() -> std::unique_ptr<Checkpoints> {
                                      return std::make_unique<CheckpointsInMemory>();
                                    }}),
    [](const auto& maker) { return maker.param.name; });

TEST_P(CheckpointContract, ShardsComeBackInOrderAfterReopening) {
  {
    const auto store = open();
    EXPECT_EQ(store->covered_lsn(), Lsn{0});
    CheckpointBatch batch;
    batch.put(CheckpointColumn::Service, ShardId{300}, bytes_of("s300"));
    batch.put(CheckpointColumn::Hard, ShardId{2}, bytes_of("h2"));
    batch.put(CheckpointColumn::Service, ShardId{2}, bytes_of("s2"));
    batch.put(CheckpointColumn::Hard, ShardId{70000}, bytes_of("h70000"));
    batch.put_meta("configuration", bytes_of("c"));
    batch.covers(Lsn{17});
    ASSERT_TRUE(store->write(batch).ok());
    EXPECT_EQ(store->covered_lsn(), Lsn{17});
  }
  const auto store = open();
  EXPECT_EQ(store->covered_lsn(), Lsn{17});
  Loaded loaded;
  ASSERT_TRUE(store->load(loaded).ok());
  EXPECT_EQ(loaded.order, (std::vector<std::uint32_t>{2, 300, 70000}));
  EXPECT_EQ(
      loaded.rows,
      (std::map<std::uint32_t, std::string>{{2, "h2|s2"}, {300, "|s300"}, {70000, "h70000|"}}));
  EXPECT_EQ(text(store->get(CheckpointColumn::Service, ShardId{300}).value()), "s300");
  EXPECT_EQ(text(store->get_meta("configuration").value()), "c");
}

TEST_P(CheckpointContract, LaterWritesReplaceAndRemove) {
  const auto store = open();
  CheckpointBatch batch;
  batch.put(CheckpointColumn::Hard, ShardId{1}, bytes_of("first"));
  batch.put(CheckpointColumn::Hard, ShardId{2}, bytes_of("second"));
  ASSERT_TRUE(store->write(batch).ok());
  batch.clear();
  EXPECT_TRUE(batch.empty());
  batch.put(CheckpointColumn::Hard, ShardId{1}, bytes_of("third"));
  batch.remove(CheckpointColumn::Hard, ShardId{2});
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(text(store->get(CheckpointColumn::Hard, ShardId{1}).value()), "third");
  EXPECT_EQ(store->get(CheckpointColumn::Hard, ShardId{2}).status().code(), StatusCode::NotFound);
}

TEST_P(CheckpointContract, APartWithoutAnLsnLeavesTheCoveredLsn) {
  const auto store = open();
  CheckpointBatch batch;
  batch.covers(Lsn{5});
  ASSERT_TRUE(store->write(batch).ok());
  batch.clear();
  batch.put(CheckpointColumn::Hard, ShardId{1}, bytes_of("part"));
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->covered_lsn(), Lsn{5});
}

TEST_P(CheckpointContract, ValuesOfTheNodeAreKept) {
  const auto store = open();
  CheckpointBatch batch;
  batch.put_meta("view", bytes_of("epoch 4"));
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(text(store->get_meta("view").value()), "epoch 4");
  EXPECT_EQ(store->get_meta("absent").status().code(), StatusCode::NotFound);
}

TEST_P(CheckpointContract, AVisitorThatHasSeenEnoughEndsTheLoad) {
  class First final : public CheckpointVisitor {
   public:
    void on_shard(ShardId shard, std::span<const std::byte>, std::span<const std::byte>) override {
      seen.push_back(shard);
    }

    bool wants_more() override { return seen.empty(); }

    std::vector<ShardId> seen;
  };

  const auto store = open();
  CheckpointBatch batch;
  for (const std::uint32_t shard : {9u, 4u}) {
    batch.put(CheckpointColumn::Hard, ShardId{shard}, bytes_of("h"));
  }
  ASSERT_TRUE(store->write(batch).ok());
  First first;
  ASSERT_TRUE(store->load(first).ok());
  EXPECT_EQ(first.seen, std::vector<ShardId>{ShardId{4}});
}

TEST(CheckpointStore, ADamagedFileIsALossOfDataAndNamed) {
  const ScratchFolder directory;
  {
    const auto store = CheckpointStore::open(directory.path("checkpoint")).value();
    CheckpointBatch batch;
    for (std::uint32_t shard = 0; shard < 20'000; ++shard) {
      batch.put(CheckpointColumn::Service, ShardId{shard}, bytes_of(std::string(2000, 'v')));
    }
    batch.covers(Lsn{9});
    ASSERT_TRUE(store->write(batch).ok());
  }
  // Reopening moves the values from RocksDB's log into table files.
  ASSERT_TRUE(CheckpointStore::open(directory.path("checkpoint")).ok());
  std::filesystem::path largest;
  for (const auto& row : std::filesystem::directory_iterator{directory.path("checkpoint")}) {
    if (row.path().extension() == ".sst" &&
        (largest.empty() || row.file_size() > std::filesystem::file_size(largest))) {
      largest = row.path();
    }
  }
  ASSERT_FALSE(largest.empty());
  {
    std::fstream file{largest, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(largest) / 3));
    file.put('X');
  }
  const auto store = CheckpointStore::open(directory.path("checkpoint"));
  Loaded loaded;
  const Status status = store.ok() ? store.value()->load(loaded) : store.status();
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_EQ(status.detail(), kCheckpointRot);
  EXPECT_NE(status.message().find(".sst"), std::string::npos) << status.message();
}

// Found by chaos disks: a bit that flips in a length near the end of the MANIFEST lets RocksDB open
// without the edits behind it, so that one column kept its newest table and another lost it.
TEST(CheckpointStore, IsWholeRefusedOrOfThePastWhenTheManifestLosesItsEnd) {
  const ScratchFolder directory;
  const std::string whole = directory.path("whole");
  // Shard k changes in the k-th session only; the last one is in the log, the others in tables.
  for (std::uint32_t k = 1; k <= 3; ++k) {
    const auto store = CheckpointStore::open(whole).value();
    CheckpointBatch batch;
    batch.put(CheckpointColumn::Hard, ShardId{k}, bytes_of("h"));
    batch.put(CheckpointColumn::Service, ShardId{k}, bytes_of("s"));
    batch.covers(Lsn{k});
    ASSERT_TRUE(store->write(batch).ok());
  }
  std::set<std::uint64_t> outcomes;
  for (std::uintmax_t cut = 1; cut < 300; cut += 4) {
    const std::string part = directory.path("part");
    std::filesystem::remove_all(part);
    std::filesystem::copy(whole, part, std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::directory_iterator(part)) {
      if (entry.path().filename().string().starts_with("MANIFEST")) {
        const auto left = entry.file_size() - std::min(cut, entry.file_size());
        std::filesystem::resize_file(entry.path(), left);
      }
    }
    const auto store = CheckpointStore::open(part);
    Loaded loaded;
    if (!store.ok() || !store.value()->load(loaded).ok()) {
      outcomes.insert(~std::uint64_t{0});
      continue;
    }
    const std::uint64_t covered = store.value()->covered_lsn().value;
    outcomes.insert(covered);
    EXPECT_EQ(loaded.rows.size(), covered) << cut;
    for (const auto& [shard, row] : loaded.rows) {
      EXPECT_EQ(row, "h|s") << shard << ", " << cut;
    }
  }
  EXPECT_TRUE(outcomes.contains(~std::uint64_t{0}));  // Refused.
}

CheckpointBatch batch_of_two() {
  CheckpointBatch batch;
  batch.put(CheckpointColumn::Hard, ShardId{2}, bytes_of("h2"));
  batch.put(CheckpointColumn::Service, ShardId{300}, bytes_of("s300"));
  batch.put_meta("configuration", bytes_of("c"));
  batch.covers(Lsn{17});
  return batch;
}

TEST(MemoryCheckpointStore, EveryFlippedBitIsDetected) {
  for (std::uint64_t choice = 0; choice < 400; ++choice) {
    CheckpointMedium medium;
    ASSERT_TRUE(open_memory_checkpoint_store(medium)->write(batch_of_two()).ok());
    ASSERT_TRUE(medium.flip_bit(choice));
    Loaded loaded;
    EXPECT_EQ(open_memory_checkpoint_store(medium)->load(loaded).detail(), kCheckpointRot);
  }
}

TEST(MemoryCheckpointStore, AWriteThatFailsChangesNothing) {
  CheckpointMedium medium;
  medium.full = true;
  const auto store = open_memory_checkpoint_store(medium);
  EXPECT_EQ(store->write(batch_of_two()).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(store->covered_lsn(), Lsn{0});
  Loaded loaded;
  ASSERT_TRUE(store->load(loaded).ok());
  EXPECT_TRUE(loaded.rows.empty());
}

}  // namespace
}  // namespace gcoord::ledger
