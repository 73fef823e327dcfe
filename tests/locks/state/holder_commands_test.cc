// What a holder does to its office while it holds it: proclaiming, and handing over.
#include "locks/state/holder_commands.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

class LockOffice : public testing::Test {
 protected:
  HeldLock held(const std::string& name = "chief") const {
    const auto lock = shard_.locks.get(shard_.shard, hash_name(name));
    EXPECT_TRUE(lock.has_value());
    return lock.value_or(HeldLock{});
  }

  static ReleaseFields office(std::uint64_t session, std::uint64_t sequence, FencingToken token) {
    return {.session = SessionId{session},
            .sequence = RequestSequence{sequence},
            .name_hash = hash_name("chief"),
            .token = token};
  }

  LockReply proclaim(std::uint64_t session,
                     std::uint64_t sequence,
                     FencingToken token,
                     const std::string& note) {
    return shard_.apply(make_proclaim(office(session, sequence, token), note));
  }

  LockReply transfer(std::uint64_t session,
                     std::uint64_t sequence,
                     FencingToken token,
                     std::uint64_t target) {
    return shard_.apply(make_transfer(office(session, sequence, token), SessionId{target}));
  }

  LockHarness shard_;
};

TEST_F(LockOffice, E2TheValueChangesWithoutANewTerm) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  for (const std::string& note : {std::string{"a:1"}, std::string(512, 'b'), std::string{}}) {
    const LockReply said = proclaim(1, 2 + note.size(), leads.token, note);
    EXPECT_EQ(said.code, LockCode::Proclaimed);
    EXPECT_EQ(said.token, leads.token);
    EXPECT_EQ(held().note, note);
    EXPECT_EQ(held().token, leads.token);
  }
  shard_.release(1, 600, "chief", leads.token);
  EXPECT_EQ(shard_.locks.usage().name_blocks, 0u);
}

TEST_F(LockOffice, E2ADeposedLeadersValueChangesNothing) {
  const LockReply first = shard_.acquire(1, 1, "chief");
  shard_.wait(2, 1, "chief");
  shard_.release(1, 2, "chief", first.token);
  const FencingToken second = shard_.events.at(0).token;
  EXPECT_EQ(proclaim(2, 2, second, "mine").code, LockCode::Proclaimed);
  EXPECT_EQ(proclaim(1, 3, first.token, "late").code, LockCode::NotHolder);
  EXPECT_EQ(proclaim(2, 3, first.token, "old").code, LockCode::StaleToken);
  EXPECT_EQ(held().note, "mine");
  shard_.release(2, 4, "chief", second);
  EXPECT_EQ(proclaim(2, 5, second, "gone").code, LockCode::NotHeld);
}

TEST_F(LockOffice, E2AValueIsSaidOnce) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  proclaim(1, 2, leads.token, "a");
  proclaim(1, 3, leads.token, "b");
  const LockReply retry = proclaim(1, 2, leads.token, "a");
  EXPECT_EQ(retry.code, LockCode::Proclaimed);
  EXPECT_TRUE(retry.replayed);
  EXPECT_EQ(held().note, "b") << "a retry that comes late says nothing again";
  EXPECT_EQ(proclaim(1, 2, leads.token, "c").code, LockCode::SequenceReused);
}

TEST_F(LockOffice, E6TheWaiterLeadsByANewTokenAndTheOthersKeepTheirPlaces) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  for (std::uint64_t session = 2; session <= 4; ++session) {
    shard_.hold(session, 1, "chief", {}, "c" + std::to_string(session));
  }
  const LockReply given = transfer(1, 2, leads.token, 3);
  EXPECT_EQ(given.code, LockCode::Transferred);
  EXPECT_GT(given.token, leads.token);
  EXPECT_EQ(given.holder, SessionId{3});
  ASSERT_EQ(shard_.events.size(), 1u);
  EXPECT_EQ(shard_.events[0].session, SessionId{3});
  EXPECT_EQ(shard_.events[0].token, given.token);
  EXPECT_EQ(held().holder, SessionId{3});
  EXPECT_EQ(held().note, "c3");
  EXPECT_EQ(shard_.check("chief", leads.token), TokenVerdict::Stale);
  shard_.release(3, 2, "chief", given.token);
  EXPECT_EQ(shard_.events.at(0).session, SessionId{2});
}

TEST_F(LockOffice, E6ATransferThatIsRefusedChangesNothing) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  shard_.wait(2, 1, "chief");
  shard_.acquire(3, 1, "other");
  EXPECT_EQ(transfer(1, 2, leads.token, 3).code, LockCode::TargetAbsent);
  EXPECT_EQ(transfer(1, 3, leads.token, 9).code, LockCode::TargetAbsent);
  EXPECT_EQ(transfer(1, 4, leads.token, 1).code, LockCode::TargetAbsent);
  EXPECT_EQ(transfer(2, 2, leads.token, 2).code, LockCode::NotHolder);
  EXPECT_EQ(transfer(1, 5, FencingToken{leads.token.value + 7}, 2).code, LockCode::StaleToken);
  shard_.hold(4, 1, "chief", {.flags = kHoldShared, .permits = 1});
  EXPECT_EQ(transfer(1, 6, leads.token, 4).code, LockCode::TargetAbsent) << "who wants to share";
  EXPECT_EQ(held().holder, SessionId{1});
  EXPECT_EQ(held().token, leads.token);
  EXPECT_EQ(held().waiter_count, 2u);
}

TEST_F(LockOffice, E6ARetryOfATransferIsToldOfItAndDoesNotTakeFromTheNext) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  shard_.wait(2, 1, "chief");
  shard_.wait(3, 1, "chief");
  const LockReply given = transfer(1, 2, leads.token, 3);
  transfer(3, 2, given.token, 2);
  const LockReply retry = transfer(1, 2, leads.token, 3);
  EXPECT_EQ(retry.code, LockCode::Transferred);
  EXPECT_EQ(retry.token, given.token);
  EXPECT_TRUE(retry.replayed);
  EXPECT_EQ(held().holder, SessionId{2});
  EXPECT_EQ(transfer(1, 2, leads.token, 2).code, LockCode::SequenceReused);
}

// What a failed session keeps for its delay stood where its requests did, and was read as one.
TEST_F(LockOffice, E6WhoFailedAndKeepsALockForItsDelayIsNoCandidate) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  shard_.wait(2, 1, "chief");
  shard_.hold(3, 1, "kept", {.delay_ms = 1000});
  shard_.expire(3);
  EXPECT_EQ(transfer(1, 2, leads.token, 3).code, LockCode::TargetAbsent);
  EXPECT_EQ(held().holder, SessionId{1});
}

// The delay is what the new holder asked for, not what the old one did.
TEST_F(LockOffice, E6TheDelayIsThatOfWhoLeadsNow) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  shard_.hold(2, 1, "chief", {.delay_ms = 1000});
  EXPECT_EQ(transfer(1, 2, leads.token, 2).code, LockCode::Transferred);
  shard_.expire(2);
  EXPECT_EQ(shard_.acquire(3, 1, "chief").code, LockCode::LockDelayed);
}

TEST_F(LockOffice, E6SharersHaveNoOffice) {
  const LockReply reads = shard_.hold(1, 1, "chief", {.flags = kHoldShared, .permits = 1});
  EXPECT_EQ(transfer(1, 2, reads.token, 2).code, LockCode::HoldConflict);
  EXPECT_EQ(proclaim(1, 3, reads.token, "x").code, LockCode::HoldConflict);
  EXPECT_EQ(proclaim(2, 1, reads.token, "x").code, LockCode::SessionUnknown);
}

TEST_F(LockOffice, E9ARankStandsWithTheWaitAndInSnapshots) {
  shard_.acquire(1, 1, "chief");
  shard_.hold(2, 1, "chief", {.flags = kHoldRanked, .permits = 7}, "gpu7");
  const auto bytes = shard_.locks.serialize(shard_.shard);
  ASSERT_TRUE(shard_.locks.deserialize(shard_.shard, bytes, shard_.now).ok());
  const auto line = shard_.locks.waiters(shard_.shard, hash_name("chief"), 0, 9);
  ASSERT_EQ(line.size(), 1u);
  EXPECT_EQ(line[0].ask.permits, 7u);
  EXPECT_EQ(line[0].note, "gpu7");
  EXPECT_EQ(shard_.locks.serialize(shard_.shard), bytes);
}

TEST_F(LockOffice, WhatAHolderSaidIsInSnapshotsWithItsReplies) {
  const LockReply leads = shard_.acquire(1, 1, "chief");
  proclaim(1, 2, leads.token, "a:1");
  shard_.wait(2, 1, "chief");
  transfer(1, 3, leads.token, 9);
  transfer(1, 4, leads.token, 2);
  const auto bytes = shard_.locks.serialize(shard_.shard);
  ASSERT_TRUE(shard_.locks.deserialize(shard_.shard, bytes, shard_.now).ok());
  EXPECT_EQ(shard_.locks.serialize(shard_.shard), bytes);
  EXPECT_EQ(transfer(1, 4, leads.token, 2).code, LockCode::Transferred);
  EXPECT_EQ(proclaim(1, 2, leads.token, "a:1").code, LockCode::Proclaimed);
}

}  // namespace
}  // namespace gcoord::locks
