// Lines of the node's log about client connections: who comes and who goes, at level debug.
//
// A name that a client gives itself stands in quotes, and what is in it is escaped. One thread.
#pragma once

#include "protocol/hello.h"
#include "server/endpoints/connection.h"

#include <cstddef>
#include <string>

namespace gcoord::server {

// connection 7.1 of 127.0.0.1:4711 ("gcoordctl")
std::string describe_client(const Connection& connection);

// `open_count`: connections that are open, with this one.
void log_begin(const Connection& connection, std::size_t open_count);
void log_welcome(const Connection& connection, const protocol::Welcome& welcome);
void log_end(const Connection& connection, CloseReason reason);

}  // namespace gcoord::server
