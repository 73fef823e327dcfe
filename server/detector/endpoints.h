// Addresses for datagrams of the other nodes, as the view or the fixed list has them, with the port
// of their peers.
//
// A name is looked up without waiting, and again a while after a failure. A node whose port was
// taken uses one of the next (DatagramSocket::open). Anybody can write a sender's address on a
// datagram, so such a port is only asked, beside the one that counts, until an answer shows that
// the question came to it. One thread.
#pragma once

#include "common/ids.h"
#include "netcore/transport/name_lookup.h"
#include "netcore/transport/tcp_socket.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace gcoord::server {

class DatagramEndpoints {
 public:
  // "HOST:PORT" of each node from now on; what is known of addresses that stay is kept. To those
  // that are none, or whose port is 0, there is no way.
  void set(const std::map<NodeId, std::string>& addresses);

  // Once in a while: takes answers of name servers.
  void advance(std::uint64_t now_ms);

  // nullptr: not known yet.
  const netcore::SocketAddress* find(NodeId node) const;

  // Another port from which datagrams of the node came, and which is to be asked, too; nullptr:
  // none.
  const netcore::SocketAddress* find_other(NodeId node) const;

  // The node whose address by the list or the view this is, and whose datagrams go there; 0: none.
  NodeId node_at(const netcore::SocketAddress& address) const;

  // A question of this number goes to the node.
  void ask(NodeId node, std::uint32_t sequence);

  // A datagram of the node came from there. False: it cannot be the node's socket, because the
  // host is another one or not known yet, or the port none that the node would take.
  bool hear(NodeId node, const netcore::SocketAddress& from);

  // The same of an answer: if it is one to a question of the last ones, it shows where the node is.
  void learn(NodeId node, const netcore::SocketAddress& from, std::uint32_t sequence);

  // The host's address, without the port; empty: not known.
  std::string host_of(NodeId node) const;

 private:
  // Questions whose answers are known: those under way to one node.
  static constexpr std::size_t kAsked = 16;

  struct Known {
    std::string text;
    std::optional<netcore::SocketAddress> listed;   // What the text says.
    std::optional<netcore::SocketAddress> address;  // The same, or another port of it.
    std::optional<netcore::SocketAddress> other;    // Asked, too.
    std::deque<std::uint32_t> asked;                // Newest last.
    std::optional<netcore::NameLookup> lookup;
    std::uint64_t retry_ms = 0;
    std::uint32_t attempts = 0;
  };

  static bool may_be_at(const Known& known, const netcore::SocketAddress& from);

  std::map<NodeId, Known> nodes_;
};

}  // namespace gcoord::server
