// Options of a login: --user NAME[:PASSWORD], --password-file, --token-file.
//
// The terminal prompts for a password that no option gives, and shows nothing meanwhile.
// Passwords on a command line are seen by others of the host; files and the terminal are not. One
// thread.
#pragma once

#include "common/status.h"
#include "gcoord/options.h"

#include <string>

namespace gcoord::cli {

struct LoginOptions {
  std::string user;           // NAME or NAME:PASSWORD.
  std::string password_file;  // Its first line.
  std::string token_file;
};

// What these say, without asking anybody where they say enough. GC6544 for a file that cannot be
// used, GC1002 where a password is missing and there is no terminal to ask on.
Result<client::Credentials> credentials_of(const LoginOptions& options);

}  // namespace gcoord::cli
