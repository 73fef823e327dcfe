// Files that a verb writes when its work is done, and must know beforehand that it can.
#pragma once

#include "common/status.h"

#include <string>

namespace gcoord::cli {

// Whether the file can be written; makes an empty one where there is none. OptionInvalid, which
// names the option, when it cannot.
Status check_writable(const std::string& option, const std::string& path);

// Replaces what is in the file. Unavailable when the disk does not take it.
Status write_text(const std::string& path, const std::string& text);

}  // namespace gcoord::cli
