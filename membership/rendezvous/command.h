// Commands of sessions to a rendezvous, and their bytes in the log.
//
// As commands of groups they stand in the log behind a session, a sequence and a name, which the
// lock machine decodes (locks/commands/group_command.h). Here is the rest; the first byte tells
// them from those of groups, which are below 16:
//
//   Arrive  op 1 (16), members at least 4, at most 4, last call in milliseconds 4, payload
//   Leave   op 1 (17)
//
// Little-endian. Decoding trusts nothing. Texts point into the bytes that were decoded.
// Thread-safe.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::membership {

// Never renumber: they are in logs.
enum class RendezvousOp : std::uint8_t {
  Malformed = 0,  // Never encoded.
  Arrive = 16,
  Leave = 17,
};

// Which rounds a session would be part of. All who wait for one round say the same.
struct RendezvousBounds {
  std::uint32_t members_min = 0;  // From so many on the last call runs.
  std::uint32_t members_max = 0;  // With so many the round is complete at once.
  std::uint32_t last_call_ms = 0;

  friend bool operator==(const RendezvousBounds& a, const RendezvousBounds& b) = default;
};

struct RendezvousCommand {
  RendezvousOp op = RendezvousOp::Malformed;
  SessionId session;
  std::uint64_t sequence = 0;
  std::string_view name;
  RendezvousBounds bounds{};
  std::string_view payload;
};

// 1 <= min <= max <= kRendezvousMembersMax.
bool bounds_sound(const RendezvousBounds& bounds);

// Of sound bounds, and a payload of at most kRendezvousPayloadBytesMax bytes.
std::string encode_rendezvous_arrive(const RendezvousBounds& bounds, std::string_view payload);
std::string encode_rendezvous_leave();

// Whether a request's bytes are of a rendezvous, and not of a group.
bool is_rendezvous(std::string_view bytes);

// A command whose op is Malformed when the bytes are none. Session, sequence and name are the
// caller's.
RendezvousCommand decode_rendezvous_command(std::string_view bytes);

}  // namespace gcoord::membership
