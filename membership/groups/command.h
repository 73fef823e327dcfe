// Commands of sessions to groups, and their bytes in the log.
//
// A command stands in the log behind a session, a sequence and the group's name, which the lock
// machine decodes (locks/commands/group_command.h), since it keeps the sessions of a shard. Here is
// the rest:
//
//   Join    op 1 (1), id bytes 1, id, payload
//   Leave   op 1 (2)
//   Update  op 1 (3), payload
//   Arrive  op 1 (4), size 4 little-endian
//
// The struct is host and device; encoding and decoding are host only. Texts point into the bytes
// that were decoded. Thread-safe.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::membership {

// Never renumber: they are in logs.
enum class GroupOp : std::uint8_t {
  Malformed = 0,  // Never encoded.
  Join = 1,
  Leave = 2,
  Update = 3,  // The member's payload becomes this one.
  Arrive = 4,  // At the group's barrier.
};

struct GroupCommand {
  GroupOp op = GroupOp::Malformed;
  std::uint16_t name_bytes = 0;
  std::uint16_t id_bytes = 0;
  std::uint16_t payload_bytes = 0;
  std::uint32_t barrier_size = 0;
  SessionId session;
  NameHash name_hash;
  const char* name = nullptr;
  const char* id = nullptr;
  const char* payload = nullptr;
};

// A session's wait at a group's barrier.
struct Arrival {
  NameHash group;
  SessionId session;
  std::uint64_t generation = 0;
};

// Their texts keep the limits of limits.h.
std::string encode_join(std::string_view id, std::string_view payload);
std::string encode_leave();
std::string encode_update(std::string_view payload);
std::string encode_arrive(std::uint32_t barrier_size);

// A command whose op is Malformed when the bytes are none. The other fields are the caller's.
GroupCommand decode_group_command(std::string_view bytes);

// Whether a member may have this id: 1 to kMemberIdBytesMax bytes of UTF-8 that can be printed.
bool member_id_sound(std::string_view id);

}  // namespace gcoord::membership
