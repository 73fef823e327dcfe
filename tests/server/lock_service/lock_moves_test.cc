// Locks that move between shards of three nodes: who sends what, who goes on when one is gone, and
// what clients are told.
#include "server/lock_service/lock_moves.h"

#include "common/bytes.h"
#include "locks/commands/move_command.h"
#include "locks/state/residence.h"
#include "protocol/election_messages.h"
#include "protocol/hello.h"
#include "protocol/move_messages.h"
#include "server/peers/node_features.h"
#include "tests/server/fake_engine.h"
#include "tests/server/lock_service/three_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class LockMovesTest : public testing::Test {
 protected:
  void SetUp() override { world_.lead(other(), NodeId{2}); }

  static ShardId home() { return ThreeNodes::home(); }

  static ShardId other() { return ThreeNodes::other(); }

  protocol::RequestSlot named(protocol::RequestSlot slot, ShardId shard) const {
    slot.shard = shard.value;
    if (shard != home()) {
      slot.set(protocol::RequestFlag::Moved);
    }
    return slot;
  }

  std::uint64_t wait(ShardId shard, std::uint64_t session, std::uint64_t sequence) {
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    acquire.wait_ms = protocol::kForeverMs;
    acquire.ttl_ms = 60'000;
    return world_.leader(shard).send(named(protocol::to_slot(acquire), shard),
                                     std::string_view{kName});
  }

  std::uint64_t release(ShardId shard,
                        std::uint64_t session,
                        std::uint64_t sequence,
                        std::uint64_t token) {
    protocol::LockRelease release;
    release.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    release.token = FencingToken{token};
    return world_.leader(shard).send(named(protocol::to_slot(release), shard),
                                     std::string_view{kName});
  }

  std::uint64_t move(ShardId from, ShardId to) {
    const protocol::RequestSlot slot = world_.leader(from).slot(RequestKind::LockMove);
    return world_.leader(from).send(named(slot, from), protocol::encode_move({to, kName}));
  }

  std::vector<std::uint64_t> queue(ShardId shard) {
    std::vector<std::uint64_t> sessions;
    for (const auto& waiter :
         world_.leader(shard).service->locks().waiters(shard, hash_name(kName), 0, 2000)) {
      sessions.push_back(waiter.session.value);
    }
    return sessions;
  }

  std::uint64_t token_at(ShardId shard) {
    const auto lock = world_.leader(shard).service->locks().get(shard, hash_name(kName));
    return lock.has_value() ? lock->token.value : 0;
  }

  ThreeNodes world_;
};

TEST_F(LockMovesTest, L19AHeldLockWith100WaitersMovesOverThreeNodes) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  std::vector<std::uint64_t> asked;
  std::vector<std::uint64_t> expected;
  for (std::uint64_t session = 2; session <= 101; ++session) {
    asked.push_back(wait(home(), session, 1));
    expected.push_back(session);
  }
  const auto moved = move(home(), other());
  world_.turns(8);
  const KeptReply done = world_.leader(home()).sink.take(moved);
  EXPECT_EQ(done.slot.code, StatusCode::Ok);
  EXPECT_EQ(done.slot.extra, other().value);
  EXPECT_EQ(token_at(other()), held);
  EXPECT_EQ(queue(other()), expected);
  // Each is told once where to go, asks there, and is answered in the order of the queue.
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const KeptReply told = world_.leader(home()).sink.take(asked[i]);
    EXPECT_EQ(told.slot.detail, number(ErrorCode::LockMoved));
    EXPECT_EQ(told.slot.extra, other().value);
    asked[i] = wait(other(), expected[i], 1);
  }
  world_.turn();
  EXPECT_EQ(queue(other()), expected);
  std::uint64_t token = held;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto gone = release(other(), i + 1, 2, token);
    EXPECT_EQ(world_.answered(other(), gone).slot.code, StatusCode::Ok);
    const KeptReply granted = world_.leader(other()).sink.take(asked[i]);
    EXPECT_EQ(granted.slot.code, StatusCode::Ok);
    EXPECT_GT(granted.slot.token, token);
    token = granted.slot.token;
  }
}

TEST_F(LockMovesTest, L19AMoveIsFinishedWhoeverDiesAtWhateverStep) {
  for (int step = 0; step < 9; ++step) {
    for (const bool restarts : {false, true}) {
      ThreeNodes fresh;
      std::swap(world_, fresh);
      world_.lead(other(), NodeId{2});
      const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
      wait(home(), 2, 1);
      wait(home(), 3, 1);
      world_.turn();
      move(home(), other());
      world_.turns(step);
      // Both leaders are gone at once, with what they had sent and proposed. One of them comes back
      // from its state to lead the other shard, or a third node leads both.
      world_.lead(home(), NodeId{3});
      world_.lead(other(), NodeId{3});
      if (restarts) {
        world_.restart(1);
        world_.restart(2);
        world_.lead(other(), NodeId{1});
      }
      world_.turns(60);
      const auto at_home =
          world_.leader(home()).service->locks().residence(home(), hash_name(kName));
      if (!at_home.has_value()) {
        EXPECT_LE(step, 1) << "the move was never decided, so the lock is where it was";
        EXPECT_EQ(token_at(home()), held);
        continue;
      }
      EXPECT_EQ(at_home->residence, locks::Residence::Away);
      EXPECT_FALSE(at_home->departing) << "step " << step;
      EXPECT_EQ(token_at(other()), held);
      EXPECT_EQ(queue(other()), (std::vector<std::uint64_t>{2, 3}));
    }
  }
}

TEST_F(LockMovesTest, L19LostAndRepeatedMessagesChangeNothing) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  move(home(), other());
  for (int i = 0; i < 60; ++i) {
    world_.turn(false);
  }
  EXPECT_FALSE(world_.holds(home()));
  EXPECT_FALSE(world_.holds(other()));
  world_.turns(40);
  EXPECT_EQ(token_at(other()), held);
  const auto gone = world_.answered(other(), release(other(), 1, 1, held));
  EXPECT_EQ(gone.slot.code, StatusCode::Ok);
  world_.turns(40);
  EXPECT_FALSE(world_.holds(other())) << "what came late brought nothing back";
}

TEST_F(LockMovesTest, L19ALockMovesBackAndOnlyThroughItsHome) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  move(home(), other());
  world_.turns(8);
  const ShardId third{(home().value + 2) % 4};
  EXPECT_EQ(world_.answered(other(), move(other(), third)).slot.detail,
            number(ErrorCode::MoveNotHome));
  const auto back = move(other(), home());
  world_.turns(8);
  EXPECT_EQ(world_.leader(other()).sink.take(back).slot.code, StatusCode::Ok);
  EXPECT_EQ(token_at(home()), held);
  const auto stale = world_.answered(other(), wait(other(), 2, 1));
  EXPECT_EQ(stale.slot.detail, number(ErrorCode::LockMoved));
  EXPECT_EQ(stale.slot.extra, home().value);
  const auto again = move(home(), home());
  EXPECT_EQ(world_.leader(home()).sink.take(again).slot.code, StatusCode::Ok);
  EXPECT_EQ(token_at(home()), held);
}

TEST_F(LockMovesTest, L19WhatIsReadOfAMovedLockIsReadWhereItIs) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  move(home(), other());
  world_.turns(8);
  const auto read = [&](ShardId shard, RequestKind kind) {
    protocol::RequestSlot slot = world_.leader(shard).slot(kind);
    slot.token = held;
    const auto id = world_.leader(shard).send(named(slot, shard), std::string_view{kName});
    world_.leader(shard).engine.confirm_reads(*world_.leader(shard).service);
    return world_.leader(shard).sink.take(id).slot;
  };
  EXPECT_EQ(read(home(), RequestKind::LockCheck).extra, other().value);
  EXPECT_EQ(read(home(), RequestKind::LockGet).detail, number(ErrorCode::LockMoved));
  EXPECT_EQ(read(other(), RequestKind::LockCheck).extra,
            static_cast<std::uint64_t>(protocol::CheckVerdict::Valid));
  EXPECT_EQ(read(other(), RequestKind::LockGet).code, StatusCode::Ok);
}

// A node of an older release would take a MoveOut for a command that changes nothing.
TEST_F(LockMovesTest, L19NoMoveBeginsBeforeEveryNodeIsKnownToTakeIt) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  world_.set_old(3, true);
  world_.restart(1);
  world_.lead(home(), NodeId{1});  // It has heard nobody yet, and of node 3 it never does.
  world_.turns(300);
  const auto early = move(home(), other());
  EXPECT_EQ(world_.leader(home()).sink.take(early).slot.detail, number(ErrorCode::MoveNotKnown));
  EXPECT_TRUE(protocol::is_passing(ErrorCode::MoveNotKnown)) << "it is asked for again meanwhile";
  EXPECT_TRUE(world_.leader(home()).engine.proposals.empty());
  world_.set_old(3, false);
  world_.turns(300);
  const auto later = move(home(), other());
  world_.turns(8);
  EXPECT_EQ(world_.leader(home()).sink.take(later).slot.code, StatusCode::Ok);
  EXPECT_EQ(token_at(other()), held);
}

// A resident node of an older release has no such entries, whatever it knows of moves.
TEST_F(LockMovesTest, L19NoMoveBeginsInLogsOfDevicesBeforeEveryNodeTakesItThere) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  auto& leader = world_.leader(home());
  leader.engine.on_device = true;
  const auto device_moves = static_cast<std::uint64_t>(protocol::Feature::DeviceMoves);
  NodeFeatures older{{.node = NodeId{3},
                      .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                      .features = protocol::kFeatures & ~device_moves}};
  FakeEngine elsewhere;
  older.start(elsewhere, Incarnation{9});
  older.on_tick(Tick{1});
  leader.service->on_peer_message(NodeId{3}, elsewhere.features_said.front().second);
  const auto early = move(home(), other());
  EXPECT_EQ(leader.sink.take(early).slot.detail, number(ErrorCode::MoveNotKnown));
  EXPECT_TRUE(leader.engine.proposals.empty());
  EXPECT_EQ(token_at(home()), held);
}

// What has left is decided, so all nodes know of it, whatever a new leader has heard of them.
TEST_F(LockMovesTest, L19AMoveThatHasBegunIsFinishedByALeaderThatHasHeardNobody) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  move(home(), other());
  world_.turn(false);
  world_.set_old(3, true);
  world_.restart(1);
  world_.lead(home(), NodeId{1});
  world_.turns(60);
  EXPECT_EQ(token_at(other()), held);
}

// A client gives up while the lock that it waits for is on its way home: its cancel finds no wait,
// and its place comes afterwards. It used to be granted the lock for nobody, for as long as its
// session lived.
TEST_F(LockMovesTest, L19APlaceOfAWaitThatWasGivenUpOnTheWayHomeHoldsUpNobodyForLong) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  move(home(), other());
  world_.turns(8);
  wait(other(), 2, 1);
  wait(other(), 3, 1);
  world_.turn();
  move(other(), home());
  world_.turn(false);  // It has left, and not arrived.
  protocol::RequestSlot cancel = world_.leader(home()).slot(RequestKind::LockCancel);
  cancel.session = 2;
  cancel.sequence = 1;
  cancel.acked_below = 1;
  world_.answered(home(), world_.leader(home()).send(cancel, std::string_view{kName}));
  world_.turns(40);
  ASSERT_EQ(token_at(home()), held);
  const auto asked = wait(home(), 3, 1);
  world_.answered(home(), release(home(), 1, 2, held));
  EXPECT_EQ(queue(home()), (std::vector<std::uint64_t>{3})) << "session 2 has it, for nobody";
  world_.lead(home(), NodeId{3});  // Whoever leads gives it its time.
  const auto again = wait(home(), 3, 1);
  world_.turns(6'100);
  EXPECT_EQ(world_.leader(home()).sink.take(again).slot.code, StatusCode::Ok);
  EXPECT_TRUE(queue(home()).empty());
  EXPECT_GT(token_at(home()), held + 1);
  static_cast<void>(asked);
}

TEST_F(LockMovesTest, L19WhoeverComesBeforeTheLockIsToldToComeAgain) {
  const ShardId third{(home().value + 2) % 4};
  const auto early = wait(third, 1, 1);
  EXPECT_EQ(world_.leader(third).sink.take(early).slot.detail, number(ErrorCode::LockMoving));
  EXPECT_TRUE(protocol::is_passing(ErrorCode::LockMoving));
}

TEST_F(LockMovesTest, L19ABadRequestChangesNothingAndSaysWhy) {
  LockBench& bench = world_.leader(home());
  const protocol::RequestSlot slot = bench.slot(RequestKind::LockMove);
  const auto refused = [&](std::span<const std::byte> payload) {
    return bench.sink.take(bench.send(slot, payload)).slot.detail;
  };
  EXPECT_EQ(refused({}), number(ErrorCode::PayloadMalformed));
  EXPECT_EQ(refused(protocol::encode_move({ShardId{4}, kName})),
            number(ErrorCode::ShardOutOfRange));
  EXPECT_EQ(refused(protocol::encode_move({other(), ""})), number(ErrorCode::NameEmpty));
  EXPECT_EQ(refused(protocol::encode_move({other(), std::string(1025, 'a')})),
            number(ErrorCode::NameTooLong));
  EXPECT_EQ(refused(protocol::encode_move({other(), "a\xff"})), number(ErrorCode::NameNotUtf8));
  EXPECT_TRUE(bench.engine.proposals.empty());
}

TEST_F(LockMovesTest, L19ADeviceTurnRefuses) {
  world_.leader(home()).engine.holds = false;
  const auto id = move(home(), other());
  EXPECT_EQ(world_.leader(home()).sink.take(id).slot.detail, number(ErrorCode::MoveUnsupported));
}

// A role is announced before what an earlier term left in the log is applied.
TEST_F(LockMovesTest, L19ALeaderSendsWhatLeavesAfterItWasToldOfItsRole) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  world_.lead(home(), NodeId{3});
  world_.apply_to_all(home(), locks::make_move_out(kName, other()));
  EXPECT_FALSE(world_.holds(home()));
  world_.turns(20);
  EXPECT_EQ(token_at(other()), held);
  EXPECT_FALSE(
      world_.leader(home()).service->locks().residence(home(), hash_name(kName))->departing);
}

TEST_F(LockMovesTest, L19MoreWaitersThanAnEntryHasRoomForStayWithTheirLock) {
  const auto held = world_.answered(home(), wait(home(), 1, 1)).slot.token;
  for (std::uint64_t session = 2; session <= 201; ++session) {
    wait(home(), session, 1);
  }
  world_.turn();
  EXPECT_EQ(world_.answered(home(), move(home(), other())).slot.detail,
            number(ErrorCode::MoveCrowded));
  EXPECT_EQ(token_at(home()), held);
  EXPECT_EQ(queue(home()).size(), 200u);
}

TEST_F(LockMovesTest, L19ANameThatNobodyHoldsLeavesNoRecord) {
  const auto refused = world_.answered(home(), move(home(), other()));
  EXPECT_EQ(refused.slot.detail, number(ErrorCode::LockNotHeld));
  EXPECT_EQ(world_.leader(home()).service->locks().usage().locks, 0u);
}

TEST_F(LockMovesTest, L19WhatIsSaidOfALockBeforeItComesIsSaidAgain) {
  const ShardId third{(home().value + 2) % 4};
  LockBench& bench = world_.leader(third);
  protocol::RequestSlot cancel = bench.slot(RequestKind::LockCancel);
  cancel.session = 1;
  cancel.sequence = 1;
  cancel.acked_below = 1;
  const auto given_up = bench.send(named(cancel, third), std::string_view{kName});
  EXPECT_EQ(bench.sink.take(given_up).slot.detail, number(ErrorCode::LockMoving));
  const auto asked = bench.send(named(bench.slot(RequestKind::ElectAsk), third),
                                protocol::encode_nomination({SessionId{2}, kName}));
  EXPECT_EQ(bench.sink.take(asked).slot.detail, number(ErrorCode::LockMoving));
  EXPECT_TRUE(bench.engine.proposals.empty());
}

TEST_F(LockMovesTest, L19WhatHasComeOrCannotComeTakesNoEntryMore) {
  world_.answered(home(), wait(home(), 1, 1));
  move(home(), other());
  world_.turns(8);
  LockBench& bench = world_.leader(other());
  const auto again = [&](const char* name, std::uint32_t move_number) {
    std::vector<std::byte> message{kMoveInKind};
    ByteWriter{message}.integer(other().value);
    const std::string_view text{name};
    locks::encode(locks::make_move_in({.from = home(),
                                       .number = move_number,
                                       .name_bytes = static_cast<std::uint16_t>(text.size()),
                                       .text = text}),
                  message);
    bench.engine.messages.clear();
    bench.service->on_peer_message(NodeId{1}, message);
    bench.pass_ms(10);
    bench.pass_ms(10);
    EXPECT_TRUE(bench.engine.proposals.empty());
    return std::ranges::any_of(bench.engine.messages, [](const auto& sent) {
      return !sent.second.empty() && sent.second.front() == kMovedInKind;
    });
  };
  EXPECT_TRUE(again(kName, 1)) << "its sender is told that it has come";
  EXPECT_FALSE(again(kName, 2)) << "it is here";
  bench.engine.holds = false;
  EXPECT_FALSE(again(kName, 3)) << "such a turn takes none";
}

TEST_F(LockMovesTest, L19WhatIsNoMessageOfAMoveIsDroppedAndCounted) {
  LockBench& bench = world_.node(2);
  const Counter& dropped =
      bench.metrics.counter({"gcoord_server_lock_move_messages_dropped_total", "", "", ""});
  const std::uint64_t before = dropped.value();
  for (const std::byte kind : {kMoveInKind, kMovedInKind}) {
    for (std::size_t bytes : {0u, 3u, 11u, 200u}) {
      std::vector<std::byte> message(bytes + 1, std::byte{0xff});
      message[0] = kind;
      bench.service->on_peer_message(NodeId{1}, message);
    }
  }
  world_.turns(2);
  EXPECT_EQ(dropped.value(), before + 8);
  EXPECT_TRUE(bench.engine.proposals.empty());
}

}  // namespace
}  // namespace gcoord::server
