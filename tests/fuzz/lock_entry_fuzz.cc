// Entries of a log on a device as somebody who is not trusted may write them: what they say as
// commands is what encode() takes and decode() gives back, and a node shows and applies each.
#include "locks/commands/ends.h"
#include "locks/commands/entry.h"
#include "locks/commands/entry_record.h"
#include "locks/cpu/lock_cpu.h"
#include "server/history/record_text.h"
#include "server/resident/node/command_reassembler.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace gcoord;         // NOLINT: a program of its own.
using namespace gcoord::locks;  // NOLINT

void judge(std::span<const std::byte> bytes) {
  LockCpu locks{LockOptions{.rows_initial = 64}};
  std::vector<LockEvent> room(kLockEventsPerCommandMax);
  server::CommandReassembler commands;
  std::vector<std::byte> command;
  std::uint64_t index = 0;
  for (; bytes.size() >= sizeof(LockEntry); bytes = bytes.subspan(sizeof(LockEntry))) {
    LockEntry entry;
    std::memcpy(static_cast<void*>(&entry), bytes.data(), sizeof entry);
    GCOORD_ASSERT(!server::record_facts(bytes.first(sizeof entry)).empty());
    const server::ReassembledKind kind = commands.take(ShardId{0}, LogIndex{++index}, entry);
    command.clear();
    commands.append_to(command);
    if (kind == server::ReassembledKind::Record) {
      GCOORD_ASSERT(!command.empty() && command.size() <= kEntryRecordBytesMax);
      GCOORD_ASSERT(record_entries(command).back().word[0] == entry.word[0]);
    }
    if (kind != server::ReassembledKind::Command) {
      continue;
    }
    LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
    locks.apply_bytes(ShardId{0}, LogIndex{index}, command, Tick{2}, events);
  }
}

FuzzInput input_of_entries(const std::vector<LockEntry>& entries) {
  FuzzInput input(entries.size() * sizeof(LockEntry));
  std::memcpy(input.data(), entries.data(), input.size());
  return input;
}

// An acquire, so that the command finds something, and the command.
FuzzInput input_of(const LockCommand& command) {
  auto entries = entries_of(make_acquire({.session = SessionId{1},
                                          .sequence = RequestSequence{1},
                                          .name = "a",
                                          .wait = true,
                                          .ttl_ms = 1000}));
  for (const LockEntry& entry : entries_of(command)) {
    entries.push_back(entry);
  }
  return input_of_entries(entries);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  judge(std::as_bytes(std::span{bytes, byte_count}));
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const ReleaseFields held{.session = SessionId{1},
                           .sequence = RequestSequence{2},
                           .name_hash = hash_name("a"),
                           .token = FencingToken{1}};
  const std::string text = "a" + std::string(100, 'o');
  const std::string why = "aannit hangs";
  const AcquireFields fields{.session = SessionId{2},
                             .sequence = RequestSequence{1},
                             .name = std::string_view{text}.substr(0, 1),
                             .wait = true,
                             .ttl_ms = 1000};
  const std::string crew = std::string("crew") + "\x01\x01" + "a";
  const std::vector<char> list =
      encode_ends(std::vector<SessionEnd>{{SessionId{1}, 1}, {SessionId{2}, 1}});
  const std::vector<std::byte> record(300, std::byte{6});
  return {
      input_of_entries(record_entries(record)),
      input_of(make_group_request({.session = SessionId{1},
                                   .sequence = RequestSequence{2},
                                   .ttl_ms = 1000,
                                   .name_bytes = 4,
                                   .text = crew})),
      input_of(make_group_withdraw({SessionId{1}, RequestSequence{2}, 3, "crew"})),
      input_of(make_expire_sessions(list)),
      input_of(make_acquire_hold({.acquire = fields, .text = text})),
      input_of(make_acquire_hold({.acquire = fields,
                                  .ask = {.flags = kHoldShared, .permits = 1, .limit = 2},
                                  .text = fields.name})),
      input_of(make_proclaim(held, text)),
      input_of(make_transfer(held, SessionId{2})),
      input_of(make_break_lock(
          {.token = FencingToken{1}, .all = true, .name_bytes = 1, .who_bytes = 3, .text = why})),
      input_of(make_end_delay(hash_name("a"), FencingToken{1}))};
}
