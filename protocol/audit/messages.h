// Payloads of SessionDescribe and HolderDescribe: who is behind sessions.
//
// A node answers from the notes of its shards (security/audit/note_table.h), as far as its replicas
// have applied; a session without a note is not in the reply. Decoding is bounded and never trusts
// a count. Pure functions; thread-safe.
#pragma once

#include "common/status.h"
#include "security/audit/note_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::protocol {

// Sessions of one request or reply. A SessionDescribe has them as a KeepAlive does
// (session_messages.h); a HolderDescribe is the name alone.
inline constexpr std::size_t kDescribedMax = 1000;

// u32 count, then u64 session, u64 Unix milliseconds of the first note, and the origin
// (security/audit/note.h) each.
std::vector<std::byte> encode_origins(std::span<const security::KnownOrigin> origins);
Result<std::vector<security::KnownOrigin>> decode_origins(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
