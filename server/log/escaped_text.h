// Text of a log line with everything escaped that could act on a terminal or break the line.
//
// Log lines quote what came from outside, such as a peer's reason to refuse this node. Escaped are
// controls (C0, DEL, C1), line and paragraph separators, bidi controls, and bytes that are not
// UTF-8. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gcoord::server {

// For people: \u{1b} stands for a character, \x{ff} for a byte that is not UTF-8. Other text is
// unchanged, also a backslash.
std::string escape_for_text(std::string_view text);

// The inside of a JSON string, without its quotes. A byte that is not UTF-8 becomes U+FFFD.
std::string escape_for_json(std::string_view text);

}  // namespace gcoord::server
