// Watches that ask what was held before each event (W2): who is told, from the ring, from history
// and where the lock is moved, and that the most that one entry tells fits a frame.
#include "locks/commands/ends.h"
#include "locks/commands/move_command.h"
#include "server/sessions/expiry_log.h"
#include "tests/server/watch/watch_world.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::RequestFlag;
using protocol::WatchBefore;
using protocol::WatchBlock;
using protocol::WatchEvent;
using protocol::WatchEventKind;
using protocol::WatchPrevious;
using protocol::WatchQuery;
using protocol::WatchTarget;

constexpr std::uint32_t kShards = 4;
const std::vector kAsked{RequestFlag::WatchPrevious};

class WatchPreviousTest : public testing::Test {
 protected:
  static ShardId home() { return shard_of(hash_name("a"), kShards); }

  static ShardId away() { return ShardId{(home().value + 1) % kShards}; }

  std::uint64_t decide(ShardId shard, const locks::LockCommand& command) {
    append(logs_[shard.value], command);
    node_.apply(shard.value);
    return node_.applied(shard.value);
  }

  // Of "a", wherever it is.
  void acquire(std::uint64_t session, const std::string& note = {}, ShardId shard = home()) {
    const std::string text = "a" + note;
    const locks::AcquireFields fields{.session = SessionId{session},
                                      .sequence = RequestSequence{++sequence_},
                                      .acked_below = RequestSequence{sequence_},
                                      .name = std::string_view{text}.substr(0, 1),
                                      .wait = true,
                                      .ttl_ms = 1000};
    decide(shard,
           note.empty() ? locks::make_acquire(fields)
                        : locks::make_acquire_hold({.acquire = fields, .text = text}));
  }

  locks::ReleaseFields holder(ShardId shard) {
    const auto lock = node_.locks().get(shard, hash_name("a"));
    return {.session = lock->holder,
            .sequence = RequestSequence{++sequence_},
            .acked_below = RequestSequence{sequence_},
            .name_hash = hash_name("a"),
            .token = lock->token};
  }

  void release(ShardId shard = home()) { decide(shard, locks::make_release(holder(shard))); }

  void proclaim(const std::string& note) {
    decide(home(), locks::make_proclaim(holder(home()), note));
  }

  void move(ShardId from, ShardId to) {
    decide(from, locks::make_move_out("a", to));
    const auto departed = node_.locks().departed(from);
    ASSERT_EQ(departed.size(), 1u);
    decide(to,
           locks::make_move_in({.from = from,
                                .number = departed[0].number,
                                .token = departed[0].token,
                                .token_last = departed[0].token_last,
                                .name_bytes = departed[0].name_bytes,
                                .text = departed[0].text}));
    decide(from, locks::make_move_done(hash_name("a"), departed[0].number));
  }

  // Grants, other notes, a change of hands, an end.
  void drive() {
    acquire(5, "one");
    acquire(6, "two");
    proclaim("other");
    release();
    proclaim("");
    acquire(7);
    decide(home(), locks::make_expire_session(SessionId{6}, 2));
    release();
    node_.turn();
  }

  std::vector<WatchBlock> hear(std::uint64_t connection) {
    std::vector<WatchBlock> blocks;
    for (const auto& each : std::exchange(node_.sink.sent[connection], {})) {
      EXPECT_EQ(each.slot.code, StatusCode::Ok);
      const auto message = protocol::decode_watch_message(each.payload).value();
      blocks.insert(blocks.end(), message.blocks.begin(), message.blocks.end());
    }
    return blocks;
  }

  // Of all events, in their order.
  static std::vector<WatchPrevious> previous_in(const std::vector<WatchBlock>& blocks) {
    std::vector<WatchPrevious> all;
    for (const WatchBlock& block : blocks) {
      for (const WatchEvent& event : block.events) {
        all.push_back(event.previous);
      }
    }
    return all;
  }

  static WatchPrevious hold(std::uint64_t token, std::uint64_t session, std::string note = {}) {
    return {WatchBefore::Hold, FencingToken{token}, SessionId{session}, std::move(note)};
  }

  static WatchPrevious nothing() { return {.before = WatchBefore::Nothing}; }

  // What drive() tells who asks.
  static std::vector<WatchPrevious> driven() {
    return {nothing(),            // 5 has it.
            hold(1, 5, "one"),    // It says "other".
            hold(1, 5, "other"),  // It lets go,
            hold(1, 5, "other"),  // and 6 has it,
            hold(2, 6, "two"),    // and says nothing any more.
            hold(2, 6),           // 6 expires,
            hold(2, 6),           // and 7 has it,
            hold(3, 7)};          // and lets go.
  }

  std::vector<ShardLog> logs_{kShards};
  WatchNode node_{logs_, {}};
  std::uint64_t sequence_ = 0;
};

TEST_F(WatchPreviousTest, W2WhoAsksIsToldWhatWasHeldBeforeAndNobodyElseIs) {
  node_.open_with(kAsked, 1, 1, {.text = "a"});
  node_.open_with({}, 2, 1, {.text = "a"});
  node_.open_with(kAsked, 3, 1, {.target = WatchTarget::Prefix});
  drive();
  std::vector<WatchBlock> asked = hear(1);
  EXPECT_EQ(previous_in(asked), driven());
  EXPECT_EQ(hear(3), asked);
  for (WatchBlock& block : asked) {
    for (WatchEvent& event : block.events) {
      event.previous = {};
    }
  }
  EXPECT_EQ(hear(2), asked);
}

TEST_F(WatchPreviousTest, W2WhoseEndIsNotToldIsSaidToWhoHearsOfTheGrant) {
  const auto granted = protocol::watch_kind_bit(WatchEventKind::Granted);
  node_.open_with(kAsked, 1, 1, {.text = "a", .kinds = granted});
  node_.open_with(kAsked, 2, 1, {.target = WatchTarget::Session, .session = SessionId{7}});
  drive();
  EXPECT_EQ(previous_in(hear(1)), (std::vector{nothing(), hold(1, 5, "other"), hold(2, 6)}));
  EXPECT_EQ(previous_in(hear(2)), (std::vector{hold(2, 6), hold(3, 7)}));
}

TEST_F(WatchPreviousTest, W2AWaiterHasNothingBefore) {
  node_.open_with({RequestFlag::WatchPrevious, RequestFlag::WatchQueue}, 1, 1, {.text = "a"});
  acquire(5, "one");
  acquire(6);
  decide(home(), locks::make_cancel_wait(SessionId{6}, RequestSequence{sequence_}, true));
  node_.turn();
  EXPECT_EQ(previous_in(hear(1)), (std::vector{nothing(), nothing(), nothing()}));
}

TEST_F(WatchPreviousTest, W2FromTheRingAndFromHistoryItIsTheSame) {
  const WatchQuery all{.text = "a", .from = {{home(), LogIndex{1}}}};
  drive();
  node_.open_with(kAsked, 1, 1, all);
  node_.settle();
  EXPECT_GT(node_.history_looks, 0u);
  EXPECT_EQ(previous_in(hear(1)), driven());
  const std::uint64_t begun = node_.applied(home().value);
  node_.history_looks = 0;
  drive();
  const auto live = hear(1);
  node_.open_with(kAsked, 2, 1, {.text = "a", .from = {{home(), LogIndex{begun + 1}}}});
  node_.settle();
  EXPECT_EQ(node_.history_looks, 0u);
  EXPECT_EQ(hear(2), live);
}

// A lock that moves has no note. Who follows it hears of the hold where it began and where it ends;
// to who watches a prefix the lock comes held by whom it was held before.
TEST_F(WatchPreviousTest, W2L19TheHoldOfALockThatMovedIsTheOneBefore) {
  node_.open_with({RequestFlag::WatchPrevious, RequestFlag::WatchFollow}, 1, 1, {.text = "a"});
  node_.open_with(kAsked, 2, 1, {.target = WatchTarget::Prefix});
  acquire(5);
  acquire(6);
  move(home(), away());
  release(away());
  acquire(6, {}, away());  // It claims what it was granted.
  move(away(), home());
  release();
  node_.settle();
  EXPECT_EQ(previous_in(hear(1)), (std::vector{nothing(), hold(1, 5), hold(1, 5), hold(2, 6)}));
  EXPECT_EQ(previous_in(hear(2)),
            (std::vector{nothing(), hold(1, 5), hold(1, 5), hold(1, 5), hold(2, 6), hold(2, 6)}));
  // The same from history, on a node that knows nothing yet.
  WatchNode late(logs_, {});
  late.apply_all();
  late.open_with({RequestFlag::WatchPrevious, RequestFlag::WatchFollow},
                 1,
                 1,
                 {.text = "a", .from = {{home(), LogIndex{1}}}});
  late.settle();
  std::swap(late.sink.sent, node_.sink.sent);
  EXPECT_EQ(previous_in(hear(1)), (std::vector{nothing(), hold(1, 5), hold(1, 5), hold(2, 6)}));
}

// One shard with locks whose names and notes are as long as they may be, each with one who waits.
class LongestListTest : public testing::Test {
 protected:
  static std::string name_of(std::uint32_t number) {
    std::string name = std::to_string(number) + "/";
    return name + std::string(protocol::kNameBytesMax - name.size(), 'n');
  }

  static std::string note(char of) { return std::string(protocol::kNoteBytesMax, of); }

  void decide(const locks::LockCommand& command) {
    append(logs_[0], command);
    node_.apply(0);
  }

  void acquire(std::uint64_t session, std::uint32_t sequence, std::uint32_t number, bool acked) {
    const std::string text = name_of(number) + note(session < 100 ? 'h' : 'w');
    decide(locks::make_acquire_hold(
        {.acquire = {.session = SessionId{session},
                     .sequence = RequestSequence{sequence},
                     .acked_below = RequestSequence{acked ? sequence : 1},
                     .name = std::string_view{text}.substr(0, protocol::kNameBytesMax),
                     .wait = true,
                     .ttl_ms = 1000},
         .text = text}));
  }

  std::vector<ShardLog> logs_{1};
  WatchNode node_{logs_, {}};
};

// Sessions of as many locks as one command gives back, as many of them as a list has.
TEST_F(LongestListTest, W2WhatOneEntryTellsAtMostFitsAFrame) {
  constexpr std::uint32_t kEach = locks::kReleasesPerCommandMax;
  constexpr std::uint32_t kSessions = kListedWeightMax / (kEach + 1) + 1;
  std::vector<locks::SessionEnd> ends;
  for (std::uint32_t session = 1; session <= kSessions; ++session) {
    for (std::uint32_t k = 0; k < kEach; ++k) {
      acquire(session, k + 1, session * kEach + k, true);
      acquire(100 + session, k + 1, session * kEach + k, false);
    }
    ends.push_back({SessionId{session}, 2 * session - 1});
  }
  node_.open_with({}, 9, 1, {.text = "other"});  // Recording begins.
  const LogIndex begun{node_.applied(0)};
  // Behind what was not enough for a message of its own.
  for (std::uint32_t k = 0; k < 31; ++k) {
    decide(locks::make_proclaim({.session = SessionId{1},
                                 .sequence = RequestSequence{kEach + 1 + k},
                                 .acked_below = RequestSequence{kEach + 1 + k},
                                 .name_hash = hash_name(name_of(kEach)),
                                 .token = FencingToken{1}},
                                note(k % 2 == 0 ? 'e' : 'o')));
  }
  const auto list = locks::encode_ends(ends);
  decide(locks::make_expire_sessions(list));
  node_.open_with(kAsked, 1, 1, {.target = WatchTarget::Prefix, .from = {{ShardId{0}, begun + 1}}});
  node_.settle();
  ASSERT_EQ(node_.sink.sent[1].size(), 2u) << "that it has begun, and all in one message";
  const auto& payload = node_.sink.sent[1].back().payload;
  const auto blocks = protocol::decode_watch_message(payload).value().blocks;
  EXPECT_EQ(blocks.size(), 32u);
  EXPECT_EQ(blocks.back().events.size(), 2u * kSessions * kEach);
  EXPECT_GT(payload.size(), protocol::kPayloadBytesMax * 3 / 4) << "this says something";
  EXPECT_LE(payload.size(), protocol::kPayloadBytesMax);
}

}  // namespace
}  // namespace gcoord::server
