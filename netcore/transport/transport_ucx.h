// Links whose frames travel by UCX active messages: shared memory inside a host, TCP or RDMA
// between hosts.
//
// A link begins as a TCP connection of transport_tcp, over which the peers greet; UCX's own
// listener is not used, because UCX 1.13 aborts the process on 72 bytes of garbage
// (docs/adr/0003-peer-transport.md). Once the peer network trusts the link, both sides exchange
// worker addresses over it and move their frames to UCX; if UCX cannot reach the peer, the link
// stays on TCP. The TCP connection stays open as the link's pulse: the kernel closes it with the
// process, so kill -9 is noticed at once even where the frames go through shared memory.
//
// Every link has a UCX worker of its own. The receive queue of a shared-memory worker is written by
// all its peers, and one that is killed between claiming and filling a place would stop it for all;
// this way it stops its own link, which dies with it. Destroying the worker frees all it had.
//
// With TLS the TCP connection has it, and every frame that moves to UCX is a sealed record whose
// keys come from there (sealed_frames.h), whether it goes by shared memory, by sockets or by RDMA:
// UCX only ever gets the record's buffer, also for a rendezvous, which the other side may read by
// itself. Nothing else of UCX is used that writes to or reads from a peer's memory.
//
// UCX_* variables of the environment win over what is set here. Which addresses UCX's own TCP
// sockets listen on is theirs to say: with "tcp" among the transports the port is as fragile as the
// listener, so use it only on a network that is trusted.
#pragma once

#include "common/status.h"
#include "netcore/tls/rules.h"
#include "netcore/transport/transport.h"

#include <memory>
#include <string>

namespace gcoord::netcore {

struct UcxTransportOptions {
  // As UCX_TLS. Shared memory only, unless the operator says otherwise: it opens no port.
  std::string transports = "sm,self";
  // As UCX_NET_DEVICES; empty leaves it to UCX. Counts only if `transports` names a network.
  std::string net_devices;
  // TLS on the TCP connection of each link, as make_tcp_transport(); nullptr: none.
  std::shared_ptr<const LinkTlsRules> tls = nullptr;
};

// Fails when UCX cannot start, with its reason.
Result<std::unique_ptr<Transport>> make_ucx_transport(const UcxTransportOptions& options);

}  // namespace gcoord::netcore
