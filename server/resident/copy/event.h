// Event of a lane, with what the copy of the lock tables made of it (follower.h).
#pragma once

#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "server/resident/node/command_reassembler.h"
#include "server/resident/node/host_lane.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::server {

enum class CopyDeed : std::uint8_t {
  Left,     // Whoever takes the event applies the entry, and compares the state after it.
  Passed,   // The tables have no part in it; or they had the state that the device reported.
  Applied,  // The tables have it, with this reply and these events, and the device's state hash.
};

struct CopyEvent {
  HostEventSlot told;
  CopyDeed deed = CopyDeed::Left;

  // What the entry is, where `read`; else whoever takes the event finds out.
  bool read = false;
  ReassembledKind kind = ReassembledKind::Nothing;
  bool known = false;          // `command` is whole: see CommandReassembler::command().
  locks::LockCommand command;  // Its name stands in `name`.
  std::string name;
  std::vector<std::byte> encoded;  // Of a record, or of a command that is not known.

  // Of one that was applied.
  locks::LockReply reply;
  std::vector<locks::LockEvent> events;

  // Of a snapshot: the pieces that the shard had.
  CommandReassembler::Pieces pieces;
};

}  // namespace gcoord::server
