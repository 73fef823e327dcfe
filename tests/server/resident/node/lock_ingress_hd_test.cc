// The judge of ingress lanes on the host and in a kernel, as each stripe of a device runs it.
#include "common/random.h"
#include "server/resident/node/lock_ingress.h"
#include "tests/hd_test.h"

namespace gcoord::server {
namespace {

using locks::LockCommandKind;

constexpr std::uint32_t kShards = 1000;

GCOORD_HD constexpr std::uint32_t head_of(LockCommandKind kind, std::uint32_t number) {
  return static_cast<std::uint32_t>(kind) | number << 16;
}

// A sound acquire of a name of five bytes, in the shard of its hash.
GCOORD_HD TurnRequest sound_acquire(std::uint32_t seed) {
  TurnRequest request;
  request.head = head_of(LockCommandKind::Acquire, 5);
  request.tag = 1 + seed;
  request.word[0] = 1 + random64(1, seed, 0) % 1000;  // The session,
  request.word[1] = 8 + seed;                         // its sequence,
  request.word[2] = seed % 8;                         // how far below it all is acknowledged,
  request.word[3] = random64(1, seed, 3);             // the hash,
  request.word[4] = random64(1, seed, 4);
  request.word[5] = random64(1, seed, 5);  // and the name.
  request.shard = shard_of(NameHash{request.word[3], request.word[4]}, kShards);
  return request;
}

HD_TEST(IngressJudge, ASoundAcquireIsTakenAndEachFaultIsNamed) {
  const TurnRequest sound = sound_acquire(seed);
  HD_EXPECT(ingress_fault(sound, {}, kShards) == IngressFault::None);
  TurnRequest broken = sound;
  broken.head = head_of(LockCommandKind::Unknown, 5);
  HD_EXPECT(ingress_fault(broken, {}, kShards) == IngressFault::Kind);
  broken = sound;
  broken.word[0] = 0;
  HD_EXPECT(ingress_fault(broken, {}, kShards) == IngressFault::Field);
  broken = sound;
  broken.word[1] += sessions::kSequenceAheadMax + 1;
  broken.word[2] += sessions::kSequenceAheadMax + 1;
  HD_EXPECT(ingress_fault(broken, {}, kShards) == IngressFault::Window);
  broken = sound;
  broken.shard = ShardId{(sound.shard.value + 1 + seed % (kShards - 1)) % kShards};
  HD_EXPECT(ingress_fault(broken, {}, kShards) == IngressFault::Shard);
  HD_EXPECT(ingress_fault(sound, {2, kNeedsAcquire}, kShards) == IngressFault::Right);
  HD_EXPECT(ingress_fault(sound, {2, ~kNeedsAcquire}, kShards) == IngressFault::None);
}

// A session that a leader ends is the node's alone.
HD_TEST(IngressJudge, CommandsOfNodesAreTakenFromNobodyElse) {
  TurnRequest request;
  request.head = head_of(LockCommandKind::ExpireSession, 0);
  request.tag = 1 + seed;
  request.word[0] = 1 + random64(2, seed, 0) % 1000;
  request.word[2] = static_cast<std::uint64_t>(1 + seed) << 32;  // The registration's serial.
  request.shard = ShardId{seed % kShards};
  HD_EXPECT(ingress_fault(request, {}, kShards) == IngressFault::None);
  HD_EXPECT(ingress_fault(request, {2, 0}, kShards) == IngressFault::Right);
}

// Bits of a sound acquire flip by chance: what is taken nevertheless is a command of its shard, and
// its pass allows it.
HD_TEST(IngressJudge, WhatIsTakenIsSoundWhateverTheWordsSay) {
  TurnRequest request = sound_acquire(seed);
  for (std::uint64_t k = random64(3, seed, 0) % 4; k > 0; --k) {
    const std::uint64_t bit = random64(3, seed, k) % 416;
    if (bit < 32) {
      request.head ^= 1u << bit;
    } else {
      request.word[(bit - 32) / 64] ^= std::uint64_t{1} << ((bit - 32) % 64);
    }
  }
  const TurnPass pass{seed % 3, random64(3, seed, 9)};
  if (ingress_fault(request, pass, kShards) == IngressFault::None) {
    const locks::LockEntry entry = entry_of_request(request);
    if (!locks::is_nothing_to_locks(entry.kind())) {
      const locks::LockCommand said = locks::command_of(entry);
      HD_EXPECT(locks::is_entry_command(said));
      HD_EXPECT(!has_name_hash(said.kind) || shard_of(said.name_hash, kShards) == request.shard);
      HD_EXPECT((needs_of(said.kind) & pass.withheld) == 0);
      HD_EXPECT(!is_of_node(said.kind) || pass.principal == 0);
    }
  }
}

}  // namespace
}  // namespace gcoord::server
