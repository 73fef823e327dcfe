// Addresses for datagrams of the other nodes, as the view or the fixed list has them, with the port
// of their peers.
//
// A name is looked up without waiting, and again a while after a failure. A node whose port was
// taken uses another one: it is learned from its datagrams, if they come from its address. One
// thread.
#pragma once

#include "common/ids.h"
#include "netcore/transport/name_lookup.h"
#include "netcore/transport/tcp_socket.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gcoord::server {

class DatagramEndpoints {
 public:
  // "HOST:PORT" of each node from now on; what is known of addresses that stay is kept. Those that
  // are none, or whose port is 0, have to speak first.
  void set(const std::map<NodeId, std::string>& addresses);

  // Once in a while: takes answers of name servers.
  void advance(std::uint64_t now_ms);

  // nullptr: not known yet.
  const netcore::SocketAddress* find(NodeId node) const;

  // The node that datagrams to this address are for; 0: none.
  NodeId node_at(const netcore::SocketAddress& address) const;

  // A datagram of the node came from there. False: from another host than the node's, which a node
  // with several addresses may do; nothing is learned then.
  bool learn(NodeId node, const netcore::SocketAddress& from);

  // The host's address, without the port; empty: not known.
  std::string host_of(NodeId node) const;

 private:
  struct Known {
    std::string text;
    std::optional<netcore::SocketAddress> address;
    std::optional<netcore::NameLookup> lookup;
    std::uint64_t retry_ms = 0;
    std::uint32_t attempts = 0;
  };

  std::map<NodeId, Known> nodes_;
};

}  // namespace gcoord::server
