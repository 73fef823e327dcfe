// By what way the turns of two resident nodes reach each other, and why: chosen per peer, by both
// ends alike.
//
// Mapped: each maps the other's memory, by descriptors that pass over a Unix socket
// (resident_join.h). Proxy: rings in page-locked memory, and the hosts move slots over the peer
// network that they have anyway (netcore/proxy/gpu_proxy.h). Each node says in its ready message
// what it was told to do and whether it could map the receiver's memory, so both know the same four
// facts, and choose_resident_link() is a function of them. What a peer says is judged in form
// (resident_ready.h) and believed otherwise: a mapping that cannot be made fails where it is made,
// and whoever gave it up says so, so that both take the proxy, or go on trying where nothing else
// is allowed. Pure, but for look_at_peer().
#pragma once

#include "common/ids.h"
#include "netcore/device/node_facts.h"
#include "server/platform/choices.h"
#include "server/resident/links/socket_folder.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::server {

// Whether a node could map a peer's memory, and why not. Travels: never renumber.
enum class Mapping : std::uint8_t {
  Unknown = 0,  // The peer has not said what it is.
  Possible = 1,
  OtherHost = 2,
  OtherFolder = 3,  // No folder for sockets that both see as one user.
  OneWithoutGpu = 4,
  NotVisible = 5,
  NoAccess = 6,
  NoDescriptors = 7,
  Failed = 8,  // It should be possible, was tried for a while, and failed (resident_patience.h).
};

inline constexpr std::uint8_t kMappingLast = static_cast<std::uint8_t>(Mapping::Failed);

// What a node says of itself.
struct ResidentAddress {
  SocketFolder folder;  // Where it waits for others; a peer of an older release has told of none.
  netcore::GpuNodeFacts facts;
};

bool operator==(const ResidentAddress& a, const ResidentAddress& b);

// Whether both say that they are on one host and have folders: whether this node reaches the peer's
// is worth a look then (folder_probes.h).
bool may_meet(const ResidentAddress& own, const ResidentAddress& peer);

// `reached`: this node reaches the peer's folder. May ask the driver which devices there are: not
// in every turn.
Mapping look_at_peer(const ResidentAddress& own, const ResidentAddress& peer, bool reached);

// What one end of a pair brings to the choice.
struct ResidentLinkEnd {
  NodeId node;
  ResidentPeers wish = ResidentPeers::Auto;
  Mapping mapping = Mapping::Unknown;
};

enum class ResidentLinkKind : std::uint8_t {
  Undecided,  // Not both have said what they need to.
  Mapped,
  Proxy,
  Refused,  // The two ends contradict each other.
};

std::string_view resident_link_kind_name(ResidentLinkKind kind);

struct ResidentLink {
  ResidentLinkKind kind = ResidentLinkKind::Undecided;
  std::string why;          // For the operator.
  bool by_options = false;  // Refused: what the two were started with contradicts each other.
  // Refused: the number of docs/reference/errors.md, where `why` has what the peer said; 0: none.
  std::uint32_t code = 0;
};

// The same kind whichever end is `own`.
ResidentLink choose_resident_link(const ResidentLinkEnd& own, const ResidentLinkEnd& peer);

// The epoch under which `own` is to make its end of a proxy now, where its channel to `peer` is not
// the one that the peer says it has; 0: the peer has to act first. The lower node begins, under an
// epoch that both accept, and the other one follows; so who follows knows that its peer is there.
struct ProxyEpochs {
  std::uint32_t own_next = 0;    // The least that this end accepts.
  std::uint32_t peer_next = 0;   // The least that the peer said it accepts.
  std::uint32_t peer_epoch = 0;  // Of the proxy that the peer said it has; 0: none.
};

std::uint32_t proxy_epoch(NodeId own, NodeId peer, const ProxyEpochs& epochs);

}  // namespace gcoord::server
