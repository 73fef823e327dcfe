// Payloads of watches: there and back, and what is refused.
#include "rpc/watch_messages.h"

#include "rpc/error_codes.h"

#include <gtest/gtest.h>

namespace gcoord::rpc {
namespace {

std::uint32_t refusal(std::span<const std::byte> payload) {
  return decode_watch_query(payload).status().detail();
}

TEST(WatchMessages, AQueryComesBackAsItWas) {
  const WatchQuery query{.target = WatchTarget::Prefix,
                         .text = "jobs/",
                         .kinds = watch_kind_bit(WatchEventKind::Left),
                         .shard_first = ShardId{3},
                         .shard_count = 5,
                         .progress_ms = 1000,
                         .from = {{ShardId{4}, LogIndex{17}}, {ShardId{5}, LogIndex{1}}}};
  const auto decoded = decode_watch_query(encode_watch_query(query));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().target, query.target);
  EXPECT_EQ(decoded.value().text, query.text);
  EXPECT_EQ(decoded.value().kinds, 0x40);
  EXPECT_EQ(decoded.value().shard_first, query.shard_first);
  EXPECT_EQ(decoded.value().shard_count, query.shard_count);
  EXPECT_EQ(decoded.value().progress_ms, query.progress_ms);
  EXPECT_EQ(decoded.value().from, query.from);
}

TEST(WatchMessages, EventsOfOneNameCarryItOnce) {
  const std::string name(1000, 'n');
  const WatchBlock block{ShardId{1},
                         LogIndex{9},
                         {{WatchEventKind::Released, name, FencingToken{1}, SessionId{5}, {}},
                          {WatchEventKind::Granted, name, FencingToken{2}, SessionId{6}, "note"},
                          {WatchEventKind::Left, "other", {}, SessionId{7}, {}}}};
  std::vector<std::byte> payload;
  begin_watch_events(payload);
  append_watch_block(payload, block);
  append_watch_block(payload, block);
  EXPECT_LT(payload.size(), 2 * name.size() + 256);
  const auto message = decode_watch_message(payload);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message.value().kind, WatchMessageKind::Events);
  EXPECT_EQ(message.value().blocks, (std::vector{block, block}));
}

TEST(WatchMessages, ProgressComesBackAsItWas) {
  const WatchProgressPart part{.last = true, .revisions = {{ShardId{1}, LogIndex{2}}}};
  const auto message = decode_watch_message(encode_watch_progress(part));
  ASSERT_TRUE(message.ok());
  EXPECT_TRUE(message.value().progress.last);
  EXPECT_EQ(message.value().progress.revisions, part.revisions);
}

TEST(WatchMessages, WhatIsCutOffOrTooLongIsRefused) {
  const auto query = encode_watch_query({.text = "a", .from = {{ShardId{1}, LogIndex{2}}}});
  std::vector<std::byte> events;
  begin_watch_events(events);
  append_watch_block(events,
                     {ShardId{1},
                      LogIndex{9},
                      {{WatchEventKind::Granted, "a", FencingToken{1}, SessionId{5}, "v"}}});
  const auto malformed = static_cast<std::uint32_t>(ErrorCode::PayloadMalformed);
  for (std::size_t bytes = 0; bytes < query.size(); ++bytes) {
    EXPECT_EQ(refusal(std::span{query}.first(bytes)), malformed) << bytes;
  }
  for (std::size_t bytes = 5; bytes < events.size(); ++bytes) {  // Four bytes say "no events".
    EXPECT_FALSE(decode_watch_message(std::span{events}.first(bytes)).ok()) << bytes;
  }
  auto longer = query;
  longer.push_back(std::byte{0});
  EXPECT_EQ(refusal(longer), malformed);
}

TEST(WatchMessages, WhatNamesNothingOrTooMuchHasItsOwnCode) {
  const auto of = [](const WatchQuery& query) { return refusal(encode_watch_query(query)); };
  const auto code = [](ErrorCode error) { return static_cast<std::uint32_t>(error); };
  EXPECT_EQ(of({.text = ""}), code(ErrorCode::NameEmpty));
  EXPECT_EQ(of({.text = std::string(kNameBytesMax + 1, 'x')}), code(ErrorCode::NameTooLong));
  EXPECT_EQ(of({.text = "\xff"}), code(ErrorCode::NameNotUtf8));
  const auto prefix = WatchTarget::Prefix;
  EXPECT_EQ(of({.target = prefix, .text = std::string(kNameBytesMax + 1, 'x')}),
            code(ErrorCode::PrefixTooLong));
  EXPECT_EQ(of({.target = prefix, .text = "\xff"}), code(ErrorCode::NameNotUtf8));
  EXPECT_EQ(of({.text = "a", .session = SessionId{1}}), code(ErrorCode::WatchInvalid));
  EXPECT_EQ(of({.target = WatchTarget::Session}), code(ErrorCode::SessionZero));
  EXPECT_EQ(of({.target = WatchTarget::Session, .text = "a", .session = SessionId{1}}),
            code(ErrorCode::WatchInvalid));
  EXPECT_EQ(of({.target = static_cast<WatchTarget>(9), .text = "a"}),
            code(ErrorCode::WatchInvalid));
  EXPECT_EQ(of({.text = "a", .from = {{ShardId{1}, LogIndex{0}}}}), code(ErrorCode::WatchInvalid));
  EXPECT_EQ(of({.text = "a", .kinds = 0x80}), code(ErrorCode::WatchInvalid));
}

}  // namespace
}  // namespace gcoord::rpc
