#include "cli/completion/node_names.h"

#include "cli/completion/limited_client.h"
#include "common/text/printable.h"

#include <utility>

namespace gcoord::cli {

std::vector<std::string> node_names(client::ClientOptions access,
                                    const std::string& beginning,
                                    std::chrono::milliseconds time) {
  LimitedClient limited{std::move(access), time};
  std::vector<std::string> names;
  if (!limited.client().ok()) {
    return names;
  }
  const auto view = limited.client().value().view();
  if (!view.ok()) {
    return names;
  }
  for (const client::MemberDescription& member : view.value().members) {
    const bool there = member.state != client::MemberState::Removed;
    // One that begins as an option would be read as one.
    const bool typed = is_printable(member.name) && !member.name.starts_with('-');
    if (there && typed && member.name.starts_with(beginning)) {
      names.push_back(member.name);
    }
  }
  return names;
}

}  // namespace gcoord::cli
