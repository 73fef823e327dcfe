// Registrations and the exactly-once window, for a machine that knows no locks.
#include "sessions/request_window.h"

#include "tests/sessions/small_machine.h"

#include <gtest/gtest.h>

namespace gcoord::sessions {
namespace {

constexpr ShardId kShard{1};

class RequestWindowTest : public testing::Test {
 protected:
  RequestAdmission ask(std::uint64_t sequence, std::uint64_t acked_below = 1) {
    return admit_request(machine_.tables,
                         session_,
                         {.sequence = RequestSequence{sequence},
                          .acked_below = RequestSequence{acked_below},
                          .argument_hash = 7});
  }

  RequestRow answer(std::uint64_t sequence, std::uint64_t acked_below = 1) {
    const RequestRow row = ask(sequence, acked_below).row;
    machine_.tables.requests[row].answer = 5;
    return row;
  }

  const SessionRecord& record() const { return machine_.tables.sessions[session_]; }

  SmallMachine machine_;
  SessionRow session_ = machine_.add(kShard, 3);
};

TEST_F(RequestWindowTest, RetryFindsTheStoredRequestAndTakesNoOther) {
  const RequestRow first = answer(1);
  const RequestAdmission retry = ask(1);
  EXPECT_TRUE(retry.retried);
  EXPECT_EQ(retry.row, first);
  EXPECT_EQ(record().request_count, 1u);
}

TEST_F(RequestWindowTest, SameSequenceWithOtherArgumentsIsRefused) {
  answer(1);
  const RequestAdmission other =
      admit_request(machine_.tables,
                    session_,
                    {.sequence = RequestSequence{1}, .acked_below = RequestSequence{1}});
  EXPECT_EQ(other.refusal, WindowRefusal::SequenceReused);
  EXPECT_EQ(other.row, RequestRow{});
}

TEST_F(RequestWindowTest, AcknowledgedRepliesAreLetGoAndTheirSequencesAreStale) {
  answer(1);
  answer(2);
  ask(3, 3);
  EXPECT_EQ(record().request_count, 1u);
  EXPECT_EQ(ask(2, 3).refusal, WindowRefusal::SequenceStale);
}

TEST_F(RequestWindowTest, WaitsAreNotLetGoByAnAcknowledgement) {
  const RequestRow waiting = ask(1).row;
  answer(2, 2);
  EXPECT_EQ(find_request(machine_.tables, record(), RequestSequence{1}), waiting);
}

TEST_F(RequestWindowTest, FullWindowForgetsTheOldestReplyAndNeverRunsItAgain) {
  for (std::uint64_t sequence = 1; sequence <= kSessionRequestsMax; ++sequence) {
    answer(sequence);
  }
  answer(kSessionRequestsMax + 1);
  EXPECT_EQ(record().request_count, kSessionRequestsMax);
  EXPECT_EQ(ask(1).refusal, WindowRefusal::SequenceForgotten);
}

TEST_F(RequestWindowTest, WindowFullOfWaitsRefuses) {
  for (std::uint64_t sequence = 1; sequence <= kSessionRequestsMax; ++sequence) {
    ask(sequence);
  }
  EXPECT_EQ(ask(kSessionRequestsMax + 1).refusal, WindowRefusal::WindowFull);
}

TEST_F(RequestWindowTest, SequenceFarAheadIsRefused) {
  EXPECT_EQ(ask(kSequenceAheadMax + 2).refusal, WindowRefusal::SequenceAhead);
}

TEST_F(RequestWindowTest, RegistrationIsFoundInItsShardAlone) {
  EXPECT_EQ(find_session(machine_.tables, kShard, SessionId{3}), session_);
  EXPECT_EQ(find_session(machine_.tables, ShardId{0}, SessionId{3}), SessionRow{});
}

TEST_F(RequestWindowTest, SerialsRiseWithEveryRegistration) {
  const std::uint32_t first = record().serial;
  EXPECT_EQ(settle_end(machine_.tables, session_), RegistrationChange::Removed);
  EXPECT_EQ(find_session(machine_.tables, kShard, SessionId{3}), SessionRow{});
  session_ = machine_.add(kShard, 3);
  EXPECT_EQ(record().serial, first + 1);
}

TEST_F(RequestWindowTest, RegistrationStaysWhileSomethingIsHeld) {
  SessionRecord& held = machine_.tables.sessions[session_];
  held.hold_first = HeldRow{4};
  held.hold_count = 1;
  EXPECT_EQ(settle_end(machine_.tables, session_), RegistrationChange::Dying);
  held.hold_first = HeldRow{};
  EXPECT_EQ(settle_end(machine_.tables, session_), RegistrationChange::Delaying);
  held.hold_count = 0;
  EXPECT_EQ(settle_end(machine_.tables, session_), RegistrationChange::Removed);
}

TEST_F(RequestWindowTest, ShardListsItsSessionsNewestFirst) {
  const SessionRow second = machine_.add(kShard, 4);
  const SessionRow third = machine_.add(kShard, 5);
  remove_session(machine_.tables, second);
  EXPECT_EQ(machine_.tables.shard(kShard).session_first, third);
  EXPECT_EQ(machine_.tables.sessions[third].shard_next, session_);
  EXPECT_EQ(machine_.tables.shard(kShard).session_count, 2u);
}

}  // namespace
}  // namespace gcoord::sessions
