// Joins the device channels of three resident nodes of one host, each its own process.
//
// For every pair the node with the lower id listens at a Unix socket whose name follows from its
// peer port, which it holds, and from who may call; the other calls. Each passes the descriptor of
// its region (netcore/gpu_nvlink.h), maps the other's, and that is all that ever passes there. The
// sockets are gone once a channel is joined: a node that comes back later finds nobody (see
// resident_engine.h for what that means).
//
// Runs on a thread of its own, because the handshake waits for processes that may not have been
// started yet; every wait inside is short, so stop() returns within a second. The node is the
// thread's until done().
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/fd_socket.h"
#include "server/resident_node.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {

struct ResidentJoinOptions {
  ClusterId cluster;
  NodeId self;

  struct Peer {
    NodeId id;
    std::uint16_t port = 0;  // Its peer port.
  };

  std::vector<Peer> peers;
  std::uint16_t port = 0;  // This node's.
};

class ResidentJoin {
 public:
  ResidentJoin(const ResidentJoinOptions& options, ResidentNode& node);
  // Stops.
  ~ResidentJoin();
  ResidentJoin(const ResidentJoin&) = delete;
  ResidentJoin& operator=(const ResidentJoin&) = delete;

  // All peers are joined, or it failed; then result() says which.
  bool done() const { return done_.load(std::memory_order_acquire); }

  const Status& result() const { return result_; }

 private:
  void run();
  Status join_all();
  Status call(const ResidentJoinOptions::Peer& peer);
  Status answer(const ResidentJoinOptions::Peer& peer);
  Status take(NodeId peer, const netcore::OwnedFd& socket);

  ResidentJoinOptions options_;
  ResidentNode& node_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> done_{false};  // Release by the thread, after result_ and the node.
  Status result_;
  std::thread thread_;
};

// Where the node that holds `port` waits for node `caller`.
std::string resident_socket_path(std::uint16_t port, NodeId caller);

}  // namespace gcoord::server
