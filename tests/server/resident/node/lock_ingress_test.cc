// What a device's turn takes from its ingress lane: everything that a host makes of a command, and
// of what somebody else writes there nothing that could not be such a command.
#include "server/resident/node/lock_ingress.h"

#include "common/random.h"
#include "locks/commands/ends.h"
#include "locks/commands/entry_writer.h"
#include "locks/commands/group_command.h"
#include "locks/commands/move_command.h"
#include "security/roles/rights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCommand;
using locks::LockCommandKind;

constexpr std::uint32_t kShards = 1000;
constexpr SessionId kSession{9};

const std::string& long_name() {
  static const std::string name = "orders/eu/" + std::string(90, 'x');
  return name;
}

ShardId home(std::string_view name) {
  return shard_of(hash_name(name), kShards);
}

LockCommand acquire_of(std::string_view name) {
  return locks::make_acquire({.session = kSession,
                              .sequence = RequestSequence{7},
                              .acked_below = RequestSequence{3},
                              .name = name,
                              .wait = true,
                              .ttl_ms = 5000});
}

locks::ReleaseFields release_fields(std::string_view name) {
  return {.session = kSession,
          .sequence = RequestSequence{8},
          .acked_below = RequestSequence{7},
          .name_hash = hash_name(name),
          .token = FencingToken{70}};
}

TurnRequest request_of(ShardId shard, const locks::LockEntry& entry) {
  TurnRequest request{.shard = shard, .head = entry.head, .tag = 5};
  std::copy(std::begin(entry.word), std::end(entry.word), std::begin(request.word));
  return request;
}

IngressFault judged(ShardId shard, const LockCommand& command, const TurnPass& pass = {}) {
  IngressFault worst = IngressFault::None;
  locks::for_each_entry(command, [&](const locks::LockEntry& entry) {
    const IngressFault fault = ingress_fault(request_of(shard, entry), pass, kShards);
    worst = fault == IngressFault::None ? worst : fault;
  });
  return worst;
}

struct Kind {
  const char* what;
  LockCommand command;
};

// One of each kind that a log on a device has, of a lock in the shard of long_name().
std::vector<Kind> all_kinds() {
  static const std::string broken = long_name() + "ann" + "why";
  static const std::string held = long_name() + "note";
  static const std::string moved = long_name() + std::string("\7\0\0\0\0\0\0\0d\0\0\0", 12);
  std::vector<Kind> kinds = {
      {"acquire", acquire_of(long_name())},
      {"release", locks::make_release(release_fields(long_name()))},
      {"hold",
       locks::make_acquire_hold(
           {.acquire = {.session = kSession,
                        .sequence = RequestSequence{7},
                        .name = std::string_view{held}.substr(0, long_name().size()),
                        .ttl_ms = 5000},
            .text = held})},
      {"cancel", locks::make_cancel_wait(kSession, RequestSequence{7}, false)},
      {"register", locks::make_register_session(kSession, 5000)},
      {"close", locks::make_close_session(kSession, RequestSequence{9})},
      {"break",
       locks::make_break_lock({.token = FencingToken{70},
                               .name_bytes = static_cast<std::uint16_t>(long_name().size()),
                               .who_bytes = 3,
                               .text = broken})},
      {"proclaim", locks::make_proclaim(release_fields(long_name()), "value")},
      {"transfer", locks::make_transfer(release_fields(long_name()), SessionId{10})},
      {"expire", locks::make_expire_session(kSession, 4)},
      {"end delay", locks::make_end_delay(hash_name(long_name()), FencingToken{70})},
      {"move out", locks::make_move_out(long_name(), ShardId{5})},
      {"move in",
       locks::make_move_in({.from = ShardId{5},
                            .number = 3,
                            .token = FencingToken{70},
                            .token_last = 90,
                            .name_bytes = static_cast<std::uint16_t>(long_name().size()),
                            .text = moved})},
      {"move done", locks::make_move_done(hash_name(long_name()), 3)},
      {"move lapse",
       locks::make_move_lapse(
           kSession,
           RequestSequence{locks::kImportedSequence | locks::kLapsingSequence | 7},
           hash_name(long_name()))},
  };
  return kinds;
}

TEST(LockIngress, WhateverAHostProposesIsSound) {
  for (const Kind& kind : all_kinds()) {
    EXPECT_EQ(judged(home(long_name()), kind.command), IngressFault::None) << kind.what;
  }
  EXPECT_EQ(ingress_fault(request_of(ShardId{3}, locks::barrier_entry()), {}, kShards),
            IngressFault::None);
}

TEST(LockIngress, ANameOfAnotherShardIsRefused) {
  const ShardId other{(home(long_name()).value + 1) % kShards};
  for (const Kind& kind : all_kinds()) {
    const bool names = has_name_hash(kind.command.kind);
    EXPECT_EQ(judged(other, kind.command), names ? IngressFault::Shard : IngressFault::None)
        << kind.what;
  }
}

TEST(LockIngress, AWithheldRightIsRefusedForTheKindsThatNeedIt) {
  for (const Kind& kind : all_kinds()) {
    const std::uint64_t needs = needs_of(kind.command.kind);
    const ShardId shard = home(long_name());
    const IngressFault lacks = judged(shard, kind.command, {2, security::kAllRights});
    EXPECT_EQ(lacks != IngressFault::None, needs != 0 || is_of_node(kind.command.kind))
        << kind.what;
    const IngressFault has = judged(shard, kind.command, {2, security::kAllRights & ~needs});
    EXPECT_EQ(has, is_of_node(kind.command.kind) ? IngressFault::Right : IngressFault::None)
        << kind.what;
  }
}

TEST(LockIngress, ASequenceFarAboveWhatIsAcknowledgedIsRefused) {
  LockCommand command = acquire_of("a");
  command.sequence = RequestSequence{sessions::kSequenceAheadMax + 3};
  EXPECT_EQ(judged(home("a"), command), IngressFault::None);
  command.sequence = RequestSequence{sessions::kSequenceAheadMax + 4};
  EXPECT_EQ(judged(home("a"), command), IngressFault::Window);
}

TEST(LockIngress, FieldsOutsideTheirRangesAreRefused) {
  const auto broken = [](auto change) {
    locks::LockEntry entry = locks::entries_of(acquire_of("a")).back();
    change(entry);
    return ingress_fault(request_of(home("a"), entry), {}, kShards);
  };
  EXPECT_EQ(broken([](auto& entry) { entry.word[0] = 0; }), IngressFault::Field) << "no session";
  EXPECT_EQ(broken([](auto& entry) { entry.word[0] = ~0ull; }), IngressFault::Field) << "keeper";
  EXPECT_EQ(broken([](auto& entry) { entry.word[1] = 0; }), IngressFault::Field) << "sequence";
  EXPECT_EQ(broken([](auto& entry) { entry.word[1] |= 1ull << 63; }), IngressFault::Field);
  EXPECT_EQ(broken([](auto& entry) { entry.head &= 0xffffu; }), IngressFault::Field) << "no name";
  EXPECT_EQ(broken([](auto& entry) { entry.head |= 0xffff'0000u; }), IngressFault::Field);
  EXPECT_EQ(broken([](auto& entry) { entry.word[2] |= ~0ull << 32; }), IngressFault::Field);
  EXPECT_EQ(broken([](auto& entry) { entry.word[3] ^= 1; }), IngressFault::Shard);
  for (const std::uint32_t kind : {0u, 11u, 12u, 19u, 77u, 242u, 255u}) {
    EXPECT_EQ(broken([&](auto& entry) { entry.head = (entry.head & ~0xffu) | kind; }),
              IngressFault::Kind)
        << kind;
  }
}

// As the first entry of a term would be told of to the host.
TEST(LockIngress, ATagThatMeansSomethingElseIsRefused) {
  TurnRequest request = request_of(home("a"), locks::entries_of(acquire_of("a")).back());
  request.tag = own_term_tag(Term{3});
  EXPECT_EQ(ingress_fault(request, {}, kShards), IngressFault::Field);
}

TEST(LockIngress, PiecesAndRecordsAreBounded) {
  TurnRequest request;
  request.tag = 1;
  request.head = locks::kEntryPiece | (locks::kRecordPiecesMax - 1) << 16;
  EXPECT_EQ(ingress_fault(request, {}, kShards), IngressFault::None);
  request.head = locks::kEntryPiece | locks::kRecordPiecesMax << 16;
  EXPECT_EQ(ingress_fault(request, {}, kShards), IngressFault::Field);
  request.head = locks::kEntryRecord | locks::kEntryRecordBytesMax << 16;
  EXPECT_EQ(ingress_fault(request, {}, kShards), IngressFault::None);
  request.head = locks::kEntryRecord | (locks::kEntryRecordBytesMax + 1) << 16;
  EXPECT_EQ(ingress_fault(request, {}, kShards), IngressFault::Field);
}

// Words by chance, around commands: what is taken is a command of its shard, and its pass allows
// it.
TEST(LockIngress, WhatIsTakenIsSoundWhateverTheWordsSay) {
  const std::vector<Kind> kinds = all_kinds();
  std::uint32_t taken = 0;
  for (std::uint64_t round = 0; round < 40'000; ++round) {
    const auto draw = [&](std::uint64_t what) { return random64(5, round, what); };
    const LockCommand& command = kinds[draw(0) % kinds.size()].command;
    TurnRequest request = request_of(home(long_name()), locks::entries_of(command).back());
    for (std::uint64_t k = draw(1) % 3; k > 0; --k) {
      const std::uint64_t bit = draw(1 + k) % 448;
      if (bit < 64) {
        request.head ^= bit < 32 ? 1u << bit : 0;
        request.shard.value ^= bit < 32 ? 0 : 1u << (bit - 32);
      } else {
        request.word[bit / 64 - 1] ^= 1ull << (bit % 64);
      }
    }
    const TurnPass pass{draw(7) % 2, draw(8) % 2 == 0 ? 0 : draw(9)};
    if (ingress_fault(request, pass, kShards) != IngressFault::None) {
      continue;
    }
    ++taken;
    const locks::LockEntry entry = entry_of_request(request);
    if (locks::is_nothing_to_locks(entry.kind())) {
      continue;
    }
    const LockCommand said = locks::command_of(entry);
    ASSERT_NE(said.kind, LockCommandKind::Unknown);
    ASSERT_TRUE(locks::is_entry_command(said));
    ASSERT_TRUE(!has_name_hash(said.kind) || shard_of(said.name_hash, kShards) == request.shard);
    ASSERT_EQ(needs_of(said.kind) & pass.withheld, 0u);
  }
  EXPECT_GT(taken, 5'000u);
}

}  // namespace
}  // namespace gcoord::server
