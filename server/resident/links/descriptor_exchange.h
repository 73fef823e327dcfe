// Finds the peers of a resident node on this host, for the descriptors that a channel begins with.
//
// For every pair the node with the lower id listens at a Unix socket in its folder
// (socket_folder.h), whose name says who may call; the other, which was told of the folder, calls.
// Both do so from seek() until
// they have found each other, at the start and whenever a channel is to be joined anew (docs/adr/
// 0029), so a socket is there only while somebody is sought. What is found is a connected socket at
// whose other end somebody is about to do the same: the handshake (netcore/gpu_channel/nvlink.h) is
// short then, and is the caller's, because memory of the node is its business.
//
// The looking is done on a thread of its own, since processes may not have been started yet; every
// wait inside is short, so the destructor returns within a second. Looks begin a while apart
// whatever comes of them: who hangs up at once does not keep a core busy. seek() and take() are one
// thread's.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/transport/fd_socket.h"
#include "server/resident/links/socket_folder.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {

struct ResidentJoinOptions {
  NodeId self;
  std::vector<NodeId> peers;
  SocketFolder folder;  // This node's.
};

class ResidentJoin {
 public:
  explicit ResidentJoin(const ResidentJoinOptions& options);
  // Stops.
  ~ResidentJoin();
  ResidentJoin(const ResidentJoin&) = delete;
  ResidentJoin& operator=(const ResidentJoin&) = delete;

  // Looks for a peer, whose folder is `folder`, until it is found. One that is sought already is
  // looked for there from now on.
  void seek(NodeId peer, const SocketFolder& folder);

  // The peer is not sought any more, and what was found of it is none.
  void forget(NodeId peer);

  struct Found {
    NodeId peer;
    netcore::OwnedFd socket;
    Status looked;  // Not ok: why the peer cannot be looked for; it is not sought any more.
  };

  // The next peer that was found, or cannot be, once.
  std::optional<Found> take();

 private:
  // What one peer is to the thread.
  struct Sought {
    NodeId peer;
    bool wanted = false;        // Guarded by mutex_.
    SocketFolder folder;        // Likewise: the peer's.
    netcore::OwnedFd listener;  // The thread's.
  };

  void run();
  bool wait_for_wish();
  void rest_until(std::chrono::steady_clock::time_point next);
  Result<netcore::OwnedFd> look(Sought& sought, const SocketFolder& folder);
  Result<netcore::OwnedFd> call(const SocketFolder& folder) const;
  Result<netcore::OwnedFd> answer(Sought& sought) const;
  void remove_socket(const Sought& sought) const;
  void end_look(Sought& sought, Result<netcore::OwnedFd> looked);

  ResidentJoinOptions options_;
  std::vector<Sought> sought_;  // Not resized.
  mutable std::mutex mutex_;    // Guards `wanted` and `folder`, found_ and stop_.
  std::condition_variable wake_;
  std::vector<Found> found_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gcoord::server
