// What a command tells those who watch.
#include "server/watch/changes.h"

#include "common/name_hash.h"
#include "locks/commands/ends.h"
#include "locks/commands/move_command.h"
#include "server/interfaces/apply_observer.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using locks::LockCommand;
using protocol::WatchEventKind;

class WatchChangesTest : public testing::Test {
 protected:
  std::vector<WatchChange> apply(const LockCommand& command) {
    locks::LockEvents ended{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
    changes_.before(locks_, ShardId{0}, command);
    ++index_;
    const auto reply = locks_.apply(ShardId{0}, LogIndex{index_}, command, Tick{1}, ended);
    token_ = reply.token;
    return changes_.after(locks_, ShardId{0}, command, reply, {ended_.data(), ended.count});
  }

  static LockCommand acquire(std::uint64_t session,
                             std::uint64_t sequence,
                             std::string_view name,
                             bool wait = true) {
    return locks::make_acquire({.session = SessionId{session},
                                .sequence = RequestSequence{sequence},
                                .name = name,
                                .wait = wait,
                                .ttl_ms = 1000});
  }

  static LockCommand release(std::uint64_t session,
                             std::uint64_t sequence,
                             std::string_view name,
                             FencingToken token) {
    return locks::make_release({.session = SessionId{session},
                                .sequence = RequestSequence{sequence},
                                .name_hash = hash_name(name),
                                .token = token});
  }

  // What the holder may do without letting go.
  static locks::ReleaseFields office(std::uint64_t session,
                                     std::uint64_t sequence,
                                     std::uint64_t token) {
    return {.session = SessionId{session},
            .sequence = RequestSequence{sequence},
            .name_hash = hash_name("a"),
            .token = FencingToken{token}};
  }

  // `text` is the name, of so many bytes, and the note.
  static LockCommand noted(std::uint64_t session,
                           std::uint64_t sequence,
                           std::string_view text,
                           std::size_t name_bytes,
                           std::uint16_t delay_ms = 0) {
    return locks::make_acquire_hold({.acquire = {.session = SessionId{session},
                                                 .sequence = RequestSequence{sequence},
                                                 .name = text.substr(0, name_bytes),
                                                 .wait = true,
                                                 .ttl_ms = 1000},
                                     .ask = {.delay_ms = delay_ms},
                                     .text = text});
  }

  static LockCommand shared(std::uint64_t session, std::uint64_t sequence) {
    return locks::make_acquire_hold({.acquire = {.session = SessionId{session},
                                                 .sequence = RequestSequence{sequence},
                                                 .name = "a",
                                                 .wait = true,
                                                 .ttl_ms = 1000},
                                     .ask = {.flags = locks::kHoldShared, .permits = 1},
                                     .text = "a"});
  }

  static LockCommand break_lock(FencingToken token, bool all = false) {
    return locks::make_break_lock(
        {.token = token, .all = all, .name_bytes = 1, .who_bytes = 3, .text = "aannit hangs"});
  }

  static LockCommand delayed(std::uint64_t session, std::uint64_t sequence) {
    return noted(session, sequence, "a", 1, 500);
  }

  static WatchChange event(WatchEventKind kind,
                           std::string name,
                           std::uint64_t token,
                           std::uint64_t session,
                           std::string_view value = {},
                           std::string_view before = {}) {
    return {kind, std::move(name), FencingToken{token}, SessionId{session}, value, before};
  }

  // Of a grant that took the place of the hold whose end stands so far before it.
  static WatchChange replacing(std::uint16_t distance, WatchChange grant) {
    grant.replaces = distance;
    return grant;
  }

  // The lock "a" comes, held under token 7 by the first of the sessions, which the others wait for.
  LockCommand move_in(const std::vector<std::uint8_t>& sessions) {
    moved_ = "a";
    for (const std::uint8_t session : sessions) {
      moved_ += static_cast<char>(session);
      moved_ += std::string{"\0\0\0\0\0\0\0\xe8\3\0\0", 11};
    }
    return locks::make_move_in({.from = ShardId{1},
                                .number = 1,
                                .token = FencingToken{7},
                                .token_last = 9,
                                .name_bytes = 1,
                                .text = moved_});
  }

  static std::string name_of(std::uint64_t session, std::uint32_t number) {
    return std::to_string(session) + "/" + std::to_string(number);
  }

  std::uint64_t token_of(std::string_view name) const {
    const auto lock = locks_.get(ShardId{0}, hash_name(name));
    return lock ? lock->token.value : 0;
  }

  std::string moved_;  // Outlives the command.
  locks::LockCpu locks_{locks::LockOptions{}};
  std::vector<locks::LockEvent> ended_{locks::kLockEventsPerCommandMax};
  WatchChanges changes_;
  std::uint64_t index_ = 0;
  FencingToken token_;
};

TEST_F(WatchChangesTest, AGrantAndItsReleaseAreTold) {
  EXPECT_EQ(apply(acquire(5, 1, "a")), std::vector{event(WatchEventKind::Granted, "a", 1, 5)});
  EXPECT_EQ(apply(release(5, 2, "a", FencingToken{1})),
            std::vector{event(WatchEventKind::Released, "a", 1, 5)});
}

// Whoever follows the shard learns who has what came to it; to one who followed it before, the same
// token says that it is the same hold.
TEST_F(WatchChangesTest, L19WhoHoldsALockThatComesIsToldAndOnlyOnce) {
  const LockCommand in = move_in({5});
  EXPECT_EQ(apply(in), std::vector{event(WatchEventKind::Granted, "a", 7, 5)});
  EXPECT_TRUE(apply(in).empty());
  EXPECT_TRUE(apply(locks::make_move_out("a", ShardId{1})).empty());
}

// A place that came with the lock and that nobody asked after: what it held is let go and passed
// on.
TEST_F(WatchChangesTest, L19APlaceThatLapsesIsToldAsWhatItWas) {
  LockCommand in = move_in({5, 6, 7});
  in.flags = locks::kMoveInLapses;
  EXPECT_EQ(apply(in), std::vector{event(WatchEventKind::Granted, "a", 7, 5)});
  apply(release(5, 1, "a", FencingToken{7}));
  const auto places = locks_.unclaimed(ShardId{0}, hash_name("a"));
  ASSERT_EQ(places.size(), 2u);
  for (const locks::OrphanedWait& place : places) {
    const auto told = apply(locks::make_move_lapse(place.session, place.sequence, place.name));
    const bool held = place.session == SessionId{6};
    EXPECT_EQ(told,
              held ? (std::vector{event(WatchEventKind::Released, "a", 10, 6),
                                  replacing(1, event(WatchEventKind::Granted, "a", 11, 7))})
                   : std::vector{event(WatchEventKind::Released, "a", 11, 7)});
  }
}

// Sessions that have so many locks that their end takes two entries, and the lock comes in between.
TEST_F(WatchChangesTest, L19WhoIsNotLetInWhereTheLockComesToIsToldOf) {
  std::uint32_t serial = 0;  // Of the registration; they are counted.
  for (const std::uint64_t session : {5, 7}) {
    for (std::uint32_t k = 0; k <= locks::kReleasesPerCommandMax; ++k) {
      const std::string name = name_of(session, k);
      LockCommand one = acquire(session, k + 1, name);
      one.acked_below = RequestSequence{k + 1};
      apply(one);
    }
    apply(locks::make_expire_session(SessionId{session}, ++serial));
  }
  const auto told = apply(move_in({5, 6, 7}));
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0], event(WatchEventKind::Expired, "a", 7, 5));
  EXPECT_EQ(told[1], event(WatchEventKind::Left, "a", 0, 7));
  EXPECT_EQ(told[2], replacing(2, event(WatchEventKind::Granted, "a", token_of("a"), 6)));
}

TEST_F(WatchChangesTest, WhatChangesNothingTellsNothing) {
  apply(acquire(5, 1, "a"));
  EXPECT_TRUE(apply(acquire(5, 1, "a")).empty());         // A retry.
  EXPECT_TRUE(apply(acquire(5, 2, "a")).empty());         // Held already.
  EXPECT_TRUE(apply(acquire(6, 1, "a", false)).empty());  // Busy.
  EXPECT_TRUE(apply(release(6, 2, "a", FencingToken{1})).empty());
  EXPECT_TRUE(apply(release(5, 3, "a", FencingToken{9})).empty());
  EXPECT_TRUE(apply(LockCommand{}).empty());
}

TEST_F(WatchChangesTest, ALockThatPassesOnIsOneEntryWithBothSides) {
  apply(acquire(5, 1, "a"));
  EXPECT_EQ(apply(acquire(6, 1, "a")), std::vector{event(WatchEventKind::Waiting, "a", 0, 6)});
  EXPECT_EQ(apply(release(5, 2, "a", FencingToken{1})),
            (std::vector{event(WatchEventKind::Released, "a", 1, 5),
                         replacing(1, event(WatchEventKind::Granted, "a", 2, 6))}));
}

TEST_F(WatchChangesTest, ARetryOfAWaitIsNotASecondWaiter) {
  apply(acquire(5, 1, "a"));
  apply(acquire(6, 1, "a"));
  EXPECT_TRUE(apply(acquire(6, 1, "a")).empty());
}

TEST_F(WatchChangesTest, WhoGivesUpAWaitHasLeft) {
  apply(acquire(5, 1, "a"));
  apply(acquire(6, 1, "a"));
  EXPECT_EQ(apply(locks::make_cancel_wait(SessionId{6}, RequestSequence{1}, true)),
            std::vector{event(WatchEventKind::Left, "a", 0, 6)});
}

TEST_F(WatchChangesTest, TheEndOfASessionTellsAllOfItsHoldsAndWaits) {
  apply(acquire(5, 1, "a"));
  apply(acquire(5, 2, "b"));
  apply(acquire(6, 1, "c"));
  apply(acquire(5, 3, "c"));
  apply(acquire(6, 2, "a"));
  const auto events = apply(locks::make_expire_session(SessionId{5}, 1));
  EXPECT_EQ(events,
            (std::vector{event(WatchEventKind::Expired, "b", 2, 5),
                         event(WatchEventKind::Expired, "a", 1, 5),
                         replacing(1, event(WatchEventKind::Granted, "a", 4, 6)),
                         event(WatchEventKind::Left, "c", 0, 5)}));
}

// Keeps what it sees of each entry.
class KeepingTap final : public ApplyObserver {
 public:
  void before(const locks::LockCpu& locks, ShardId shard, const LockCommand& command) override {
    changes_.before(locks, shard, command);
  }

  void after(const locks::LockCpu& locks,
             ShardId shard,
             const LockCommand& command,
             const locks::LockReply& reply,
             std::span<const locks::LockEvent> events) override {
    const auto seen_now = changes_.after(locks, shard, command, reply, events);
    seen.insert(seen.end(), seen_now.begin(), seen_now.end());
  }

  void on_entry(ShardId, LogIndex index) override { entries.push_back(index.value); }

  void on_installed(ShardId) override {}

  bool on_peer_message(NodeId, std::span<const std::byte>) override { return false; }

  std::vector<WatchChange> seen;
  std::vector<std::uint64_t> entries;

 private:
  WatchChanges changes_;
};

TEST_F(WatchChangesTest, OfAListEachEndIsToldAndWhatOneIsGrantedTheNextLoses) {
  apply(acquire(5, 1, "a"));
  apply(acquire(6, 1, "a"));
  apply(acquire(7, 1, "b"));
  const auto list = locks::encode_ends(std::vector<locks::SessionEnd>{
      {SessionId{5}, 1}, {SessionId{6}, 2}, {SessionId{7}, 3}, {SessionId{8}, 4}});
  KeepingTap tap;
  locks::LockEvents ended{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
  apply_tapped(
      tap, locks_, {ShardId{0}, LogIndex{9}, Tick{1}}, locks::make_expire_sessions(list), ended);
  EXPECT_EQ(tap.seen,
            (std::vector{event(WatchEventKind::Expired, "a", 1, 5),
                         replacing(1, event(WatchEventKind::Granted, "a", 3, 6)),
                         event(WatchEventKind::Expired, "a", 3, 6),
                         event(WatchEventKind::Expired, "b", 2, 7)}));
  EXPECT_EQ(tap.entries, std::vector<std::uint64_t>{9}) << "one entry, one revision";
}

TEST_F(WatchChangesTest, AClosedSessionHasReleased) {
  apply(acquire(5, 1, "a"));
  EXPECT_EQ(apply(locks::make_close_session(SessionId{5}, RequestSequence{2})),
            std::vector{event(WatchEventKind::Released, "a", 1, 5)});
}

TEST_F(WatchChangesTest, AHugeSessionIsToldStepByStep) {
  for (std::uint64_t k = 1; k <= 100; ++k) {
    apply(acquire(5, k, "name-" + std::to_string(k)));
  }
  const LockCommand expire = locks::make_expire_session(SessionId{5}, 1);
  const auto first = apply(expire);
  const auto second = apply(expire);
  EXPECT_EQ(first.size(), locks::kReleasesPerCommandMax);
  EXPECT_EQ(first.size() + second.size(), 100u);
  EXPECT_TRUE(apply(expire).empty());
}

TEST_F(WatchChangesTest, AGrantBringsTheNoteOfItsHolder) {
  EXPECT_EQ(apply(noted(5, 1, "aat the desk", 1)),
            std::vector{event(WatchEventKind::Granted, "a", 1, 5, "at the desk")});
}

TEST_F(WatchChangesTest, W2WhatEndsOrChangesAHoldSaysWhatWasLeftWithItBefore) {
  using enum WatchEventKind;
  apply(noted(5, 1, "aone", 1));
  apply(noted(6, 1, "atwo", 1));
  EXPECT_EQ(apply(locks::make_proclaim(office(5, 2, 1), "other")),
            std::vector{event(ValueChanged, "a", 1, 5, "other", "one")});
  EXPECT_TRUE(apply(locks::make_proclaim(office(5, 3, 1), "other")).empty()) << "nothing changed";
  EXPECT_EQ(apply(locks::make_proclaim(office(5, 4, 1), "")),
            std::vector{event(ValueChanged, "a", 1, 5, "", "other")});
  EXPECT_EQ(apply(locks::make_proclaim(office(5, 5, 1), "last")),
            std::vector{event(ValueChanged, "a", 1, 5, "last", "")});
  EXPECT_EQ(apply(release(5, 6, "a", FencingToken{1})),
            (std::vector{event(Released, "a", 1, 5, {}, "last"),
                         replacing(1, event(Granted, "a", 2, 6, "two"))}));
  EXPECT_EQ(apply(break_lock(FencingToken{2})), std::vector{event(Broken, "a", 2, 6, {}, "two")});
  EXPECT_EQ(apply(noted(7, 1, "athree", 1)), std::vector{event(Granted, "a", 3, 7, "three")})
      << "whose place nobody had";
  EXPECT_EQ(apply(locks::make_expire_session(SessionId{7}, 3)),
            std::vector{event(Expired, "a", 3, 7, {}, "three")});
}

TEST_F(WatchChangesTest, W2WhomALockIsHandedToTakesThePlaceOfWhoHadIt) {
  using enum WatchEventKind;
  apply(noted(5, 1, "aone", 1));
  apply(acquire(6, 1, "a"));
  apply(noted(7, 1, "atwo", 1));
  EXPECT_EQ(apply(locks::make_transfer(office(5, 2, 1), SessionId{7})),
            (std::vector{event(Released, "a", 1, 5, {}, "one"),
                         replacing(1, event(Granted, "a", 2, 7, "two"))}));
}

// Of several readers that a break ends at once, the writer behind them took the last one's place;
// of a writer that let readers in, each took its.
TEST_F(WatchChangesTest, W2WhereHoldsAreSharedTheEventIsAboutOneOfThem) {
  using enum WatchEventKind;
  apply(shared(5, 1));
  apply(shared(6, 1));
  apply(noted(7, 1, "awriter", 1));
  apply(shared(8, 1));
  apply(shared(9, 1));
  EXPECT_EQ(apply(break_lock(FencingToken{2}, true)),
            (std::vector{event(Broken, "a", 1, 5),
                         event(Broken, "a", 2, 6),
                         replacing(1, event(Granted, "a", 3, 7, "writer"))}));
  EXPECT_EQ(apply(release(7, 2, "a", FencingToken{3})),
            (std::vector{event(Released, "a", 3, 7, {}, "writer"),
                         replacing(1, event(Granted, "a", 4, 8)),
                         replacing(2, event(Granted, "a", 5, 9))}));
  EXPECT_EQ(apply(release(8, 2, "a", FencingToken{4})), std::vector{event(Released, "a", 4, 8)});
}

// The last of the readers ends, then the writer behind them, who had the place in line: whom that
// lets in took nobody's place, in a list of ends as where each end is an entry.
TEST_F(WatchChangesTest, W2InAListOfEndsEachGrantIsThatOfItsEnd) {
  using enum WatchEventKind;
  apply(shared(5, 1));
  apply(shared(6, 1));
  apply(acquire(7, 1, "a"));
  apply(shared(8, 1));
  const auto list =
      locks::encode_ends(std::vector<locks::SessionEnd>{{SessionId{5}, 1}, {SessionId{7}, 3}});
  KeepingTap tap;
  locks::LockEvents ended{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
  apply_tapped(
      tap, locks_, {ShardId{0}, LogIndex{9}, Tick{1}}, locks::make_expire_sessions(list), ended);
  EXPECT_EQ(
      tap.seen,
      (std::vector{event(Expired, "a", 1, 5), event(Left, "a", 0, 7), event(Granted, "a", 3, 8)}));
}

TEST_F(WatchChangesTest, W2ADelayComesBetweenWhoHadALockAndTheNext) {
  using enum WatchEventKind;
  apply(noted(5, 1, "aone", 1, 500));
  apply(acquire(6, 1, "a"));
  EXPECT_EQ(apply(locks::make_expire_session(SessionId{5}, 1)),
            std::vector{event(Expired, "a", 1, 5, {}, "one")});
  EXPECT_EQ(apply(locks::make_end_delay(hash_name("a"), FencingToken{1})),
            std::vector{event(Granted, "a", 2, 6)});
}

TEST_F(WatchChangesTest, ReadersAreGrantedAndLetGoEachUnderTheirToken) {
  const auto read = [](std::uint64_t session) { return shared(session, 1); };
  EXPECT_EQ(apply(read(5)), std::vector{event(WatchEventKind::Granted, "a", 1, 5)});
  EXPECT_EQ(apply(read(6)), std::vector{event(WatchEventKind::Granted, "a", 2, 6)});
  apply(acquire(7, 1, "a"));
  apply(read(8));  // Behind the writer.
  EXPECT_EQ(apply(release(5, 2, "a", FencingToken{1})),
            std::vector{event(WatchEventKind::Released, "a", 1, 5)});
  EXPECT_EQ(apply(locks::make_expire_session(SessionId{6}, 2)),
            (std::vector{event(WatchEventKind::Expired, "a", 2, 6),
                         replacing(1, event(WatchEventKind::Granted, "a", 3, 7))}));
}

TEST_F(WatchChangesTest, L15ABreakIsToldOnceAndWhatStaysOfTheHoldTellsNothing) {
  apply(acquire(5, 1, "a"));
  apply(acquire(5, 2, "b"));
  apply(acquire(6, 1, "a"));
  EXPECT_EQ(apply(break_lock(FencingToken{1})),
            (std::vector{event(WatchEventKind::Broken, "a", 1, 5),
                         replacing(1, event(WatchEventKind::Granted, "a", 3, 6))}));
  EXPECT_TRUE(apply(break_lock(FencingToken{1})).empty());
  // The session that lost it ends: the lock is another's, and its own other one goes.
  EXPECT_EQ(apply(locks::make_expire_session(SessionId{5}, 1)),
            std::vector{event(WatchEventKind::Expired, "b", 2, 5)});
}

TEST_F(WatchChangesTest, L15ALossThatIsGivenBackTellsNothing) {
  apply(acquire(5, 1, "a"));
  EXPECT_EQ(apply(break_lock(FencingToken{1}, true)),
            std::vector{event(WatchEventKind::Broken, "a", 1, 5)});
  EXPECT_TRUE(apply(release(5, 2, "a", FencingToken{1})).empty());
  EXPECT_TRUE(apply(locks::make_expire_session(SessionId{5}, 1)).empty());
}

TEST_F(WatchChangesTest, L14TheFailureOfAHolderIsToldAtOnceAndTheNextGrantWhenTheDelayEnds) {
  apply(delayed(5, 1));
  apply(acquire(6, 1, "a"));
  EXPECT_EQ(apply(locks::make_expire_session(SessionId{5}, 1)),
            std::vector{event(WatchEventKind::Expired, "a", 1, 5)});
  EXPECT_TRUE(apply(locks::make_expire_session(SessionId{5}, 1)).empty()) << "told before";
  EXPECT_EQ(apply(acquire(7, 1, "a")), std::vector{event(WatchEventKind::Waiting, "a", 0, 7)});
  EXPECT_TRUE(apply(locks::make_end_delay(hash_name("a"), FencingToken{9})).empty());
  EXPECT_EQ(apply(locks::make_end_delay(hash_name("a"), FencingToken{1})),
            std::vector{event(WatchEventKind::Granted, "a", 2, 6)});
}

TEST_F(WatchChangesTest, L14ADelayThatABreakEndsHasNoHolderToTellOf) {
  apply(delayed(5, 1));
  apply(locks::make_expire_session(SessionId{5}, 1));
  apply(acquire(6, 1, "a"));
  EXPECT_EQ(apply(break_lock(FencingToken{1})),
            std::vector{event(WatchEventKind::Granted, "a", 2, 6)});
}

}  // namespace
}  // namespace gcoord::server
