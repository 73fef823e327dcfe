// The check that a connection speaks only for its own sessions.
//
// A connection speaks for a session that it opened or whose key it has shown (SessionAttach). What
// only reads of sessions is a matter of rights, not of keys. Sequences of such a session may not
// leap: a sequence counts from 1, or from microseconds of wall-clock time
// (client::AttachOptions::first_sequence), so one that is more than kSequenceLeapUs above the
// node's own wall clock is nobody's, and would end the numbering of the session for good. Pure:
// time is a parameter. Thread-safe.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/request.h"
#include "server/identities/connection_identity.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::server {

// How far a client's wall clock may be ahead of the node's: a day.
inline constexpr std::uint64_t kSequenceLeapUs = std::uint64_t{24} * 60 * 60 * 1'000'000;

// Of a request.
enum class SessionUse : std::uint8_t {
  None,      // Speaks for no session.
  Slot,      // For that in its slot.
  Numbered,  // The same, and its sequence counts in the session's window.
  List,      // For each of a keep-alive's list.
};

SessionUse session_use(const protocol::RequestSlot& slot);

// Whether the connection has opened or attached each session that the request speaks for. A payload
// that is no list is left to its handler.
bool speaks_for(const ConnectionIdentity& connection,
                const protocol::RequestSlot& slot,
                std::span<const std::byte> payload);

// Whether the sequence of a request of an attached session is further ahead than any can be.
bool leaps(const ConnectionIdentity& connection,
           const protocol::RequestSlot& slot,
           std::uint64_t wall_us);

}  // namespace gcoord::server
