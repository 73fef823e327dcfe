// The encoding of commands: sizes, round trips, and refusal of everything else.
#include "locks/commands/command.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace gcoord::locks {
namespace {

std::vector<std::byte> encoded(const LockCommand& command) {
  std::vector<std::byte> bytes;
  const std::size_t appended = encode(command, bytes);
  EXPECT_EQ(appended, bytes.size());
  return bytes;
}

LockCommand acquire_named(std::string_view name, std::uint32_t ttl_ms = 5000) {
  return make_acquire({.session = SessionId{1},
                       .sequence = RequestSequence{9},
                       .acked_below = RequestSequence{4},
                       .name = name,
                       .wait = true,
                       .ttl_ms = ttl_ms});
}

std::string_view text_of(const LockCommand& command) {
  return {command.name, std::size_t{command.name_bytes} + command.note_bytes};
}

LockCommand hold_named(std::string_view text, std::size_t name_bytes, const HoldOptions& ask) {
  return make_acquire_hold({.acquire = {.session = SessionId{1},
                                        .sequence = RequestSequence{9},
                                        .acked_below = RequestSequence{4},
                                        .name = text.substr(0, name_bytes),
                                        .wait = true,
                                        .ttl_ms = 5000},
                            .ask = ask,
                            .text = text});
}

bool same(const LockCommand& a, const LockCommand& b) {
  return a.kind == b.kind && a.flags == b.flags && a.session == b.session &&
         a.sequence == b.sequence && a.acked_below == b.acked_below && a.token == b.token &&
         a.ttl_ms == b.ttl_ms && a.serial == b.serial && a.name_hash == b.name_hash &&
         a.hold_flags == b.hold_flags && a.name_bytes == b.name_bytes && text_of(a) == text_of(b);
}

ReleaseFields office_of(bool by_token) {
  return {.session = SessionId{1},
          .sequence = RequestSequence{2},
          .name_hash = hash_name("x"),
          .token = FencingToken{3},
          .by_token = by_token};
}

std::vector<LockCommand> one_of_each() {
  return {acquire_named("jobs/train"),
          acquire_named("x", 0),
          hold_named("jobs/train on gpu7", 10, {.flags = kHoldReentrant, .limit = 3}),
          hold_named("jobs/train on gpu7", 10, {}),
          hold_named("jobs/train", 10, {.flags = kHoldShared, .permits = 200, .limit = 4096}),
          hold_named("jobs/train", 10, {.flags = kHoldReentrant, .limit = 0xffff}),
          make_release({.session = SessionId{1},
                        .sequence = RequestSequence{2},
                        .name_hash = hash_name("x"),
                        .token = FencingToken{3}}),
          make_cancel_wait(SessionId{1}, RequestSequence{2}, true),
          make_register_session(SessionId{1}, 1000),
          make_expire_session(SessionId{1}, 7),
          make_close_session(SessionId{1}, RequestSequence{3}),
          hold_named("jobs/train on gpu7", 10, {.flags = kHoldRanked, .permits = 9}),
          make_proclaim(office_of(false), "on gpu7\n"),
          make_proclaim(office_of(true), ""),
          make_transfer(office_of(false), SessionId{0x1'0000'0007})};
}

TEST(LockCommand, CommonCommandsFitOneCompressionOfTheirMerkleLeaf) {
  EXPECT_EQ(encoded(acquire_named("jobs/twenty-six-bytes-long")).size(), 52u);
  EXPECT_EQ(encoded(acquire_named("jobs/twenty-eight-bytes-long")).size(), 54u);
  EXPECT_EQ(encoded(one_of_each()[6]).size(), 46u);
  EXPECT_EQ(encoded(one_of_each()[7]).size(), 18u);
  EXPECT_EQ(encoded(one_of_each()[9]).size(), 14u);
}

TEST(LockCommand, EveryKindComesBackAsItWas) {
  for (const LockCommand& command : one_of_each()) {
    const auto bytes = encoded(command);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
    EXPECT_TRUE(same(decoded.value(), command));
  }
}

TEST(LockCommand, NothingIsANoop) {
  EXPECT_TRUE(encoded(LockCommand{}).empty());
  EXPECT_EQ(decode({}).value().kind, LockCommandKind::Noop);
}

TEST(LockCommand, EveryTruncationIsRefused) {
  for (const LockCommand& command : one_of_each()) {
    const auto bytes = encoded(command);
    const bool asks =
        (command.flags & kAcquireHold) != 0 && command.kind == LockCommandKind::Acquire;
    const bool says = command.kind == LockCommandKind::Proclaim;
    const std::size_t start =
        bytes.size() - (asks || says ? command.note_bytes : command.name_bytes);
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      // A shorter name is another name, not a truncation; and so is a shorter note.
      const bool no_note = size == start && (says || (asks && pack_ask(hold_ask(command)) != 0));
      const bool cut_text = (says || command.kind == LockCommandKind::Acquire) && size > start;
      EXPECT_EQ(decode(std::span(bytes).first(size)).ok(), cut_text || no_note) << size;
    }
  }
}

TEST(LockCommand, TrailingBytesAreRefused) {
  for (const LockCommand& command : one_of_each()) {
    auto bytes = encoded(command);
    bytes.push_back(std::byte{0x80});
    // They are no name; but a note is any bytes, where one may be.
    const bool notes = command.kind == LockCommandKind::Proclaim ||
                       (command_asks(command) && (command.hold_flags & kHoldShared) == 0);
    EXPECT_EQ(decode(bytes).ok(), notes);
  }
}

TEST(LockCommand, UnknownKindIsUnimplementedAndOddFieldsAreInvalid) {
  auto bytes = encoded(one_of_each()[6]);
  bytes[0] = std::byte{99};
  EXPECT_EQ(decode(bytes).status().code(), StatusCode::Unimplemented);
  bytes = encoded(one_of_each()[6]);
  bytes[1] = std::byte{2};  // A release has one flag.
  EXPECT_EQ(decode(bytes).status().code(), StatusCode::InvalidArgument);
  bytes = encoded(one_of_each()[6]);
  bytes[2] = std::byte{2};  // acked_below would be 0.
  EXPECT_EQ(decode(bytes).status().code(), StatusCode::InvalidArgument);
  bytes = encoded(one_of_each()[8]);
  bytes[13] = std::byte{0xff};  // A TTL of months.
  EXPECT_EQ(decode(bytes).status().code(), StatusCode::InvalidArgument);
}

TEST(LockCommand, ANoteIsBoundedAndATransferNamesASession) {
  auto said = encoded(make_proclaim(office_of(false), std::string(kNoteBytesMax, 'n')));
  EXPECT_TRUE(decode(said).ok());
  said.push_back(std::byte{'n'});
  EXPECT_FALSE(decode(said).ok());
  auto given = encoded(make_transfer(office_of(false), SessionId{1}));
  EXPECT_EQ(given.size(), 54u);
  given[46] = std::byte{0};
  EXPECT_FALSE(decode(given).ok());
}

TEST(LockCommand, AnAskThatNobodyCanMakeIsRefused) {
  const auto whole =
      encoded(hold_named("jobs/train on gpu7", 10, {.flags = kHoldReentrant, .limit = 3}));
  const std::size_t ask = 1 + 1 + 4 + 8 + 8 + 4;
  auto bytes = whole;
  bytes[ask] = std::byte{0x80};  // An unknown flag.
  EXPECT_FALSE(decode(bytes).ok());
  bytes = whole;
  bytes[ask + 2] = std::byte{0};  // Reentrant, but not even once.
  EXPECT_FALSE(decode(bytes).ok());
  bytes = whole;
  bytes[ask + 7] = std::byte{1};  // What no field of an ask says.
  EXPECT_FALSE(decode(bytes).ok());
  bytes = whole;
  bytes[ask + 9] = std::byte{1};  // A name of more bytes than there are.
  EXPECT_FALSE(decode(bytes).ok());
  bytes = whole;
  bytes.resize(bytes.size() + kNoteBytesMax);
  EXPECT_FALSE(decode(bytes).ok());
}

TEST(LockCommand, NamesAreOneToAThousandAndTwentyFourBytesOfUtf8) {
  EXPECT_TRUE(check_name("j").ok());
  EXPECT_TRUE(check_name(std::string(kNameBytesMax, 'x')).ok());
  EXPECT_TRUE(check_name("Zürich/東京/🔒").ok());
  EXPECT_FALSE(check_name("").ok());
  EXPECT_FALSE(check_name(std::string(kNameBytesMax + 1, 'x')).ok());
  EXPECT_FALSE(check_name("\xff").ok());
  EXPECT_FALSE(check_name("\xc0\xaf").ok());
}

RC_GTEST_PROP(LockCommandProperty, WhatDecodesEncodesToTheSameBytes, ()) {
  // Random bytes behind a likely kind, and single byte changes of valid commands.
  auto bytes = encoded(*rc::gen::elementOf(one_of_each()));
  const auto change = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[change] = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  const auto tail =
      *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  if (*rc::gen::arbitrary<bool>()) {
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
    for (const std::uint8_t byte : tail) {
      bytes.push_back(static_cast<std::byte>(byte));
    }
  }
  const auto decoded = decode(bytes);
  if (decoded.ok()) {
    std::vector<std::byte> again;
    encode(decoded.value(), again);
    RC_ASSERT(again == bytes);
  }
}

}  // namespace
}  // namespace gcoord::locks
