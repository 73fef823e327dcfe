// Report for the operator: how this node's device can be joined with those of its peers, and why.
//
// Nodes tell each other now and then what device they step on (netcore/device/node_facts.h), in a
// peer message of its own kind; both ends then choose alike (netcore/device/capability.h). Nothing
// goes that way while turns run on the host: messages go by the host transport that PeerStatus
// names, and the text says so. A resident turn says itself what it uses
// (ReplicatedLog::shard_channel). Contract: one thread. What a peer says is checked in form and
// believed otherwise: it only changes a text. Devices are asked in refresh(), which the node calls
// about once a second, so that no peer can make them be asked more often.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/device/node_facts.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// First byte of the peer message; client_address.h owns 3. Never renumber.
inline constexpr std::byte kDeviceFactsKind{4};

class DeviceLinks {
 public:
  // `stepper` is a StepperReport's name: "cpu" or "cuda:0".
  explicit DeviceLinks(const std::string& stepper);

  // What peers are told.
  std::vector<std::byte> announcement() const;

  // Takes a peer's announcement. False: the message is none.
  bool learn(NodeId from, std::span<const std::byte> message);

  // Chooses for peers that said something new, and returns them.
  std::vector<NodeId> refresh();

  // "not in use, since the turn runs on the host; it could be nvlink: both devices are on this host
  // and reach each other"; empty while the peer has not said anything, and on a node without a
  // device.
  std::string text(NodeId peer) const;

 private:
  struct Peer {
    netcore::GpuNodeFacts facts;
    bool fresh = false;
    std::string text;
  };

  std::string choose(const netcore::GpuNodeFacts& peer) const;

  netcore::GpuNodeFacts own_;
  Status obstacle_;  // Why the own device cannot be described.
  std::map<NodeId, Peer> peers_;
};

}  // namespace gcoord::server
