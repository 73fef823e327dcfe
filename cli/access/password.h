// Passwords of users, as an operator gives them: asked twice on a terminal that shows nothing, or
// the first line of a file. One thread.
#pragma once

#include "common/status.h"

#include <string>

namespace gcoord::cli {

// "-" is standard input. Failures: OptionInvalid for a file that cannot be read, PasswordInvalid
// for a line that is empty or too long.
Result<std::string> password_of_file(const std::string& path);

// Failures: OptionMissing where there is no terminal, PasswordInvalid where nothing was typed or
// not the same twice.
Result<std::string> asked_password(const std::string& user);

}  // namespace gcoord::cli
