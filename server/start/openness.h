// Openness of a node: who may do everything there without showing anything. Thread-safe.
#pragma once

#include "server/options/options.h"

#include <cstdint>
#include <string_view>

namespace gcoord::server {

enum class Openness : std::uint8_t {
  Closed,    // Rights are checked, or every client of the port shows a certificate.
  Loopback,  // Every program of this host may.
  Network,   // Everybody who reaches the client port may.
};

std::string_view openness_name(Openness openness);  // "nobody", "loopback" or "network".

// `tls`: the choices that hold now, which change at SIGHUP.
Openness openness(const NodeOptions& options, const TlsChoices& tls, bool rights_checked);

// One line where the node is open: a warning beyond loopback. With --insecure nothing, since its
// own warning says more.
void log_openness(const NodeOptions& options, bool rights_checked);

}  // namespace gcoord::server
