#include "server/node/low_disk_checkpoints.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace gcoord::server {
namespace {

// Its checkpoints end when the test says so.
class CheckpointingEngine final : public ReplicatedLog {
 public:
  void propose(ShardId, const ProposedCommand&, std::uint64_t) override {}

  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId) const override { return {}; }

  NodeView view() const override { return {}; }

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return false; }

  std::uint64_t request_checkpoint() override { return ++requested; }

  std::optional<Status> checkpoint_outcome(std::uint64_t number) const override {
    return ended >= number ? std::optional<Status>{Status{}} : std::nullopt;
  }

  std::uint64_t requested = 0;
  std::uint64_t ended = 0;
};

constexpr std::uint64_t kAgainMs = LowDiskCheckpoints::kAgainMs;

// One at the edge alone left a log that went on growing with nothing to give back.
TEST(LowDiskCheckpoints, AreRequestedAgainWhileTheDiskStaysLow) {
  CheckpointingEngine engine;
  LowDiskCheckpoints checkpoints;
  checkpoints.look(engine, false, 500);
  EXPECT_EQ(engine.requested, 0u);
  checkpoints.look(engine, true, 1000);
  EXPECT_EQ(engine.requested, 1u);
  engine.ended = 1;
  checkpoints.look(engine, true, 1000 + kAgainMs - 1);
  EXPECT_EQ(engine.requested, 1u);
  checkpoints.look(engine, true, 1000 + kAgainMs);
  EXPECT_EQ(engine.requested, 2u);
}

TEST(LowDiskCheckpoints, OneIsNotRequestedBeforeTheLastHasEnded) {
  CheckpointingEngine engine;
  LowDiskCheckpoints checkpoints;
  checkpoints.look(engine, true, 1000);
  checkpoints.look(engine, true, 1000 + 5 * kAgainMs);
  EXPECT_EQ(engine.requested, 1u);
  engine.ended = 1;
  checkpoints.look(engine, true, 1001 + 5 * kAgainMs);
  EXPECT_EQ(engine.requested, 2u);
}

TEST(LowDiskCheckpoints, ADiskThatBecomesLowAgainHasOneAtOnce) {
  CheckpointingEngine engine;
  LowDiskCheckpoints checkpoints;
  checkpoints.look(engine, true, 1000);
  checkpoints.look(engine, false, 2000);
  checkpoints.look(engine, true, 3000);
  EXPECT_EQ(engine.requested, 2u);
}

}  // namespace
}  // namespace gcoord::server
