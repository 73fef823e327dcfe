#include "cli/credentials/user_text.h"

#include <cstddef>

namespace gcoord::cli {

std::string_view written_name(std::string_view user) {
  std::size_t colon = user.find(':');
  while (colon != std::string_view::npos && colon > 0 && user[colon - 1] == '\\') {
    colon = user.find(':', colon + 1);
  }
  return user.substr(0, colon);
}

std::string name_of_written(std::string_view written) {
  std::string name;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const bool escape = written[i] == '\\' && i + 1 < written.size() && written[i + 1] == ':';
    i += escape ? 1 : 0;
    name += written[i];
  }
  return name;
}

}  // namespace gcoord::cli
