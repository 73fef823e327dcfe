// A shard's groups as bytes: what is refused, and what a new cluster begins with.
#include "membership/groups/group_cpu.h"
#include "membership/groups/snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::membership {
namespace {

constexpr ShardId kShard{0};

struct Node {
  GroupCpu cpu{1, 3};

  GroupReply apply(const std::string& name, std::uint64_t session, const std::string& bytes) {
    GroupCommand command = decode_group_command(bytes);
    command.session = SessionId{session};
    command.name_hash = hash_name(name);
    command.name = name.data();
    command.name_bytes = static_cast<std::uint16_t>(name.size());
    return cpu.apply(kShard, command);
  }
};

std::vector<std::byte> some_state() {
  Node node;
  node.apply("a", 1, encode_join("one", "payload"));
  node.apply("a", 2, encode_join("two", ""));
  node.apply("b", 2, encode_arrive(3));
  node.apply("a", 3, encode_arrive(2));
  std::vector<std::byte> bytes;
  node.cpu.serialize(kShard, bytes);
  return bytes;
}

TEST(GroupSnapshot, AShardWithoutGroupsHasNoBytes) {
  std::vector<std::byte> bytes;
  GroupCpu{1, 3}.serialize(kShard, bytes);
  EXPECT_TRUE(bytes.empty());
}

TEST(GroupSnapshot, CutOrDamagedBytesAreRefusedAndLeaveAnEmptyShard) {
  const std::vector<std::byte> whole = some_state();
  GroupCpu cpu{1, 3};
  ASSERT_TRUE(cpu.deserialize(kShard, whole).ok());
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(cpu.deserialize(kShard, std::span{whole}.first(bytes)).ok()) << bytes;
    EXPECT_EQ(cpu.usage().groups, 0u);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{0xff};
    static_cast<void>(cpu.deserialize(kShard, damaged));  // Refused, or another sound state.
  }
}

// However many commands were under way: each state that is written can be read.
TEST(GroupSnapshot, AShardHasSoManyGroupsAndNoMore) {
  Node node;
  for (std::uint32_t name = 0; name < kGroupsPerShardMax; ++name) {
    const std::uint64_t session = 1 + name;
    ASSERT_EQ(node.apply(std::to_string(name), session, encode_join("one", "")).code,
              GroupCode::Joined);
  }
  EXPECT_EQ(node.apply("more", 7, encode_join("one", "")).code, GroupCode::ShardFull);
  EXPECT_EQ(node.apply("more", 7, encode_arrive(2)).code, GroupCode::ShardFull);
  EXPECT_EQ(node.cpu.usage().groups, kGroupsPerShardMax);
  EXPECT_EQ(node.apply("0", 7, encode_join("two", "")).code, GroupCode::Joined);
  std::vector<std::byte> bytes;
  node.cpu.serialize(kShard, bytes);
  GroupCpu cpu{1, 3};
  ASSERT_TRUE(cpu.deserialize(kShard, bytes).ok());
  EXPECT_EQ(cpu.usage().groups, kGroupsPerShardMax);
  EXPECT_EQ(cpu.state_hash(kShard), node.cpu.state_hash(kShard));
}

TEST(GroupSnapshot, TheStateOfAShardIsSplitWhereItsGroupsEnd) {
  std::vector<std::byte> state = some_state();
  const std::size_t groups = state.size();
  state.insert(state.end(), 5, std::byte{7});
  EXPECT_EQ(split_state(state).groups.size(), groups);
  EXPECT_EQ(split_state(state).locks.size(), 5u);
  EXPECT_EQ(split_state(std::span{state}.subspan(groups)).locks.size(), 5u);
}

TEST(GroupSnapshot, ANewClusterCountsOnFromHigherEpochs) {
  const auto kept = raise_snapshot(some_state(), 1000, false);
  ASSERT_TRUE(kept.ok());
  Node node;
  GroupCpu& cpu = node.cpu;
  ASSERT_TRUE(cpu.deserialize(kShard, kept.value()).ok());
  EXPECT_EQ(cpu.view(kShard, hash_name("a")).epoch, 1003u);
  EXPECT_EQ(cpu.view(kShard, hash_name("a")).members.size(), 2u);
  const auto dropped = raise_snapshot(some_state(), 1000, true);
  ASSERT_TRUE(dropped.ok());
  ASSERT_TRUE(cpu.deserialize(kShard, dropped.value()).ok());
  EXPECT_EQ(cpu.usage().groups, 0u);
  node.apply("a", 9, encode_join("one", ""));
  EXPECT_EQ(cpu.view(kShard, hash_name("a")).epoch, 1004u);
}

}  // namespace
}  // namespace gcoord::membership
