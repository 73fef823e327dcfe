// Ends of sessions in lists: an entry of the log for many of a shard, where all nodes take them.
#include "tests/server/sessions/expiry_world.h"

namespace gcoord::server {
namespace {

class ListedEndsTest : public ThreeNodesTest {
 protected:
  ListedEndsTest() { older_.clear(); }
};

TEST_F(ListedEndsTest, S9AnEntryEndsManyOfAShard) {
  constexpr std::uint64_t kSessions = 600;
  take_sessions(kSessions);
  await_proposals();
  EXPECT_EQ(ends_proposed(), kSessions);
  EXPECT_LE(leader_.engine.proposals.size(), kSessions / locks::kEndsMax + 4);
  decide();
  EXPECT_EQ(leader_.service->locks().usage().sessions, 0u);
  EXPECT_EQ(leader_.service->pending_count(), 0u);
  expect_equal_states();
  for (int ticks = 0; ticks < 100; ++ticks) {
    pass_ms(10);
    ASSERT_TRUE(leader_.engine.proposals.empty()) << "each of them ends once";
  }
}

TEST_F(ListedEndsTest, ANodeOfAnOlderReleaseIsSentNoList) {
  older_ = {3};
  take_sessions(20);
  await_proposals();
  for (const locks::LockCommand& command : proposed()) {
    EXPECT_EQ(command.kind, locks::LockCommandKind::ExpireSession);
  }
  EXPECT_EQ(decide(), 20u);
  // It comes back with this release.
  older_.clear();
  for (int ticks = 0; ticks < 110; ++ticks) {
    pass_ms(10);
  }
  take_sessions(20);
  await_proposals();
  EXPECT_LE(leader_.engine.proposals.size(), 4u);
  EXPECT_EQ(ends_proposed(), 20u);
}

TEST_F(ListedEndsTest, ALogWithoutListsIsSentNone) {
  leader_.engine.holds = false;
  take_sessions(20);
  await_proposals();
  EXPECT_EQ(leader_.engine.proposals.size(), 20u);
}

TEST_F(ListedEndsTest, ATurnOnADeviceIsSentListsThatItsLogHasRoomFor) {
  leader_.engine.holds = false;
  leader_.engine.on_device = true;
  leader_.engine.ends_max = locks::kEntryEndsMax;
  constexpr std::uint64_t kSessions = 600;
  take_sessions(kSessions);
  await_proposals();
  EXPECT_EQ(ends_proposed(), kSessions);
  EXPECT_LE(leader_.engine.proposals.size(), kSessions / locks::kEntryEndsMax + 4);
  for (const locks::LockCommand& command : proposed()) {
    EXPECT_TRUE(locks::is_text_command(command));
  }
}

TEST_F(ListedEndsTest, AKeepAliveBetweenTheQuestionAndTheEntrySavesItsSession) {
  take_sessions(40);
  for (int ticks = 0; leader_.engine.messages.empty() && ticks < 200; ++ticks) {
    leader_.pass_ms(10);
    second_.pass_ms(10);
    third_.pass_ms(10);
  }
  ASSERT_FALSE(leader_.engine.messages.empty()) << "the question";
  for (const std::uint64_t session : {std::uint64_t{7}, std::uint64_t{11}}) {
    keep_alive(leader_, session);
  }
  deliver();
  pass_ms(10);
  EXPECT_EQ(ends_proposed(), 38u);
  decide();
  const locks::LockCpu& locks = leader_.service->locks();
  EXPECT_EQ(locks.usage().sessions, 2u);
  EXPECT_TRUE(locks.get(LockBench::shard_of_name("job/7"), hash_name("job/7")).has_value());
  EXPECT_TRUE(locks.get(LockBench::shard_of_name("job/11"), hash_name("job/11")).has_value());
}

// The list may be decided all the same, or not; and whoever leads next may propose it once more.
TEST_F(ListedEndsTest, AListUnderWayWhenTheLeaderLosesItsPlaceEndsNobodyTwice) {
  take_sessions(40);
  await_proposals();
  const auto lost = leader_.engine.proposals;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    leader_.engine.follow(*leader_.service, ShardId{shard}, NodeId{2});
  }
  leader_.engine.refuse(
      *leader_.service, Status{StatusCode::Unknown, "leadership lost"}, NodeId{2});
  EXPECT_EQ(leader_.service->pending_count(), 0u);
  for (int times = 0; times < 2; ++times) {
    for (LockBench* bench : all_) {
      for (const auto& proposal : lost) {
        bench->engine.proposals.push_back({proposal.shard, proposal.command, 0});
      }
      bench->decide();
    }
    expect_equal_states();
    EXPECT_EQ(leader_.service->locks().usage().sessions, 0u);
  }
}

TEST_F(ListedEndsTest, AListThatNeverGotIntoTheLogLeavesItsSessionsToTheirKeepAlives) {
  take_sessions(40);
  await_proposals();
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    leader_.engine.follow(*leader_.service, ShardId{shard}, NodeId{2});
  }
  leader_.engine.refuse(
      *leader_.service, Status{StatusCode::Unknown, "leadership lost"}, NodeId{2});
  leader_.lead_all();
  for (int rounds = 0; rounds < 30; ++rounds) {
    for (std::uint64_t session = 1; session <= 40; ++session) {
      keep_alive(leader_, session);
    }
    pass_ms(50);
    ASSERT_TRUE(leader_.engine.proposals.empty());
  }
  EXPECT_EQ(leader_.service->locks().usage().sessions, 40u);
}

// Without a lease nothing can be done with what is due, and the loop must not try for ever.
TEST_F(ListedEndsTest, WithoutALeaseWhatIsDueIsLookedAtOnceATick) {
  take_sessions(50);
  leader_.engine.lease = false;
  for (int ticks = 0; ticks < 100; ++ticks) {
    pass_ms(10);
  }
  EXPECT_TRUE(leader_.engine.proposals.empty());
  EXPECT_GT(leader_.service->until_next_deadline_ms(), 0u);
  leader_.engine.lease = true;
  await_proposals();
  EXPECT_EQ(ends_proposed(), 50u);
}

TEST_F(ListedEndsTest, ASessionWithManyLocksGoesAloneAndStepByStep) {
  // All of one shard.
  const ShardId shard = LockBench::shard_of_name("job/1");
  std::uint64_t taken = 0;
  for (std::uint64_t number = 1; taken < kListedWeightMax; ++number) {
    const std::string name = "job/" + std::to_string(number);
    if (LockBench::shard_of_name(name) == shard) {
      ++taken;
      leader_.acquire(5, taken, name, 0, 500);
      decide();
    }
  }
  leader_.acquire(6, 1, "job/1", protocol::kForeverMs, 500);
  decide();
  await_proposals();
  const auto first = proposed();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].session, SessionId{5});
  std::size_t steps = 0;
  for (int ticks = 0; ticks < 50; ++ticks) {
    steps += decide();
    pass_ms(10);
  }
  EXPECT_GE(steps, kListedWeightMax / locks::kReleasesPerCommandMax + 1);
  EXPECT_EQ(leader_.service->locks().usage().sessions, 0u);
  expect_equal_states();
}

TEST_F(ListedEndsTest, AnswersThatAreNotOfTheQuestionAreDroppedAndCounted) {
  take_sessions(3);
  while (leader_.engine.messages.empty()) {
    leader_.pass_ms(10);
  }
  const auto question = *decode_expiry(leader_.engine.messages.front().second);
  const auto answer = [&](std::uint64_t round, std::vector<ExpiryCase> cases) {
    for (ExpiryCase& each : cases) {
      each.silent_ms = 10'000;
    }
    leader_.service->on_peer_message(
        NodeId{2},
        encode_expiry({.kind = ExpiryMessageKind::Answer, .round = round, .cases = cases}));
    return leader_.engine.proposals.size();
  };
  const auto dropped = [&] {
    return leader_.metrics.counter({"gcoord_server_peer_messages_bad_total", "", "", ""}).value();
  };
  std::vector<ExpiryCase> other = question.cases;
  std::swap(other[0], other[1]);
  EXPECT_EQ(answer(question.round, other), 0u);
  other.resize(2);
  EXPECT_EQ(answer(question.round, other), 0u);
  EXPECT_EQ(dropped(), 2u);
  EXPECT_EQ(answer(question.round + 1, question.cases), 0u) << "a round that never was";
  EXPECT_EQ(dropped(), 2u) << "late answers are no mistake";
  EXPECT_GT(answer(question.round, question.cases), 0u);
}

}  // namespace
}  // namespace gcoord::server
