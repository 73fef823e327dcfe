// Links over TCP, one socket each, watched by one epoll instance. The default between nodes:
// docs/adr/0003-peer-transport.md says why UCX's own connection setup is not.
//
// The stream is cut by frame headers, each guarded by its own CRC32C before its length is believed.
// A link holds at most one receive buffer (kStrangerBytesMax before trust, kFrameBytesMax plus a
// read's worth after) and the unsent tail of what the last write took. The death of the other
// process closes its sockets, so it is noticed as soon as the event fd is; the death of its host is
// noticed by the peer network's silence limit. Frees everything a link had when it closes.
#pragma once

#include "netcore/tls/rules.h"
#include "netcore/transport/transport.h"

#include <cstddef>
#include <memory>

namespace gcoord::netcore {

// `tls`: rules that links go by from their beginning on; nullptr: none has it. Where they are
// permissive and a call with TLS came to nothing, the next one to that address goes without.
std::unique_ptr<Transport> make_tcp_transport(std::shared_ptr<const LinkTlsRules> tls = nullptr);

}  // namespace gcoord::netcore
