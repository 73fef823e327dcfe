#include "server/resident/links/links.h"

#include "netcore/gpu_channel/nvlink.h"

#include <algorithm>
#include <cstring>

namespace gcoord::server {
namespace {

std::string_view obstacle_text(Mapping mapping) {
  switch (mapping) {
    case Mapping::OtherHost:
      return "the nodes are on different hosts";
    case Mapping::OtherFolder:
      return "one of the nodes does not see the other's data directory, or they run as different "
             "users";
    case Mapping::OneWithoutGpu:
      return "one of the nodes runs on a GPU and the other on the host emulation";
    case Mapping::NotVisible:
      return "one device is not visible to the other's process";
    case Mapping::NoAccess:
      return "the devices have no peer access";
    case Mapping::NoDescriptors:
      return "a device cannot export memory as a file descriptor";
    case Mapping::Failed:
      return "one of the nodes tried to map the other's memory again and again, and failed";
    case Mapping::Unknown:
    case Mapping::Possible:
      break;
  }
  return "";
}

std::string name_of(NodeId node) {
  return "node " + std::to_string(node.value);
}

std::string said_by(const ResidentLinkEnd& end) {
  return name_of(end.node) + " was started with --resident-peers " +
         std::string{resident_peers_name(end.wish)};
}

bool either_wishes(const ResidentLinkEnd& a, const ResidentLinkEnd& b, ResidentPeers wish) {
  return a.wish == wish || b.wish == wish;
}

// Whether nothing but failures speaks against it.
bool may_map(const ResidentLinkEnd& end) {
  return end.mapping == Mapping::Possible || end.mapping == Mapping::Failed;
}

}  // namespace

std::string_view resident_link_kind_name(ResidentLinkKind kind) {
  switch (kind) {
    case ResidentLinkKind::Undecided:
      return "undecided";
    case ResidentLinkKind::Mapped:
      return "mapped";
    case ResidentLinkKind::Proxy:
      return "proxy";
    case ResidentLinkKind::Refused:
      return "refused";
  }
  return "unknown";
}

bool operator==(const ResidentAddress& a, const ResidentAddress& b) {
  return a.folder == b.folder && std::memcmp(&a.facts, &b.facts, sizeof a.facts) == 0;
}

bool may_meet(const ResidentAddress& own, const ResidentAddress& peer) {
  const bool one_host = own.facts.boot_id[0] != 0 && own.facts.boot_id == peer.facts.boot_id;
  return one_host && !own.folder.path.empty() && !peer.folder.path.empty();
}

Mapping look_at_peer(const ResidentAddress& own, const ResidentAddress& peer, bool reached) {
  if (own.facts.boot_id[0] == 0 || own.facts.boot_id != peer.facts.boot_id) {
    return Mapping::OtherHost;
  }
  if (!reached || !may_meet(own, peer)) {
    return Mapping::OtherFolder;
  }
  if (own.facts.has_gpu != peer.facts.has_gpu) {
    return Mapping::OneWithoutGpu;
  }
  if (own.facts.has_gpu == 0) {
    return Mapping::Possible;
  }
  const netcore::GpuLinkFacts facts = netcore::facts_between(own.facts, peer.facts);
  if (!facts.peer_visible) {
    return Mapping::NotVisible;
  }
  if (!facts.peer_access) {
    return Mapping::NoAccess;
  }
  return facts.shares_by_fd ? Mapping::Possible : Mapping::NoDescriptors;
}

ResidentLink choose_resident_link(const ResidentLinkEnd& own, const ResidentLinkEnd& peer) {
  if (either_wishes(own, peer, ResidentPeers::Mapped) &&
      either_wishes(own, peer, ResidentPeers::Proxy)) {
    return {
        ResidentLinkKind::Refused,
        said_by(own) + ", " + said_by(peer) + ": start both with the same value, or one with auto",
        true};
  }
  if (either_wishes(own, peer, ResidentPeers::Proxy)) {
    return {ResidentLinkKind::Proxy, said_by(own.wish == ResidentPeers::Proxy ? own : peer)};
  }
  if (own.mapping == Mapping::Unknown || peer.mapping == Mapping::Unknown) {
    return {ResidentLinkKind::Undecided, "the nodes have not exchanged their GPU facts yet"};
  }
  if (own.mapping == Mapping::Possible && peer.mapping == Mapping::Possible) {
    return {ResidentLinkKind::Mapped, "both are on this host and reach each other's memory"};
  }
  const std::string why{
      obstacle_text(own.mapping == Mapping::Possible ? peer.mapping : own.mapping)};
  if (either_wishes(own, peer, ResidentPeers::Mapped)) {
    const bool goes_on = may_map(own) && may_map(peer);
    return {goes_on ? ResidentLinkKind::Mapped : ResidentLinkKind::Refused,
            said_by(own.wish == ResidentPeers::Mapped ? own : peer) + ", but " + why,
            !goes_on};
  }
  return {ResidentLinkKind::Proxy, why};
}

std::uint32_t proxy_epoch(NodeId own, NodeId peer, const ProxyEpochs& epochs) {
  const bool follows = peer < own;
  const std::uint32_t told = follows ? epochs.peer_epoch : epochs.peer_next;
  const bool used_up = follows && netcore::is_later_epoch(epochs.own_next, told);
  if (used_up || netcore::is_far_epoch(epochs.own_next, told)) {
    return 0;
  }
  return follows ? told : netcore::later_epoch(epochs.own_next, told);
}

}  // namespace gcoord::server
