// Nodes as users name them: by id, or by name in the newest view. One thread.
#pragma once

#include "gcoord/client.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

// The node of the view, by name only one that has not left.
std::optional<client::MemberDescription> find_named(const client::MembershipView& view,
                                                    const std::string& text);

// The newest one of this name that has left.
std::optional<client::MemberDescription> find_left(const client::MembershipView& view,
                                                   const std::string& name);

class Context;

// A node that a verb is about, and the cluster.
struct NamedNode {
  client::Client client;
  std::uint32_t id = 0;
};

// Nothing: why has been printed, and the context has the exit code. A number is an id whether the
// view has it or not: the node that answers says so, as of one that has left.
std::optional<NamedNode> reach_named(Context& context, const std::string& text);

}  // namespace gcoord::cli
