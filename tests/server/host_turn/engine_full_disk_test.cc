// An engine whose log of record has filled its disk.
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/space/guard.h"
#include "ledger/wal/spare.h"
#include "tests/ledger/bounded_disk.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSegmentBytes = 4 * ledger::kShortSegmentBytes;
constexpr ledger::SpaceMarks kMarks{
    .reserve_bytes = 0, .low_bytes = 64 * 1024, .floor_bytes = 16 * 1024};

class EngineFullDisk : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(guard_.open(std::make_unique<ledger::SpaceOfDisk>(disk_)).ok());
    cluster_.tune = [this](ReplicaOptions& options) {
      options.wal_disk = &disk_;
      options.wal_segment_bytes = kSegmentBytes;
      options.space = &guard_;
      // The toy service's state is as large as its log: what this is about is the log alone.
      options.open_checkpoint_store = [path = options.data_directory] {
        return ledger::CheckpointStore::open(path + "/checkpoint");
      };
    };
    cluster_.start_all();
    cluster_.run_until([this] { return cluster_.leader_of(0) == 1; });
  }

  void TearDown() override {
    guard_.stop();
    cluster_.stop(1);
  }

  // Turns until the condition holds, for as long as a busy machine may take. The engine's time
  // stands.
  bool turn_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!condition() && std::chrono::steady_clock::now() < end) {
      cluster_.turn_all();
      std::this_thread::yield();
    }
    return condition();
  }

  // Some commands; the cookie of the last one.
  std::uint64_t propose() {
    std::uint64_t cookie = 0;
    for (int k = 0; k < 50; ++k) {
      cookie = cluster_.propose(1, 0, std::string(1000, 'x'));
    }
    return cookie;
  }

  // Two whole segments are full, and the log needs another one.
  bool needs_more() {
    const bool waits = metrics_
                           .counter({"gcoord_ledger_disk_held_writes_total", "", "", ""})  //
                           .value() != 0;
    return waits || disk_.used_bytes() > 2 * kSegmentBytes;
  }

  MetricsRegistry metrics_;
  EngineCluster cluster_{1, 1};
  ledger::BoundedDisk disk_{cluster_.node(1).wal_disk, 2 * kSegmentBytes + 2 * kMiB};
  ledger::SpaceGuard guard_{{.metrics = &metrics_, .marks = kMarks}};
};

// The shard that waited for the log held up the checkpoint that would have freed it.
TEST_F(EngineFullDisk, ACheckpointFreesADiskThatTheLogHasFilledAndTheNodeGoesOn) {
  while (!needs_more()) {
    const std::uint64_t cookie = propose();
    ASSERT_TRUE(turn_until([&] { return needs_more() || cluster_.decided(1, cookie); }));
  }
  const std::uint64_t waiting = propose();
  HostReplicas& engine = cluster_.engine(1);
  const std::uint64_t checkpoint = engine.request_checkpoint();
  ASSERT_TRUE(turn_until([&] { return engine.checkpoint_outcome(checkpoint).has_value(); }));
  EXPECT_TRUE(engine.checkpoint_outcome(checkpoint)->ok());
  EXPECT_TRUE(turn_until([&] { return cluster_.decided(1, waiting); }));
  EXPECT_TRUE(turn_until([&] { return disk_.used_bytes() < 2 * kSegmentBytes; }));
  // And whole segments follow.
  while (disk_.used_bytes() < kSegmentBytes) {
    const std::uint64_t cookie = propose();
    ASSERT_TRUE(turn_until([&] { return cluster_.decided(1, cookie); }));
  }
}

}  // namespace
}  // namespace gcoord::server
