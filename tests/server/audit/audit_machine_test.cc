// Notes of sessions as part of their shards' state.
#include "locks/commands/ends.h"
#include "tests/server/audit/audit_fixture.h"

namespace gcoord::server {
namespace {

std::vector<std::byte> record(std::uint64_t session) {
  return note_record(bobs_note(session), protocol::RecordOrigin::Remote, 1'000'000);
}

class AuditMachineTest : public AuditFixture {};

TEST_F(AuditMachineTest, KnowsWhoIsBehindASessionUntilItsEnd) {
  apply(record(5), cookie_of(CookieOwner::Notes, 1));
  apply(record(6));
  ASSERT_NE(known(5), nullptr);
  EXPECT_EQ(known(5)->since_ms, 1'000'000u);
  EXPECT_EQ(known(5)->origin.principal.name, "bob");
  // Whose proposals these were is nothing to the machines behind.
  EXPECT_TRUE(plain_.decided.empty());
  apply(locks::make_close_session(SessionId{5}, RequestSequence{1}));
  EXPECT_EQ(known(5), nullptr);
  apply(locks::make_expire_session(SessionId{6}, 1));
  EXPECT_EQ(known(6), nullptr);
}

TEST_F(AuditMachineTest, PassesOnWhatIsNotItsOwn) {
  const std::vector<std::byte> message{std::byte{3}};
  machine_.on_peer_message(NodeId{2}, message);
  const std::vector<std::byte> notes{kSessionNotesKind};
  machine_.on_peer_message(NodeId{2}, notes);
  EXPECT_EQ(plain_.peer_messages.size(), 1u);
  machine_.on_proposal_failed(cookie_of(CookieOwner::Notes, 3), Status{}, NodeId{});
  EXPECT_TRUE(plain_.failed.empty());
  machine_.on_proposal_failed(17, Status{}, NodeId{});
  EXPECT_EQ(plain_.failed.count(17), 1u);
  for (const std::uint64_t other : {0x8000'0000u, 0xc000'0001u, 0xffff'ffffu, 5u}) {
    EXPECT_FALSE(is_cookie_of(CookieOwner::Notes, other)) << other;
  }
}

TEST_F(AuditMachineTest, LeavesNoTraceInTheStateWithoutNotes) {
  apply(locks::make_close_session(SessionId{5}, RequestSequence{1}));
  std::vector<std::byte> bytes;
  machine_.serialize(kShard, bytes);
  EXPECT_EQ(bytes, bytes_of(plain_));
  EXPECT_EQ(machine_.state_hash(kShard), plain_.state_hash(kShard));
}

TEST_F(AuditMachineTest, ComesBackFromItsCheckpoint) {
  apply(record(5));
  std::vector<std::byte> bytes;
  machine_.checkpoint(kShard, bytes);
  ToyService behind;
  AuditMachine other(behind, {.shard_count = 2, .keeps = true});
  ASSERT_TRUE(other.plausible(kShard, bytes));
  ASSERT_TRUE(other.install(kShard, bytes).ok());
  EXPECT_EQ(bytes_of(behind), bytes_of(plain_));
  EXPECT_NE(other.notes().find(kShard, SessionId{5}), nullptr);
  EXPECT_EQ(other.state_hash(kShard), machine_.state_hash(kShard));
  EXPECT_NE(other.state_hash(kShard), behind.state_hash(kShard));
  // What an earlier release wrote, and what is damaged.
  ASSERT_TRUE(other.install(kShard, bytes_of(plain_)).ok());
  EXPECT_TRUE(other.notes().is_empty(kShard));
  bytes[bytes.size() - 12] ^= std::byte{0xff};
  bytes[bytes.size() - 8] = std::byte{0xff};
  EXPECT_FALSE(other.plausible(kShard, bytes));
  EXPECT_FALSE(other.install(kShard, bytes).ok());
}

TEST_F(AuditMachineTest, KeepsNothingOnAWitness) {
  AuditMachine witness(plain_, {.shard_count = 2, .keeps = false});
  const std::vector<std::byte> note = record(5);
  AppliedEntry entry;
  entry.shard = kShard;
  entry.payload = note;
  witness.apply(entry);
  EXPECT_TRUE(witness.notes().is_empty(kShard));
}

}  // namespace
}  // namespace gcoord::server
