// Reading of JSON text into a value (value.h), and its text for programs. Json::dump is the text
// for people and terminals.
//
// Arrays and objects may be nested 64 levels deep: reading, writing and destroying a value recurse.
// Text holds UTF-8. Of two members of one name the later value stands, at the place of the first.
// Pure; any thread.
#pragma once

#include "common/json/value.h"
#include "common/status.h"

#include <string>
#include <string_view>

namespace gcoord {

// null when the text is no JSON, or nested too deep.
Json parse_json(std::string_view text);

// The same from a sender who is not trusted. DataLoss: the message says which byte is not JSON,
// which name an object has twice, or that the nesting is too deep.
Result<Json> parse_json_strict(std::string_view text);

// One line without its end. Like dump() it replaces bytes that are not UTF-8, but only what JSON
// must escape is an escape: text that would control a terminal stands as it is.
std::string json_line(const Json& json);

// The same with the members of each object in the order of their names, as bytes: equal values have
// equal text, in whatever order members were added.
std::string canonical_json(const Json& json);

}  // namespace gcoord
