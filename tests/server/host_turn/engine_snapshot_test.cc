#include "common/crc32c.h"
#include "server/replicas/shard_codec.h"
#include "server/replicas/snapshot_assembly.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using consensus::Message;
using consensus::MessageKind;

Message snapshot_of(std::uint32_t shard, std::uint32_t from) {
  Message message;
  message.kind = MessageKind::Snapshot;
  message.shard = ShardId{shard};
  message.from = NodeId{from};
  message.term = Term{3};
  message.index = LogIndex{50};
  return message;
}

std::vector<std::byte> snapshot_bytes(std::size_t byte_count) {
  consensus::Configuration configuration;
  configuration.node[0] = NodeId{1};
  configuration.weight[0] = 1;
  configuration.voters = 1;
  std::vector<std::byte> bytes;
  encode_snapshot_head(bytes, configuration);
  // One command of the toy service.
  const auto length = static_cast<std::uint32_t>(byte_count - sizeof(std::uint32_t));
  const auto* start = reinterpret_cast<const std::byte*>(&length);
  bytes.insert(bytes.end(), start, start + sizeof length);
  bytes.resize(bytes.size() + length, std::byte{42});
  return bytes;
}

class SnapshotAssemblyTest : public testing::Test {
 protected:
  std::unique_ptr<ArrivedSnapshot> send(const Message& message,
                                        std::span<const std::byte> whole,
                                        std::size_t offset,
                                        std::size_t length) {
    const ChunkHeader header{
        .offset_bytes = offset, .total_bytes = whole.size(), .total_crc = crc32c(whole)};
    encode_chunk(extent_, header, whole.subspan(offset, length));
    return assembly_.on_chunk(message, extent_);
  }

  std::uint64_t dropped(ReplicaDrop reason) { return metrics_.dropped(reason).value(); }

  MetricsRegistry registry_;
  ReplicaMetrics metrics_{registry_};
  ToyService service_;
  SnapshotAssembly assembly_{service_, metrics_};
  std::vector<std::byte> extent_;
};

TEST_F(SnapshotAssemblyTest, ChunksInOrderBecomeTheSnapshot) {
  const auto whole = snapshot_bytes(252);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 0, 100), nullptr);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 100, 100), nullptr);
  const auto arrived = send(snapshot_of(1, 2), whole, 200, 100);
  ASSERT_NE(arrived, nullptr);
  EXPECT_EQ(arrived->bytes, whole);
  EXPECT_EQ(assembly_.held_bytes(), 0u);
}

TEST_F(SnapshotAssemblyTest, StrayAndRepeatedChunksAreDroppedAndCounted) {
  const auto whole = snapshot_bytes(252);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 100, 100), nullptr);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 0, 100), nullptr);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 200, 100), nullptr);
  EXPECT_EQ(send(snapshot_of(1, 3), whole, 100, 100), nullptr);
  EXPECT_EQ(dropped(ReplicaDrop::StrayChunk), 3u);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 100, 100), nullptr);
  EXPECT_NE(send(snapshot_of(1, 2), whole, 200, 100), nullptr);
}

TEST_F(SnapshotAssemblyTest, ASnapshotWithAWrongChecksumIsDropped) {
  const auto whole = snapshot_bytes(52);
  encode_chunk(extent_, {.total_bytes = whole.size(), .total_crc = crc32c(whole) + 1}, whole);
  EXPECT_EQ(assembly_.on_chunk(snapshot_of(1, 2), extent_), nullptr);
  EXPECT_EQ(dropped(ReplicaDrop::BadChunk), 1u);
}

// A peer of another release, or a hostile one, must not be able to stop a node by a state that its
// service would refuse to install.
TEST_F(SnapshotAssemblyTest, AStateThatTheServiceWouldRefuseIsDropped) {
  auto whole = snapshot_bytes(252);
  whole.pop_back();
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 0, whole.size()), nullptr);
  EXPECT_EQ(dropped(ReplicaDrop::BadChunk), 1u);
}

TEST_F(SnapshotAssemblyTest, AHugeTotalIsRefusedBeforeAnyMemoryIsTaken) {
  const auto whole = snapshot_bytes(52);
  encode_chunk(extent_, {.total_bytes = kSnapshotBytesMax + 1}, whole);
  EXPECT_EQ(assembly_.on_chunk(snapshot_of(1, 2), extent_), nullptr);
  EXPECT_EQ(assembly_.held_bytes(), 0u);
}

TEST_F(SnapshotAssemblyTest, TheOldestAssemblyGivesWay) {
  const auto whole = snapshot_bytes(252);
  for (std::uint32_t shard = 0; shard < 200; ++shard) {
    EXPECT_EQ(send(snapshot_of(shard, 2), whole, 0, 100), nullptr);
  }
  EXPECT_LE(assembly_.held_bytes(), 100 * SnapshotAssembly::kAssembliesMax);
  EXPECT_EQ(send(snapshot_of(0, 2), whole, 100, 200), nullptr);
  EXPECT_NE(send(snapshot_of(199, 2), whole, 100, 200), nullptr);
}

TEST_F(SnapshotAssemblyTest, ADeadChannelTakesItsAssembliesAlong) {
  const auto whole = snapshot_bytes(252);
  send(snapshot_of(1, 2), whole, 0, 100);
  send(snapshot_of(1, 3), whole, 0, 100);
  assembly_.drop_peer(NodeId{2});
  EXPECT_EQ(assembly_.held_bytes(), 100u);
  EXPECT_EQ(send(snapshot_of(1, 2), whole, 100, 200), nullptr);
  EXPECT_NE(send(snapshot_of(1, 3), whole, 100, 200), nullptr);
}

}  // namespace
}  // namespace gcoord::server
