// Payloads of watches: there and back, and what is refused.
#include "protocol/watch_messages.h"

#include "protocol/error_codes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::protocol {
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

WatchPrevious hold(std::uint64_t token, std::uint64_t session, std::string value = {}) {
  return {WatchBefore::Hold, FencingToken{token}, SessionId{session}, std::move(value)};
}

WatchEvent event(WatchEventKind kind,
                 std::uint64_t token,
                 std::uint64_t session,
                 WatchPrevious previous) {
  return {kind, "a", FencingToken{token}, SessionId{session}, {}, std::move(previous)};
}

std::vector<std::byte> payload_of(const WatchBlock& block) {
  std::vector<std::byte> payload;
  begin_watch_events(payload);
  append_watch_block(payload, block);
  return payload;
}

// All that an event can say of what was held before it.
WatchBlock told_before() {
  using enum WatchEventKind;
  const WatchPrevious nothing{.before = WatchBefore::Nothing};
  return {ShardId{1},
          LogIndex{9},
          {event(Granted, 1, 5, nothing),
           event(ValueChanged, 1, 5, hold(1, 5)),
           event(ValueChanged, 1, 5, hold(1, 5, "one")),
           event(Broken, 1, 5, hold(1, 5, "two")),
           event(Granted, 2, 6, hold(1, 5, "two")),
           event(Granted, 3, 7, hold(1, 5, "two")),
           event(Expired, 3, 7, hold(3, 7)),
           event(Waiting, 0, 8, nothing),
           event(Granted, 4, 9, hold(3, 7)),
           event(Left, 0, 8, {}),
           event(Released, 4, 9, {})}};
}

TEST(WatchMessages, W2WhatWasHeldBeforeAnEventComesBackAsItWas) {
  const WatchBlock block = told_before();
  const auto message = decode_watch_message(payload_of(block));
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message.value().blocks, std::vector{block});
}

// Whoever lets a lock go may let many in.
TEST(WatchMessages, W2AHoldWhosePlaceManyTookIsToldOnce) {
  const std::string note(kNoteBytesMax, 'n');
  WatchBlock block{ShardId{1}, LogIndex{9}, {}};
  for (std::uint64_t k = 2; k < 66; ++k) {
    block.events.push_back(event(WatchEventKind::Granted, k, k, hold(1, 5, note)));
  }
  const auto payload = payload_of(block);
  EXPECT_LT(payload.size(), note.size() + 64 * 18 + 64);
  EXPECT_EQ(decode_watch_message(payload).value().blocks, std::vector{block});
}

TEST(WatchMessages, W2WhoDoesNotAskIsSentNoByteMore) {
  const WatchBlock block{ShardId{1}, LogIndex{9}, {event(WatchEventKind::Released, 1, 5, {})}};
  EXPECT_EQ(payload_of(block).size(), 4u + 14 + 18 + 3);
}

// Where the flags of the only event of a payload stand.
constexpr std::size_t kFlagsAt = 4 + 14 + 1;

TEST(WatchMessages, W2FlagsOfWhatWasBeforeThatMeanNothingAreRefused) {
  constexpr unsigned kKnown = 4;
  constexpr unsigned kHold = 8;
  constexpr unsigned kValue = 16;
  constexpr unsigned kSame = 32;
  const auto taken = [](WatchEventKind kind, unsigned flags) {
    auto payload = payload_of({ShardId{1}, LogIndex{9}, {event(kind, 1, 5, {})}});
    payload[kFlagsAt] = std::byte{static_cast<unsigned char>(flags)};
    payload.resize(payload.size() + ((flags & kHold) != 0 ? 16 : 0));
    payload.resize(payload.size() + ((flags & kValue) != 0 ? 2 : 0));  // An empty one.
    return decode_watch_message(payload).ok();
  };
  for (unsigned flags = 0; flags < 256; flags += 4) {
    const bool rest = flags > kKnown + kHold + kValue;
    EXPECT_EQ(taken(WatchEventKind::Released, flags),
              flags == 0 || flags == kKnown || flags == kKnown + kValue)
        << flags;
    EXPECT_EQ(taken(WatchEventKind::Waiting, flags), flags == 0 || flags == kKnown) << flags;
    EXPECT_EQ(taken(WatchEventKind::Granted, flags),
              !rest && (flags == 0 || ((flags & kKnown) != 0 && flags != kKnown + kValue)))
        << flags << ", of which " << kSame << " needs an event before it";
  }
}

TEST(WatchMessages, W2TheSameAsNothingIsRefused) {
  const WatchPrevious nothing{.before = WatchBefore::Nothing};
  const auto second = [&](const WatchPrevious& first) {
    auto payload = payload_of({ShardId{1},
                               LogIndex{9},
                               {event(WatchEventKind::Granted, 2, 6, first),
                                event(WatchEventKind::Granted, 3, 7, nothing)}});
    payload[payload.size() - 17] = std::byte{1 + 4 + 32};  // Same name, known, the same.
    return decode_watch_message(payload);
  };
  EXPECT_FALSE(second({}).ok());
  EXPECT_FALSE(second(nothing).ok());
  const auto good = second(hold(1, 5, "note"));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value().blocks[0].events[1].previous, hold(1, 5, "note"));
}

TEST(WatchMessages, W2WhatWasBeforeIsCutOffOrTooLong) {
  const auto whole = payload_of(told_before());
  for (std::size_t bytes = 5; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(decode_watch_message(std::span{whole}.first(bytes)).ok()) << bytes;
  }
  WatchBlock block{ShardId{1}, LogIndex{9}, {event(WatchEventKind::Released, 1, 5, hold(1, 5))}};
  block.events[0].previous.value = std::string(kNoteBytesMax, 'n');
  EXPECT_TRUE(decode_watch_message(payload_of(block)).ok());
  block.events[0].previous.value += 'n';
  EXPECT_FALSE(decode_watch_message(payload_of(block)).ok());
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
}  // namespace gcoord::protocol
