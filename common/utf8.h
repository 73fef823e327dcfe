// Is this text well-formed UTF-8? (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF.)
// Names come from clients and are printed by tools; malformed ones are refused at every door.
// Host only; thread-safe.
#pragma once

#include <string_view>

namespace gcoord {

bool utf8_well_formed(std::string_view text);

}  // namespace gcoord
