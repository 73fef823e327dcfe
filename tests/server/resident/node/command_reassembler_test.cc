#include "server/resident/node/command_reassembler.h"

#include "locks/commands/command.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCommand;
using locks::LockEntry;

constexpr ShardId kShard{3};

class ToldCommandsTest : public testing::Test {
 protected:
  // Takes the entries of one command; what the last of them was.
  ReassembledKind take(const std::vector<LockEntry>& entries) {
    ReassembledKind kind = ReassembledKind::Nothing;
    for (const LockEntry& entry : entries) {
      kind = commands_.take(kShard, LogIndex{++index_}, entry);
    }
    bytes_.clear();
    commands_.append_to(bytes_);
    return kind;
  }

  void expect_known(const LockCommand& command) {
    ASSERT_EQ(take(locks::entries_of(command)), ReassembledKind::Command);
    const auto decoded = locks::decode(bytes_);
    ASSERT_TRUE(decoded.ok());
    const LockCommand& theirs = decoded.value();
    const LockCommand* own = commands_.command();
    ASSERT_NE(own, nullptr) << static_cast<int>(command.kind);
    EXPECT_EQ(own->kind, theirs.kind);
    EXPECT_EQ(own->flags, theirs.flags);
    EXPECT_EQ(own->ttl_ms, theirs.ttl_ms);
    EXPECT_EQ(own->serial, theirs.serial);
    EXPECT_EQ(own->hold_flags, theirs.hold_flags);
    EXPECT_EQ(own->hold_permits, theirs.hold_permits);
    EXPECT_EQ(own->note_bytes, theirs.note_bytes);
    EXPECT_EQ(own->session, theirs.session);
    EXPECT_EQ(own->sequence, theirs.sequence);
    EXPECT_EQ(own->acked_below, theirs.acked_below);
    EXPECT_EQ(own->token, theirs.token);
    EXPECT_TRUE(own->name_hash == theirs.name_hash);
    EXPECT_EQ(std::string_view(own->name, own->name_bytes),
              std::string_view(theirs.name, theirs.name_bytes));
  }

  static LockCommand acquire(std::string_view name) {
    return locks::make_acquire({.session = SessionId{5},
                                .sequence = RequestSequence{40},
                                .acked_below = RequestSequence{38},
                                .name = name,
                                .wait = true,
                                .ttl_ms = 9000});
  }

  CommandReassembler commands_;
  std::vector<std::byte> bytes_;
  std::uint64_t index_ = 0;
};

TEST_F(ToldCommandsTest, APlainCommandStandsBesideItsBytesAsTheyDecode) {
  expect_known(acquire("a"));
  expect_known(acquire("a name that takes more than one entry of the log on a device"));
  for (const bool by_token : {false, true}) {
    expect_known(locks::make_release({.session = SessionId{5},
                                      .sequence = RequestSequence{41},
                                      .acked_below = RequestSequence{39},
                                      .name_hash = acquire("a").name_hash,
                                      .token = FencingToken{77},
                                      .by_token = by_token}));
  }
  expect_known(locks::make_cancel_wait(SessionId{5}, RequestSequence{3}, true));
  expect_known(locks::make_register_session(SessionId{5}, 9000));
  expect_known(locks::make_expire_session(SessionId{5}, 7));
  expect_known(locks::make_close_session(SessionId{5}, RequestSequence{4}));
}

TEST_F(ToldCommandsTest, ANameThatDoesNotFitItsHashIsLeftToTheDecoder) {
  LockCommand command = acquire("a");
  command.name_hash.low ^= 1;
  ASSERT_EQ(take(locks::entries_of(command)), ReassembledKind::Command);
  EXPECT_EQ(commands_.command(), nullptr);
}

TEST_F(ToldCommandsTest, WhatIsNoCommandLeavesNoneOfTheOneBefore) {
  expect_known(acquire("a"));
  EXPECT_EQ(take({LockEntry{}}), ReassembledKind::Nothing);
  EXPECT_EQ(commands_.command(), nullptr);
  expect_known(acquire("a"));
  EXPECT_EQ(take({locks::barrier_entry()}), ReassembledKind::Barrier);
  EXPECT_EQ(commands_.command(), nullptr);
}

}  // namespace
}  // namespace gcoord::server
