// Commands with a text as entries of a log on a device: there and back, cut, torn and hostile.
#include "locks/commands/entry_text.h"

#include "common/random.h"
#include "locks/commands/ends.h"
#include "locks/commands/entry.h"
#include "locks/commands/move_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::locks {
namespace {

std::vector<std::byte> bytes_of(const LockCommand& command) {
  std::vector<std::byte> bytes;
  encode(command, bytes);
  return bytes;
}

// What is applied of the last of the entries; empty: nothing is.
std::vector<std::byte> applied(const std::vector<LockEntry>& entries) {
  const LogIndex index{100 + entries.size()};
  const auto log = [&entries, index](LogIndex earlier) {
    const std::uint64_t back = index.value - earlier.value;
    return back < entries.size() ? entries[entries.size() - 1 - back] : LockEntry{};
  };
  LockCommand command;
  EntryBytes text{};
  if (!read_command(log, index, entries.back(), text, command)) {
    return {};
  }
  return command.kind == LockCommandKind::Unknown ? std::vector{std::byte{255}} : bytes_of(command);
}

class LockEntryText : public testing::Test {
 protected:
  LockCommand hold(std::size_t name_bytes, std::size_t note_bytes, const HoldOptions& ask = {}) {
    const auto text = keep(std::string(name_bytes, 'n') + std::string(note_bytes, 'o'));
    return make_acquire_hold({.acquire = {.session = SessionId{5},
                                          .sequence = RequestSequence{40},
                                          .acked_below = RequestSequence{38},
                                          .name = text.substr(0, name_bytes),
                                          .wait = true,
                                          .ttl_ms = 9000},
                              .ask = ask,
                              .text = text});
  }

  static ReleaseFields holder(bool by_token = false) {
    return {.session = SessionId{5},
            .sequence = RequestSequence{41},
            .acked_below = RequestSequence{39},
            .name_hash = hash_name("n"),
            .token = FencingToken{77},
            .by_token = by_token};
  }

  LockCommand breaks(std::size_t name_bytes, std::size_t reason_bytes, bool all = false) {
    const auto text = keep(std::string(name_bytes, 'n') + "ann" + std::string(reason_bytes, 'r'));
    return make_break_lock({.token = FencingToken{3},
                            .all = all,
                            .name_bytes = static_cast<std::uint16_t>(name_bytes),
                            .who_bytes = 3,
                            .text = text});
  }

  LockCommand asks_group(std::size_t name_bytes,
                         std::size_t body_bytes,
                         std::uint32_t ttl_ms = 9000) {
    return make_group_request(
        {.session = SessionId{5},
         .sequence = RequestSequence{40},
         .acked_below = RequestSequence{38},
         .ttl_ms = ttl_ms,
         .name_bytes = static_cast<std::uint16_t>(name_bytes),
         .text = keep(std::string(name_bytes, 'g') + std::string(body_bytes, 'b'))});
  }

  LockCommand ends(std::uint32_t count) {
    std::vector<SessionEnd> listed;
    for (std::uint32_t k = 0; k < count; ++k) {
      listed.push_back({SessionId{std::uint64_t{7} << 40 | k}, k + 1});
    }
    const std::vector<char> list = encode_ends(listed);
    return make_expire_sessions(keep(std::string(list.begin(), list.end())));
  }

  static LockCommand withdraws(std::string_view name, std::uint8_t flags = 0) {
    return make_group_withdraw({.session = SessionId{5},
                                .sequence = RequestSequence{40},
                                .generation = 12,
                                .name = name,
                                .flags = flags});
  }

  LockCommand moves_in(std::size_t name_bytes, std::uint32_t sessions) {
    std::string text(name_bytes, 'm');
    for (std::uint32_t k = 0; k < sessions; ++k) {
      const std::uint64_t session = std::uint64_t{3} << 40 | (k + 1);
      const std::uint32_t ttl_ms = 1000 + k;
      text.append(reinterpret_cast<const char*>(&session), sizeof session);
      text.append(reinterpret_cast<const char*>(&ttl_ms), sizeof ttl_ms);
    }
    return make_move_in({.from = ShardId{4},
                         .number = 9,
                         .token = FencingToken{sessions == 0 ? 0u : 70u},
                         .token_last = 90,
                         .name_bytes = static_cast<std::uint16_t>(name_bytes),
                         .text = keep(std::move(text))});
  }

  static LockCommand lapses() {
    return make_move_lapse(
        SessionId{5}, RequestSequence{kImportedSequence | kLapsingSequence | 12}, hash_name("n"));
  }

  std::vector<LockCommand> some_of_each() {
    return {moves_in(7, 4),
            make_move_out("a name", ShardId{3}),
            make_move_done(hash_name("n"), 8),
            lapses(),
            hold(3, 0, {.flags = kHoldShared, .permits = 1}),
            make_proclaim(holder(), "now"),
            make_transfer(holder(), SessionId{9}),
            breaks(8, 12),
            make_end_delay(hash_name("n"), FencingToken{4}),
            asks_group(7, 20),
            withdraws("crew", kWithdrawRendezvous),
            ends(5)};
  }

  // Commands refer to their texts.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::deque<std::string> texts_;
};

TEST_F(LockEntryText, EachCommandComesBackFromItsEntriesAsItWas) {
  const auto expect_same = [](const LockCommand& command) {
    ASSERT_TRUE(is_entry_command(command));
    EXPECT_EQ(applied(entries_of(command)), bytes_of(command));
  };
  for (const std::size_t note : {0u, 1u, 31u, 32u, 33u, 512u}) {
    expect_same(hold(1, note, {.flags = kHoldReentrant, .limit = 7, .delay_ms = 60'000}));
    expect_same(hold(520, note, {.flags = kHoldRanked, .permits = 255}));
    expect_same(make_proclaim(holder(), std::string(note, 'v')));
    expect_same(make_proclaim(holder(true), std::string(note, 'v')));
  }
  expect_same(hold(1024, 8, {}));
  expect_same(hold(200, 0, {.flags = kHoldShared, .permits = 3, .limit = 65'535}));
  expect_same(hold(4, 0, {.flags = kHoldShared | kHoldDowngrade, .permits = 1}));
  expect_same(make_transfer(holder(), SessionId{~std::uint64_t{0} - 1}));
  expect_same(make_transfer(holder(true), SessionId{6}));
  expect_same(make_end_delay(hash_name("n"), FencingToken{4}));
  expect_same(breaks(1, 1, true));
  expect_same(breaks(517, 512));
  for (const std::size_t body : {1u, 24u, 25u, 578u}) {
    expect_same(asks_group(1, body));
    expect_same(asks_group(256, body, 0));
  }
  for (std::uint8_t flags = 0; flags <= kWithdrawLastCall; ++flags) {
    expect_same(withdraws("crew", flags));
  }
  for (const std::uint32_t count : {2u, 3u, 4u, kEntryEndsMax}) {
    expect_same(ends(count));
  }
  expect_same(make_move_out("n", ShardId{~0u}));
  expect_same(make_move_out(keep(std::string(1024, 'n')), ShardId{3}));
  expect_same(make_move_done(hash_name("n"), kMoveNumberMax));
  expect_same(lapses());
  for (const std::uint32_t sessions : {0u, 1u, 2u, 100u}) {
    expect_same(moves_in(1, sessions));
    expect_same(moves_in(700, sessions));
  }
  expect_same(moves_in(1, kMoveWaitersMax + 1));
  expect_same(moves_in(1024, 82));
}

// A device reads it elsewhere; and a host that has too little room for it takes it for nothing.
TEST_F(LockEntryText, AMoveInIsLongerThanANameAndHasNoPlaceThere) {
  const auto entries = entries_of(moves_in(1, kMoveWaitersMax + 1));
  EXPECT_LE(entries.size(), kMovePiecesMax + 1u);
  EXPECT_GT(entries.size(), kPiecesMax + 1u);
  const LogIndex index{entries.size()};
  const auto log = [&entries](LogIndex at) { return entries[at.value - 1]; };
  LockCommand command;
  EntryName name{};
  EXPECT_FALSE(read_command(log, index, entries.back(), name, command));
  EntryBytes text{};
  EXPECT_TRUE(read_command(log, index, entries.back(), text, command));
}

TEST_F(LockEntryText, SessionsThatCannotBeAreNothing) {
  const auto torn = [this](std::size_t at, char byte) {
    LockCommand command = moves_in(4, 3);
    std::string text(command.name, text_bytes(command));
    text[at] = byte;
    command.name = keep(text).data();
    return applied(entries_of(command));
  };
  EXPECT_FALSE(torn(4, 9).empty()) << "another session";
  EXPECT_TRUE(torn(4 + 12 + 11, 127).empty()) << "a TTL of days";
  LockCommand nobody = moves_in(4, 3);
  std::string text(nobody.name, text_bytes(nobody));
  text.replace(4 + 24, 8, 8, '\0');
  nobody.name = text.data();
  EXPECT_TRUE(applied(entries_of(nobody)).empty());
  text.replace(4 + 24, 8, 8, '\xff');
  EXPECT_TRUE(applied(entries_of(nobody)).empty()) << "the keeper";
}

TEST_F(LockEntryText, TheEntriesOfACommandAreThoseOfWhatItsEncodingDecodesTo) {
  std::vector<LockCommand> commands = some_of_each();
  for (const std::uint32_t ttl_ms : {0u, 9000u}) {
    commands.push_back(make_acquire({.session = SessionId{5},
                                     .sequence = RequestSequence{40},
                                     .acked_below = RequestSequence{38},
                                     .name = "a name that takes more than one entry of a log",
                                     .wait = ttl_ms != 0,
                                     .ttl_ms = ttl_ms}));
  }
  commands.push_back(hold(200, 31, {.flags = kHoldRanked, .permits = 255}));
  commands.push_back(make_proclaim(holder(true), "then"));
  commands.push_back(make_release(holder()));
  commands.push_back(make_release(holder(true)));
  commands.push_back(make_cancel_wait(SessionId{5}, RequestSequence{3}, true));
  commands.push_back(make_register_session(SessionId{5}, 9000));
  commands.push_back(make_expire_session(SessionId{5}, 7));
  commands.push_back(make_close_session(SessionId{5}, RequestSequence{4}));
  commands.push_back(asks_group(200, 500, 0));
  commands.push_back(withdraws("a group whose name takes more than one entry of a log"));
  commands.push_back(ends(30));
  for (const LockCommand& command : commands) {
    const std::vector<std::byte> bytes = bytes_of(command);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded.ok());
    ASSERT_EQ(is_entry_command(decoded.value()), is_entry_command(command));
    const std::vector<LockEntry> own = entries_of(command);
    const std::vector<LockEntry> theirs = entries_of(decoded.value());
    ASSERT_EQ(own.size(), theirs.size());
    EXPECT_EQ(std::memcmp(own.data(), theirs.data(), own.size() * sizeof(LockEntry)), 0)
        << static_cast<int>(command.kind);
  }
}

TEST_F(LockEntryText, WhatIsTooLongForThePiecesOfANameHasNoEntries) {
  EXPECT_TRUE(is_entry_command(hold(520, 512)));
  EXPECT_FALSE(is_entry_command(hold(521, 512)));
  EXPECT_FALSE(is_entry_command(breaks(518, 512)));
  EXPECT_EQ(entries_of(hold(520, 512)).size(), kPiecesMax + 1);
  EXPECT_FALSE(is_entry_command(ends(kEntryEndsMax + 1)));
  EXPECT_FALSE(is_entry_command(moves_in(1024, 83)));
  EXPECT_FALSE(is_entry_command(moves_in(1, kMoveWaitersMax + 2)));
}

TEST_F(LockEntryText, ACommandWhosePiecesAreNotAllThereIsNothing) {
  const auto whole = entries_of(hold(20, 100));
  ASSERT_EQ(whole.size(), 5u);
  for (std::size_t k = 0; k + 1 < whole.size(); ++k) {
    auto torn = whole;
    torn.erase(torn.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_TRUE(applied(torn).empty()) << k;
    torn = whole;
    torn[k] = barrier_entry();
    EXPECT_TRUE(applied(torn).empty()) << k;
    torn = whole;
    std::swap(torn[k], torn[(k + 1) % 4]);
    EXPECT_TRUE(applied(torn).empty()) << k;
  }
}

// Of a sequence that was used twice, with another note.
TEST_F(LockEntryText, PiecesOfAnotherAttemptAreNotTaken) {
  const auto whole = entries_of(hold(20, 100));
  auto mixed = whole;
  mixed.front() = entries_of(hold(20, 99)).front();
  EXPECT_TRUE(applied(mixed).empty());
}

// A log that was full took the pieces of one attempt and refused its end.
TEST_F(LockEntryText, PiecesOfAnotherAttemptAtTheSameAreNotTaken) {
  const LockCommand plain = make_acquire({.session = SessionId{5},
                                          .sequence = RequestSequence{40},
                                          .acked_below = RequestSequence{38},
                                          .name = keep(std::string(100, 'n')),
                                          .ttl_ms = 9000});
  const auto numbered = [](const LockCommand& command, std::uint64_t first) {
    auto entries = entries_of(command);
    for (LockEntry& entry : entries) {
      entry.request = first++;
    }
    return entries;
  };
  for (const LockCommand& command : {plain, hold(20, 100)}) {
    const auto one = numbered(command, 7);
    const auto next = numbered(command, 7 + one.size());
    EXPECT_EQ(applied(one), bytes_of(command));
    EXPECT_EQ(applied(next), bytes_of(command));
    for (std::size_t k = 0; k + 1 < one.size(); ++k) {
      auto mixed = next;
      std::copy_n(one.begin(), k + 1, mixed.begin());
      EXPECT_TRUE(applied(mixed).empty()) << k;
    }
    // A release of before says no numbers, of a whole command or of none.
    EXPECT_EQ(applied(entries_of(command)), bytes_of(command));
    auto older = entries_of(command);
    older.back().request = 9;
    EXPECT_TRUE(applied(older).empty());
  }
}

TEST_F(LockEntryText, WhatCannotBeIsUnknownOrNothingAndNeverAsserts) {
  std::uint32_t unknown = 0;
  std::uint32_t nothing = 0;
  for (std::uint32_t seed = 0; seed < 24'000; ++seed) {
    const auto commands = some_of_each();
    auto entries = entries_of(commands[seed % commands.size()]);
    LockEntry& head = entries.back();
    const std::uint64_t bits = random64(1, seed, 0);
    switch (bits % 3) {
      case 0:
        head.head ^= 1u << (8 + bits / 3 % 24);
        break;
      case 1:
        head.word[bits / 3 % 6] ^= std::uint64_t{1} << (bits / 18 % 64);
        break;
      default:
        head.word[bits / 3 % 6] = random64(1, seed, 1) & (bits % 2 == 0 ? ~std::uint64_t{0} : 3u);
        break;
    }
    const auto bytes = applied(entries);
    unknown += bytes.size() == 1 ? 1 : 0;
    nothing += bytes.empty() ? 1 : 0;
  }
  EXPECT_GT(unknown, 1000u);
  EXPECT_GT(nothing, 1000u);
}

TEST_F(LockEntryText, NumbersBeyondTheirBoundsAreUnknown) {
  const auto expect_unknown = [](const LockEntry& head) {
    EXPECT_EQ(command_of(head).kind, LockCommandKind::Unknown);
  };
  LockEntry asks = entries_of(hold(20, 100)).back();
  asks.word[5] = std::uint64_t{513} << 48;
  expect_unknown(asks);
  asks.word[5] = 0;  // Nothing is asked.
  expect_unknown(asks);
  asks.word[5] = std::uint64_t{128} << 48 | 0x80;
  expect_unknown(asks);
  asks = entries_of(hold(20, 100)).back();
  asks.word[0] = kKeeperSession.value;
  expect_unknown(asks);
  asks.word[0] = 5;
  asks.word[1] |= kImportedSequence;
  expect_unknown(asks);
  asks = entries_of(hold(20, 100)).back();
  asks.head = (asks.head & 0xffffu) | 1025u << 16;
  expect_unknown(asks);
  for (const auto body_bytes : {0u, kGroupBodyBytesMax + 1}) {
    LockEntry request = entries_of(asks_group(4, 9)).back();
    request.word[5] = body_bytes;
    expect_unknown(request);
  }
  for (const auto name_bytes : {0u, kGroupNameBytesMax + 1}) {
    for (const LockCommand& command : {asks_group(4, 9), withdraws("crew")}) {
      LockEntry named = entries_of(command).back();
      named.head = (named.head & 0xffffu) | name_bytes << 16;
      expect_unknown(named);
    }
  }
  LockEntry registers = entries_of(asks_group(4, 9)).back();
  registers.word[2] &= 0xffff'ffffu;  // It registers, and says no TTL.
  expect_unknown(registers);
  for (const auto list_bytes : {0u, 13u, (kEntryEndsMax + 1) * sessions::kEndBytes}) {
    LockEntry list = entries_of(ends(2)).back();
    list.head = (list.head & 0xffffu) | list_bytes << 16;
    expect_unknown(list);
  }
  LockEntry break_head = entries_of(breaks(8, 12)).back();
  for (const auto lengths : {0ull, 15ull << 32, 15ull << 32 | 15, 700ull << 32 | 3}) {
    break_head.word[2] = lengths;
    expect_unknown(break_head);
  }
}

}  // namespace
}  // namespace gcoord::locks
