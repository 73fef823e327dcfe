// A majority of recovery markers switches rights off, once; no other file and no peer's word does.
#include "server/access/recovery.h"

#include "ledger/disk/memory_disk.h"
#include "ledger/disk/posix_disk.h"
#include "server/access/recovery_file.h"
#include "tests/server/access/access_cluster.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace gcoord::server {
namespace {

class AccessRecoveryTest : public AccessEngineTest {
 protected:
  void mark(std::uint32_t id, std::uint64_t time_ms = kNow) {
    const auto disk = ledger::PosixDisk::open_directory(around_[id].directory.path());
    ASSERT_TRUE(disk.ok());
    ASSERT_TRUE(
        write_recovery_marker(
            *disk.value(),
            {.cluster = ClusterId{77}, .node = NodeId{id}, .number = 100 + id, .time_ms = time_ms})
            .ok());
  }

  bool has_marker(std::uint32_t id) {
    const auto disk = ledger::PosixDisk::open_directory(around_[id].directory.path());
    return disk.value()->exists("auth-recover").value();
  }
};

TEST_F(AccessRecoveryTest, AMajorityOfMarkersSwitchesRightsOffOnce) {
  start_all();
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "ann", {"root"})).error(), ErrorCode::None);
  around_[leader()].proven = "ann";
  ASSERT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::None);
  await_epoch(2);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    stop(id);
  }
  mark(1);
  start_all();
  leader();
  cluster_.run_ms(8000);
  EXPECT_TRUE(table(leader()).enabled);  // One of three is no majority.
  stop(3);
  mark(3);
  start(3);
  await_epoch(3);
  EXPECT_FALSE(table(1).enabled);
  EXPECT_EQ(table(1).recoveries, 1u);
  ASSERT_EQ(table(1).recovered.size(), 2u);
  cluster_.run_until([this] { return !has_marker(1) && !has_marker(3); });
  cluster_.run_ms(8000);
  EXPECT_EQ(table(1).epoch, 3u);
}

TEST_F(AccessRecoveryTest, AnOldMarkerCountsNoMore) {
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    mark(id, kNow - kRecoveryMarkerMs);
  }
  start_all();
  leader();
  cluster_.run_ms(8000);
  EXPECT_EQ(table(1).epoch, 0u);
}

TEST_F(AccessRecoveryTest, WhatPeersSayIsCheckedAndCounted) {
  start_all();
  const std::uint32_t id = leader();
  std::vector<std::byte> vote = encode_recovery_vote(7);
  EXPECT_EQ(decode_recovery_vote(vote), 7u);
  around_[id].machine->on_peer_message(NodeId{9}, vote);  // No voter.
  vote.pop_back();
  around_[id].machine->on_peer_message(NodeId{1}, vote);
  EXPECT_EQ(around_[id].access->dropped(), 1u);
  EXPECT_EQ(decode_recovery_vote(encode_recovery_vote(0)), std::nullopt);
  cluster_.run_ms(2000);
  EXPECT_EQ(table(id).epoch, 0u);
}

TEST(RecoveryFile, ADamagedOrForeignMarkerIsNone) {
  ledger::MemoryDisk disk;
  const RecoveryMarker marker{
      .cluster = ClusterId{7}, .node = NodeId{2}, .number = 5, .time_ms = 1000};
  EXPECT_EQ(read_recovery_marker(disk, marker).value(), std::nullopt);
  ASSERT_TRUE(write_recovery_marker(disk, marker).ok());
  EXPECT_EQ(read_recovery_marker(disk, marker).value(), marker);
  RecoveryMarker other = marker;
  other.node = NodeId{3};
  EXPECT_EQ(read_recovery_marker(disk, other).value(), std::nullopt);
  other = marker;
  other.time_ms += kRecoveryMarkerMs;
  EXPECT_EQ(read_recovery_marker(disk, other).value(), std::nullopt);
  ASSERT_TRUE(remove_recovery_marker(disk).ok());
  EXPECT_EQ(read_recovery_marker(disk, marker).value(), std::nullopt);
}

}  // namespace
}  // namespace gcoord::server
