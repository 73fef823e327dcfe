// Sessions in what verbs print: of a holder whom the user may not see (lock.read.details) nodes
// show kHiddenSession, which no person takes for a word. What goes with the holder (token, note,
// who waits) is hidden with it: tables say so in its place and name the right that shows it in a
// line on stderr; JSON has null there, "hidden": true and the right. Pure; any thread.
#pragma once

#include "common/json/value.h"
#include "protocol/lease_messages.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::cli {

inline constexpr std::string_view kHolderRight = "lock.read.details";
inline constexpr std::string_view kSessionsRight = "session.read.all";

// "holders are hidden: ... shows them", for people.
inline std::string hidden_line(std::string_view what, std::string_view right) {
  return std::string{what} + " hidden: it takes the right " + std::string{right} +
         " (gcoordctl whoami prints yours; an administrator grants it to a role)";
}

// Whether something of this object is hidden, and for want of which right.
inline void add_hidden(Json& json, bool hidden, std::string_view right) {
  json["hidden"] = hidden;
  json["right_missing"] = hidden ? Json(std::string{right}) : Json(nullptr);
}

// A text that goes with a holder, for tables and for JSON.
inline std::string text_unless(bool hidden, const std::string& text) {
  return hidden ? "hidden" : text;
}

inline Json value_unless(bool hidden, const std::string& text) {
  return hidden ? Json(nullptr) : Json(text);
}

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
