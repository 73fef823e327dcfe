// Looks whether this process reaches the folders that peers name, away from the thread that asks.
//
// The path is a peer's word: it may lie on a file system that hangs, such as NFS without its
// server, and whoever opens it hangs with it. So each look has a thread of its own, at most one a
// peer. A look that hangs is left to its thread, which holds nothing of the caller's, and delays
// neither the loop, nor the looks at other peers, nor the end of the node. One thread calls.
#pragma once

#include "common/ids.h"
#include "server/resident/links/socket_folder.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

namespace gcoord::server {

class FolderProbes {
 public:
  // Whether a folder is there, as its node describes it. Called by several threads at once.
  using Probe = std::function<bool(const SocketFolder&)>;

  struct Timeouts {
    // The caller waits for an answer so long, once a look: a local file system takes microseconds,
    // and an election timeout is ten times as long.
    std::chrono::milliseconds wait{100};
    // A look without an answer for so long means no.
    std::chrono::milliseconds give_up{3000};
  };

  // With open_socket_folder().
  FolderProbes();
  FolderProbes(Probe probe, const Timeouts& timeouts);

  // Nothing: the look is under way; ask again in a while. While one at another folder of the peer
  // is, no second one begins.
  std::optional<bool> reaches(NodeId peer, const SocketFolder& folder);

 private:
  struct Answer;

  struct UnderWay {
    SocketFolder folder;
    std::chrono::steady_clock::time_point begun;
    std::shared_ptr<Answer> answer;
  };

  std::shared_ptr<Answer> begin(const SocketFolder& folder) const;

  const Probe probe_;
  const Timeouts timeouts_;
  std::unordered_map<std::uint32_t, UnderWay> under_way_;  // By peer; at most one each.
};

}  // namespace gcoord::server
