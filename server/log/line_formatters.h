// The two forms of a line of a node's log.
//
// Text: "2026-01-31T12:00:00.250 info node 1 peers: message", local time, for people; "node ?" (in
// JSON 0) until a node that joins knows its number.
// JSON: {"time":"2026-01-31T12:00:00.250Z","level":"info","node":1,"component":"peers",
// "message":"..."}, one object a line, UTC. The component is the name of the line's logger
// (server/platform/operator_log.h). Both escape the message (common/text/printable.h).
#pragma once

#include "common/ids.h"

#include <spdlog/formatter.h>

#include <memory>

namespace gcoord::server {

std::unique_ptr<spdlog::formatter> make_text_formatter(NodeId node);
std::unique_ptr<spdlog::formatter> make_json_formatter(NodeId node);

}  // namespace gcoord::server
