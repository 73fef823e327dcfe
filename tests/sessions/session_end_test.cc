// One entry, many ends, and every machine of the shard.
#include "sessions/session_end.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace gcoord::sessions {
namespace {

SessionEnds view_of(const std::vector<char>& bytes) {
  return {bytes.data(), static_cast<std::uint32_t>(bytes.size())};
}

std::vector<SessionEnd> some_ends(std::uint32_t count) {
  std::vector<SessionEnd> ends;
  for (std::uint32_t i = 0; i < count; ++i) {
    ends.push_back({.session = SessionId{i + 1}, .serial = i + 10});
  }
  return ends;
}

TEST(SessionEnds, BytesAreSessionAndSerialLowestByteFirst) {
  const std::vector<SessionEnd> ends = {
      {.session = SessionId{0x0807060504030201}, .serial = 0x0c0b0a09}};
  const std::vector<char> expected = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(encode_ends(ends), expected);
}

TEST(SessionEnds, AreReadBackAsWritten) {
  const std::vector<char> bytes = encode_ends(some_ends(kEndsMax));
  const SessionEnds ends = view_of(bytes);
  ASSERT_TRUE(check_ends(ends).ok());
  ASSERT_EQ(ends.count(), kEndsMax);
  EXPECT_EQ(ends[5].session, SessionId{6});
  EXPECT_EQ(ends[5].serial, 15u);
  EXPECT_EQ(ends[5].cause, EndCause::Expired);
}

TEST(SessionEnds, ListsThatCannotBeAreRefused) {
  const auto refused = [](const std::vector<char>& bytes) {
    return check_ends(view_of(bytes)).code() == StatusCode::InvalidArgument;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(encode_ends(some_ends(kEndsMax + 1))));
  std::vector<char> cut = encode_ends(some_ends(2));
  cut.pop_back();
  EXPECT_TRUE(refused(cut));
  std::vector<SessionEnd> falling = some_ends(2);
  falling[1].session = falling[0].session;
  EXPECT_TRUE(refused(encode_ends(falling)));
  EXPECT_TRUE(refused(encode_ends(std::vector<SessionEnd>{{SessionId{1}, 0}})));
  EXPECT_TRUE(refused(encode_ends(std::vector<SessionEnd>{{kKeeperSession, 1}})));
}

TEST(SessionEnds, ExpiryMeansItsRegistrationAndClosingMeansAny) {
  SessionRecord record;
  record.serial = 4;
  EXPECT_TRUE((SessionEnd{SessionId{1}, 4}.means(record)));
  EXPECT_FALSE((SessionEnd{SessionId{1}, 3}.means(record)));
  EXPECT_TRUE((SessionEnd{SessionId{1}, 0, EndCause::Closed}.means(record)));
}

// What two machines of a shard keep by session, each with a share of its own in one entry.
struct KeptBySession {
  std::set<SessionId> kept;
  std::uint32_t room = 0;

  bool end(const SessionEnds& ends) {
    return apply_each_end(
        ends,
        [this] { return room > 0; },
        [this](const SessionEnd& end, std::uint32_t) {
          --room;
          kept.erase(end.session);
          return false;
        });
  }
};

TEST(SessionEnds, EveryMachineOfTheShardAppliesTheSameEntry) {
  const std::vector<char> bytes = encode_ends(some_ends(3));
  KeptBySession one{.kept = {SessionId{1}, SessionId{9}}, .room = 8};
  KeptBySession other{.kept = {SessionId{2}, SessionId{3}}, .room = 8};
  EXPECT_FALSE(one.end(view_of(bytes)));
  EXPECT_FALSE(other.end(view_of(bytes)));
  EXPECT_EQ(one.kept, std::set<SessionId>{SessionId{9}});
  EXPECT_TRUE(other.kept.empty());
}

TEST(SessionEnds, MachineWithoutRoomSaysThatEndsAreLeft) {
  const std::vector<char> bytes = encode_ends(some_ends(3));
  KeptBySession machine{.kept = {SessionId{1}, SessionId{2}, SessionId{3}}, .room = 2};
  EXPECT_TRUE(machine.end(view_of(bytes)));
  EXPECT_EQ(machine.kept, std::set<SessionId>{SessionId{3}});
}

TEST(SessionEnds, SomethingLeftOfOneSessionIsSaidOfTheWholeEntry) {
  const std::vector<char> bytes = encode_ends(some_ends(2));
  const bool more = apply_each_end(
      view_of(bytes),
      [] { return true; },
      [](const SessionEnd&, std::uint32_t i) { return i == 0; });
  EXPECT_TRUE(more);
}

}  // namespace
}  // namespace gcoord::sessions
