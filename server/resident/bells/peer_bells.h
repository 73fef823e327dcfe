// Bells by which the loops of emulated nodes of one host wake each other.
//
// The emulated device of a node writes into its peers' memory, and nothing wakes the loop that
// reads it there. Without bells that loop polls as long as anything may come, which takes the
// processor from the node that it waits for. A bell is the Unix socket by which the two nodes
// exchanged descriptors (links/descriptor_exchange.h), which both keep: a byte says "look at your
// rings" and nothing else.
//
// A bell only wakes: one that is lost, or a peer of an older release that closed its socket, costs
// the peer the rest of a nap, and one too many costs a pass of the loop. So the bytes need no form,
// and a peer that stands still fills its socket and nothing more. The ringer writes its rings
// first; the other side takes the bells first and looks at its rings then. No call blocks. One
// thread.
#pragma once

#include "common/ids.h"
#include "netcore/transport/fd_socket.h"

#include <cstddef>
#include <vector>

namespace gcoord::server {

class PeerBells {
 public:
  // Without a descriptor to be had there are never any bells.
  PeerBells();

  // Readable while a bell rings: for the loop that sleeps. The same one for ever; -1: there is
  // none.
  int event_fd() const { return events_.get(); }

  // The bell of a peer from now on, in place of the last one: a connected socket.
  void keep(NodeId peer, netcore::OwnedFd socket);

  // The peer has none any more, so the loop must not count on being woken by it.
  void forget(NodeId peer);

  // Wakes the peer's loop, if it has a bell that is not full of rings.
  void ring(NodeId peer);

  // Silences what rings, before the loop looks at its rings. How many bells rang. The bell of a
  // peer that is gone is closed.
  std::size_t take();

  // How many peers have a bell.
  std::size_t size() const { return bells_.size(); }

 private:
  struct Bell {
    NodeId peer;
    netcore::OwnedFd socket;
  };

  void drop(int socket);

  netcore::OwnedFd events_;  // An epoll over the sockets.
  std::vector<Bell> bells_;
};

}  // namespace gcoord::server
