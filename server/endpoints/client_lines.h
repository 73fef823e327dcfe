// Lines of the node's log about client connections: who comes and who goes, at level debug; and at
// level warn, a few in a while, who was closed because it did not read or held too much.
//
// A name that a client gives itself stands in quotes, and what is in it is escaped. One thread.
#pragma once

#include "protocol/hello.h"
#include "server/endpoints/connection.h"
#include "server/platform/log_rate_limit.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gcoord::server {

// connection 7.1 of 127.0.0.1:4711 ("gcoordctl")
std::string describe_client(const Connection& connection);

// `open_count`: connections that are open, with this one.
void log_begin(const Connection& connection, std::size_t open_count);

// How many warnings there may be, and the time.
struct Warnings {
  LogRateLimit& limit;
  std::uint64_t now_ms = 0;
};

// A certificate that names nobody of this cluster is a warning: its client is nobody here.
void log_welcome(const Connection& connection,
                 const protocol::Welcome& welcome,
                 const Warnings& warnings);

// TLS has begun, or plain text where TLS is on, or it has failed: all but the first are warnings.
void log_tls(const Connection& connection, const Warnings& warnings);

void log_end(const Connection& connection, CloseReason reason, const Warnings& warnings);

}  // namespace gcoord::server
