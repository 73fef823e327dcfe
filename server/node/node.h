// One gcoordd node: everything it is made of, and the loop that runs it.
//
//   wake -> read client sockets -> engine turn (persist, send, apply) -> send replies -> sleep
//
// One thread runs all of it; the engine's disk threads and the metrics listener stand apart. The
// node never spins: it sleeps until a socket, the disk or a deadline wants it. It ends on SIGTERM
// or SIGINT (run() is Ok), or for good when the engine cannot go on, for example after a failed
// fsync: then nothing more is acknowledged and run() says why. It also ends, after it has handed
// its leaderships over, when its GPU's faults ask for it (server/gpu_guard/guard.h).
#pragma once

#include "common/status.h"
#include "server/start/node_start.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace gcoord::server {

struct ProcessTexts;  // server/debug/pages.h
struct TlsChoices;    // server/tls/choices.h

// Where a node can be reached, once it is open.
struct NodePorts {
  std::uint16_t client = 0;
  std::uint16_t peer = 0;
  std::uint16_t metrics = 0;  // 0: off.
  std::uint16_t ledger = 0;   // 0: off.
};

class Node {
 public:
  // Opens the data directory, recovers, and listens. Failures are for the operator. What the texts
  // call outlives the node.
  static Result<std::unique_ptr<Node>> open(NodeStart start, const ProcessTexts& texts);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  NodePorts ports() const;

  // N of cuda:N that the node works on; none: it works on no GPU.
  std::optional<std::uint32_t> gpu() const;

  // TLS goes by other choices from now on, for connections that begin; its files are loaded anew.
  // What cannot be leaves everything as it was; the log says which. Returns the choices in use. The
  // thread of run(), or before.
  const TlsChoices& change_tls(const TlsChoices& choices);

  // Both are called by the thread of run().
  struct Events {
    // Once, when the node has heard a majority of its cluster, itself included: never if the others
    // refuse it. Requests that come before are served as far as they can be.
    std::function<void()> on_ready;
    std::function<void()> on_hangup;  // After each SIGHUP; the node itself does nothing then.
  };

  // Serves until a signal or a failure ends it.
  Status run(const Events& events);

  // Takes the options that can change while a node runs, and reads the files anew that they name:
  // the secret of the cluster. By the thread of run(). After a failure all stays as it was.
  Status reload(const NodeOptions& options);

 private:
  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
