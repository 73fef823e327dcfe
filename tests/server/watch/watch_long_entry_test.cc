// One entry that ends more than a message to a watch holds, as when listed sessions came to hold
// more between its proposal and where it is applied: whoever is to be told of all of it is told
// where events go on, wherever the entry comes from, and nobody else notices.
#include "locks/commands/ends.h"
#include "protocol/error_codes.h"
#include "tests/server/watch/watch_world.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kEach = locks::kReleasesPerCommandMax;
// Each end names what was held.
constexpr std::uint32_t kSessions =
    protocol::kPayloadBytesMax / (kEach * protocol::kNameBytesMax) + 1;

class WatchLongEntryTest : public testing::Test {
 protected:
  void decide(const locks::LockCommand& command) {
    append(logs_[0], command);
    node_.apply(0);
  }

  void acquire(const std::string& name, std::uint64_t session, std::uint64_t sequence) {
    decide(locks::make_acquire({.session = SessionId{session},
                                .sequence = RequestSequence{sequence},
                                .acked_below = RequestSequence{sequence},
                                .name = name,
                                .wait = false,
                                .ttl_ms = 1000}));
  }

  // As long as names may be.
  static std::string name_of(std::uint32_t number) {
    std::string name = std::to_string(number);
    name.resize(protocol::kNameBytesMax, 'n');
    return name;
  }

  void hold_much() {
    for (std::uint32_t session = 1; session <= kSessions; ++session) {
      for (std::uint32_t k = 0; k < kEach; ++k) {
        acquire(name_of(session * kEach + k), session, k + 1);
      }
    }
  }

  // Of the first lock of each session nobody has heard yet, of what they hold all in one entry.
  void end_all() {
    std::vector<locks::SessionEnd> ends;
    for (std::uint32_t session = 1; session <= kSessions; ++session) {
      ends.push_back({SessionId{session}, session});
    }
    const auto list = locks::encode_ends(ends);
    decide(locks::make_expire_sessions(list));
  }

  void watch_all(std::uint64_t connection, std::uint64_t from) {
    protocol::WatchQuery query{.target = protocol::WatchTarget::Prefix};
    if (from != 0) {
      query.from = {{ShardId{0}, LogIndex{from}}};
    }
    node_.open(connection, 1, query);
    node_.settle();
  }

  // The watch was told everything before the entry, and that events go on behind it.
  void expect_ended(std::uint64_t connection, std::uint64_t told_first) {
    ASSERT_FALSE(node_.sink.sent[connection].empty());
    const protocol::ReplySlot last = node_.sink.sent[connection].back().slot;
    EXPECT_EQ(last.detail, static_cast<std::uint32_t>(protocol::ErrorCode::WatchCompacted));
    EXPECT_EQ(last.shard, 0u);
    EXPECT_EQ(last.extra, long_entry_ + 1);
    std::uint64_t next = told_first;
    for (const auto& each : node_.sink.sent[connection]) {
      EXPECT_LE(each.payload.size(), protocol::kPayloadBytesMax);
      if (each.slot.code != StatusCode::Ok) {
        continue;
      }
      const auto message = protocol::decode_watch_message(each.payload).value();
      for (const auto& block : message.blocks) {
        EXPECT_EQ(block.revision.value, next++);
      }
    }
    EXPECT_EQ(next, long_entry_);
  }

  std::vector<ShardLog> logs_{1};
  WatchNode node_{logs_, {}};
  std::uint64_t long_entry_ = kSessions * kEach + 2;
};

TEST_F(WatchLongEntryTest, W2WhoWouldBeToldMoreThanAMessageHoldsIsToldWhereEventsGoOn) {
  hold_much();
  watch_all(1, 0);
  watch_all(2, 0);
  node_.sink.full.insert(2);
  node_.open(3, 1, {.text = name_of(kEach)});
  acquire("before", 500, 1);
  end_all();
  acquire("behind", 500, 2);
  node_.settle();
  expect_ended(1, long_entry_ - 1);
  EXPECT_EQ(node_.desk().watch_count(), 2u);

  // Who is behind, as soon as there is room.
  node_.sink.full.clear();
  node_.settle();
  expect_ended(2, long_entry_ - 1);
  EXPECT_EQ(node_.desk().watch_count(), 1u);

  // Who is told of a part of it alone.
  const auto message = protocol::decode_watch_message(node_.sink.sent[3].back().payload).value();
  ASSERT_EQ(message.blocks.size(), 1u);
  EXPECT_EQ(message.blocks[0].events[0].kind, protocol::WatchEventKind::Expired);

  // It goes on where it was told to.
  watch_all(1, long_entry_ + 1);
  const auto after = protocol::decode_watch_message(node_.sink.sent[1].back().payload).value();
  ASSERT_EQ(after.blocks.size(), 1u);
  EXPECT_EQ(after.blocks[0].events[0].name, "behind");
}

TEST_F(WatchLongEntryTest, W2TheSameWhereItComesFromHistory) {
  hold_much();
  acquire("before", 500, 1);
  end_all();
  acquire("behind", 500, 2);
  watch_all(1, 1);
  expect_ended(1, 1);
  EXPECT_EQ(node_.desk().watch_count(), 0u);
  watch_all(1, long_entry_ + 1);
  EXPECT_EQ(node_.desk().watch_count(), 1u);
}

}  // namespace
}  // namespace gcoord::server
