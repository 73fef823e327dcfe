// Reading of JSON text into a value (value.h). Json::dump is the way back.
//
// Arrays and objects may be nested 64 levels deep: reading, writing and destroying a value recurse.
// Text holds UTF-8. Of two members of one name the later value stands, at the place of the first.
// Pure; any thread.
#pragma once

#include "common/json/value.h"
#include "common/status.h"

#include <string_view>

namespace gcoord {

// null when the text is no JSON, or nested too deep.
Json parse_json(std::string_view text);

// The same from a sender who is not trusted. DataLoss: the message says which byte is not JSON,
// which name an object has twice, or that the nesting is too deep.
Result<Json> parse_json_strict(std::string_view text);

}  // namespace gcoord
