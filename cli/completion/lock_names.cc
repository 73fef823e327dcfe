#include "cli/completion/lock_names.h"

#include "cli/completion/limited_client.h"
#include "common/text/printable.h"

#include <utility>

namespace gcoord::cli {

std::vector<std::string> lock_names(client::ClientOptions access,
                                    const std::string& beginning,
                                    const LockNameLimits& limits) {
  LimitedClient limited{std::move(access), limits.time};
  auto& client = limited.client();
  std::vector<std::string> names;
  if (!client.ok()) {
    return names;
  }
  client::ListOptions query{.prefix = beginning, .limit = static_cast<std::uint32_t>(limits.names)};
  for (int page = 0; page < limits.pages; ++page) {
    const auto listed = client.value().list(query);
    if (!listed.ok()) {
      break;
    }
    for (const client::LockDescription& lock : listed.value().locks) {
      // One that begins as an option would be read as one.
      if (is_printable(lock.name) && !lock.name.starts_with('-')) {
        names.push_back(lock.name);
      }
    }
    query.cursor = listed.value().next_cursor;
    if (query.cursor.empty() || names.size() >= limits.names) {
      break;
    }
  }
  return names;
}

}  // namespace gcoord::cli
