// A listening TCP socket of a node's HTTP port. Thread-safe.
#pragma once

#include "common/status.h"
#include "server/platform/endpoint_name.h"

#include <cstdint>
#include <string>

namespace gcoord::server {

struct ListenSocket {
  int socket = -1;  // The caller's to close. It never blocks.
  std::uint16_t port = 0;
};

// `endpoint` is looked up; localhost is 127.0.0.1; with port 0 the system chooses one. ListenFailed
// otherwise; it names `option`, the flag without its dashes that gave the endpoint.
Result<ListenSocket> open_listen_socket(const std::string& option, const Endpoint& endpoint);

}  // namespace gcoord::server
