#include "cli/terminal/author.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace gcoord::cli {

std::string author() {
  const passwd* user = ::getpwuid(::geteuid());
  std::array<char, 256> host{};
  const bool named = ::gethostname(host.data(), host.size() - 1) == 0;
  std::string who = user != nullptr ? user->pw_name : "uid " + std::to_string(::geteuid());
  return who + "@" + (named ? host.data() : "unknown");
}

}  // namespace gcoord::cli
