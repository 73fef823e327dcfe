// Sessions in what verbs print: of a holder whom the user may not see (lock.read.details) nodes
// show kHiddenSession, which no person takes for a word. Pure; any thread.
#pragma once

#include "common/json/value.h"
#include "protocol/lease_messages.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

inline bool is_hidden(std::uint64_t session_id) {
  return session_id == protocol::kHiddenSession.value;
}

// For tables.
inline std::string session_text(std::uint64_t session_id) {
  return is_hidden(session_id) ? "hidden" : std::to_string(session_id);
}

// For JSON: a text, and null where it is hidden.
inline Json session_value(std::uint64_t session_id) {
  return is_hidden(session_id) ? Json(nullptr) : Json(std::to_string(session_id));
}

// The token of a holder, likewise.
inline std::string token_text(std::uint64_t session_id, std::uint64_t token) {
  return is_hidden(session_id) ? "hidden" : std::to_string(token);
}

inline Json token_value(std::uint64_t session_id, std::uint64_t token) {
  return is_hidden(session_id) ? Json(nullptr) : Json(std::to_string(token));
}

}  // namespace gcoord::cli
