#include "common/host/hidden_secrets.h"

#include <strings.h>

#include <cstdlib>
#include <cstring>

namespace gcoord {

namespace {

void hide(char* value, SecretPart part) {
  char* const secret = part == SecretPart::Whole ? value : std::strchr(value, ':');
  if (secret != nullptr) {
    ::explicit_bzero(secret, std::strlen(secret));
  }
}

}  // namespace

void hide_argument(std::span<char*> arguments, std::string_view option, SecretPart part) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word{arguments[i]};
    if (word == "--") {
      return;
    }
    if (word == option && i + 1 < arguments.size()) {
      hide(arguments[i + 1], part);
    } else if (word.starts_with(option) && word.substr(option.size()).starts_with('=')) {
      hide(arguments[i] + option.size() + 1, part);
    }
  }
}

void hide_variable(const std::string& name, SecretPart part) {
  // The text is the environment's own memory, and nobody else writes it.
  if (char* const value = std::getenv(name.c_str()); value != nullptr) {
    hide(value, part);
  }
}

}  // namespace gcoord
