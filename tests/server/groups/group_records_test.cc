// What is kept of groups outside a node's tables: entries in words, and states of snapshots.
#include "locks/commands/group_command.h"
#include "membership/groups/command.h"
#include "membership/groups/snapshot.h"
#include "protocol/groups/messages.h"
#include "server/history/record_text.h"
#include "server/interfaces/log_record.h"
#include "server/lock_service/lock_service.h"
#include "server/restore/states.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

std::string fact(const RecordFacts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts, name, [](const auto& each) { return each.first; });
  return found == facts.end() ? "" : found->second;
}

RecordFacts facts_of(const std::string& body) {
  const std::string text = "workers" + body;
  std::vector<std::byte> record;
  put_record_header(record, {RecordKind::LockCommand});
  locks::encode(locks::make_group_request({.session = SessionId{5},
                                           .sequence = RequestSequence{1},
                                           .ttl_ms = 1000,
                                           .name_bytes = 7,
                                           .text = text}),
                record);
  return record_facts(record);
}

TEST(GroupRecords, TheLedgerTellsJoinsLeavesAndArrivalsInWords) {
  const RecordFacts join = facts_of(membership::encode_join("a", "here"));
  EXPECT_EQ(fact(join, "kind"), "group");
  EXPECT_EQ(fact(join, "op"), "join");
  EXPECT_EQ(fact(join, "name"), "workers");
  EXPECT_EQ(fact(join, "member"), "a");
  EXPECT_EQ(fact(join, "session"), "5");
  EXPECT_EQ(fact(join, "payload_bytes"), "4");
  EXPECT_EQ(fact(facts_of(membership::encode_leave()), "op"), "leave");
  EXPECT_EQ(fact(facts_of(membership::encode_arrive(3)), "size"), "3");
  EXPECT_EQ(fact(facts_of("\x7f"), "op"), "unknown");
}

// The state of a shard in which one session is a member and another one holds a lock.
std::vector<std::byte> some_state() {
  LockBench bench;
  bench.lead_all();
  protocol::RequestSlot slot = bench.slot(protocol::RequestKind::GroupJoin);
  slot.session = 5;
  slot.sequence = 1;
  slot.acked_below = 1;
  slot.ttl_ms = 1000;
  const ShardId shard = LockBench::shard_of_name("workers");
  slot.shard = shard.value;
  bench.decided(bench.send(slot, protocol::encode_group_join({"workers", "a", ""})));
  bench.decided(bench.acquire(6, 1, "workers"));
  std::vector<std::byte> bytes;
  bench.service->serialize(shard, bytes);
  return bytes;
}

TEST(GroupRecords, ASnapshotsStateIsCountedWithItsGroups) {
  const auto summary = summarize_state(some_state());
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().groups, 1u);
  EXPECT_EQ(summary.value().locks, 1u);
  EXPECT_EQ(summary.value().sessions, 2u);
}

TEST(GroupRecords, ARestoreLiftsEpochsWithTokensAndDropsMembersWithSessions) {
  const auto state = some_state();
  const auto kept = restored_state(state, {.token_bump = 1000});
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  const auto groups = membership::parse_snapshot(membership::split_state(kept.value()).groups);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups.value().groups.size(), 1u);
  EXPECT_EQ(groups.value().groups[0].epoch, 1002u);
  EXPECT_EQ(summarize_state(kept.value()).value().token_last, 1001u);
  const auto dropped = restored_state(state, {.token_bump = 1000, .drop_sessions = true});
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(summarize_state(dropped.value()).value().groups, 0u);
  EXPECT_EQ(summarize_state(dropped.value()).value().sessions, 0u);
  LockBench other;
  EXPECT_TRUE(other.service->plausible(ShardId{0}, dropped.value()));
}

}  // namespace
}  // namespace gcoord::server
