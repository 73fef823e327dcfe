// Commands of the log as somebody who is not trusted may write them: what decodes encodes again to
// the same bytes, and a node that applies it stays sound; what does not is an unknown command.
#include "locks/commands/break_wait.h"
#include "locks/commands/ends.h"
#include "locks/commands/move_command.h"
#include "locks/cpu/lock_cpu.h"
#include "locks/snapshot/snapshot.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <span>
#include <vector>

namespace {

using namespace gcoord;         // NOLINT: a program of its own.
using namespace gcoord::locks;  // NOLINT

using Bytes = std::vector<std::byte>;

// A shard with a few sessions that hold, wait and have requests.
void fill(LockCpu& locks, std::vector<LockEvent>& room) {
  std::uint64_t index = 0;
  for (std::uint64_t session = 1; session <= 4; ++session) {
    for (const char* name : {"a", "b"}) {
      LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
      const LockCommand acquire = make_acquire({.session = SessionId{session},
                                                .sequence = RequestSequence{++index},
                                                .name = name,
                                                .wait = true,
                                                .ttl_ms = 1000});
      locks.apply(ShardId{0}, LogIndex{index}, acquire, Tick{1}, events);
    }
  }
}

void judge(std::span<const std::byte> bytes) {
  LockCpu locks{LockOptions{.rows_initial = 16}};
  std::vector<LockEvent> room(kLockEventsPerCommandMax);
  fill(locks, room);
  const auto decoded = decode(bytes);
  if (decoded.ok()) {
    Bytes again;
    encode(decoded.value(), again);
    GCOORD_ASSERT(std::ranges::equal(again, bytes));
  }
  LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
  const LockReply reply = locks.apply_bytes(ShardId{0}, LogIndex{100}, bytes, Tick{2}, events);
  GCOORD_ASSERT(decoded.ok() || reply.code == LockCode::UnknownCommand);
  GCOORD_ASSERT(parse_snapshot(locks.serialize(ShardId{0})).ok());
}

FuzzInput input_of(const LockCommand& command) {
  Bytes bytes;
  encode(command, bytes);
  FuzzInput input(bytes.size());
  std::ranges::transform(
      bytes, input.begin(), [](std::byte each) { return static_cast<std::uint8_t>(each); });
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  judge(std::as_bytes(std::span{bytes, byte_count}));
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const std::vector<SessionEnd> ends = {
      {SessionId{1}, 1}, {SessionId{2}, 2}, {SessionId{3}, 3}, {SessionId{9}, 9}};
  const std::vector<char> list = encode_ends(ends);
  const ReleaseFields release{.session = SessionId{1},
                              .sequence = RequestSequence{9},
                              .name_hash = hash_name("a"),
                              .token = FencingToken{1}};
  return {input_of(make_expire_sessions(list)),
          input_of(make_expire_session(SessionId{1}, 1)),
          input_of(make_close_session(SessionId{2}, RequestSequence{9})),
          input_of(make_release(release)),
          input_of(make_proclaim(release, "note")),
          input_of(make_transfer(release, SessionId{2})),
          input_of(make_break_wait(SessionId{2}, RequestSequence{3}, LogIndex{3})),
          input_of(make_move_out("a", ShardId{0})),
          input_of(make_register_session(SessionId{7}, 500))};
}
