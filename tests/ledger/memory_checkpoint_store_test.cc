// The simulator's checkpoint store keeps the contract of the real one.
#include "ledger/memory_checkpoint_store.h"

#include "ledger/error_details.h"
#include "replay_log.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

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
    rows[shard.value] = text(hard) + "|" + text(service);
  }

  std::map<std::uint32_t, std::string> rows;
};

CheckpointBatch batch_of_two() {
  CheckpointBatch batch;
  batch.put(CheckpointColumn::Hard, ShardId{2}, bytes_of("h2"));
  batch.put(CheckpointColumn::Service, ShardId{300}, bytes_of("s300"));
  batch.put_meta("configuration", bytes_of("c"));
  batch.covers(Lsn{17});
  return batch;
}

TEST(MemoryCheckpointStore, GivesBackWhatWasWrittenAfterReopening) {
  CheckpointMedium medium;
  ASSERT_TRUE(open_memory_checkpoint_store(medium)->write(batch_of_two()).ok());
  const auto store = open_memory_checkpoint_store(medium);
  EXPECT_EQ(store->covered_lsn(), Lsn{17});
  Loaded loaded;
  ASSERT_TRUE(store->load(loaded).ok());
  EXPECT_EQ(loaded.rows, (std::map<std::uint32_t, std::string>{{2, "h2|"}, {300, "|s300"}}));
  EXPECT_EQ(text(store->get(CheckpointColumn::Service, ShardId{300}).value()), "s300");
  EXPECT_EQ(text(store->get_meta("configuration").value()), "c");
  EXPECT_EQ(store->get_meta("other").status().code(), StatusCode::NotFound);
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
