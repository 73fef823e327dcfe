// Admission of a peer to a channel: the identity that a peer states in the handshake, and the
// answer.
//
// netcore itself refuses another cluster, another protocol version, a node that has left the
// cluster or is not configured, this node's own id, an incarnation older than one already met and
// another process that claims the id of a live peer. What needs memory beyond this process (which
// directory and incarnation a node last had) is the admit hook's business; it is asked on both
// sides of every handshake. Called on the network's thread. Host only.
#pragma once

#include "common/ids.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gcoord::netcore {

// Chosen at random when a data directory is created. 0 means "not known".
using DirectoryId = StrongId<struct DirectoryIdTag, std::uint64_t>;

// What all nodes of a cluster must agree on; meaning belongs to server/.
using AgreedSettings = std::array<std::uint32_t, 5>;

struct PeerIdentity {
  ClusterId cluster;
  NodeId node;
  Incarnation incarnation;
  DirectoryId directory;
  std::uint64_t life = 0;     // Drawn at every start: tells two copies of one directory apart.
  std::uint64_t durable = 0;  // How far the node's storage reaches now (liveness.h).
  AgreedSettings settings{};
  // Not said by the peer but known of it: it has shown that it has the secret of the cluster.
  bool is_proven = false;
};

// Travels in a refusal: never renumber.
enum class RefusalCode : std::uint8_t {
  None = 0,
  WrongVersion = 1,
  WrongCluster = 2,
  UnknownNode = 3,        // Not in the receiver's list of peers, or meant for another node.
  DuplicateNode = 4,      // A live node has this id, in another process.
  OldIncarnation = 5,     // The receiver has met a later life of this node.
  ReplacedDirectory = 6,  // For the hook: the node came back with another data directory.
  NotAdmitted = 7,        // For the hook: any other reason, told in the text.
  CallCrossed = 8,        // Both called at once and the other call counts; nobody needs to act.
  DifferentSettings = 9,  // For the hook: AgreedSettings differ.
  RemovedNode = 10,       // It has left the cluster, and its id is not used again.
};

std::string_view refusal_code_name(RefusalCode code);

struct Admission {
  RefusalCode code = RefusalCode::None;  // None admits.
  std::string text;                      // Told to the peer: one cause and one fix. <= 512 bytes.
  // Told to the peer, too: the highest incarnation of it that this node has met, when that is why.
  Incarnation known;

  bool admitted() const { return code == RefusalCode::None; }
};

// An Admission that admits nobody, as it arrives at the peer.
struct Refusal {
  RefusalCode code = RefusalCode::None;
  std::string text;
  Incarnation known;
  // Not said by the peer but known of it: it has shown that it has the secret of the cluster.
  bool is_proven = false;
};

using AdmitHook = std::function<Admission(const PeerIdentity&)>;

}  // namespace gcoord::netcore
