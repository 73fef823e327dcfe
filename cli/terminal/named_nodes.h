// Verbs that ask the node that the user named, or all, one after the other. One thread.
#pragma once

#include "cli/terminal/command.h"
#include "gcoord/client.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace gcoord::cli {

// Asks one node; what it answers, a failure too, is the caller's to print.
using AskNode = std::function<void(client::Client& client, std::uint32_t node)>;

// Calls `ask` for each in the order of ids, once all are connected or a second is over; named 0:
// all. Empty when that is done; else the program's exit code, and why has been printed: there is no
// cluster, or it has no node of that id.
std::optional<int> ask_nodes(Context& context, std::uint32_t named, const AskNode& ask);

// The program's exit code for the first failure of a node, if there was one.
int code_of(const client::Status& failure);

}  // namespace gcoord::cli
