#include "server/resident/engine/members.h"

#include "common/incarnation.h"
#include "server/interfaces/errors.h"
#include "server/platform/endpoint_name.h"
#include "server/platform/operator_log.h"
#include "server/resident/node/node.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLookMs = 500;

std::string replaced_text(NodeId node) {
  return "the cluster view has given the number of node " + std::to_string(node.value) +
         " to another data directory (gcoordctl member replace)";
}

netcore::PeerAddress address_of(const protocol::Member& member) {
  const Result<Endpoint> endpoint = parse_endpoint(member.peer_address);
  return endpoint.ok()
             ? netcore::PeerAddress{member.id, endpoint.value().host, endpoint.value().port}
             : netcore::PeerAddress{member.id, {}, 0};
}

// Whether the row's voters are those that the target wants now, and those that join, too.
struct Standing {
  bool settled = true;
  bool ready = true;
};

Standing standing_of(const ShardView& row,
                     const consensus::MembersTarget& target,
                     const std::function<bool(NodeId)>& is_live) {
  Standing standing;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    const consensus::TargetNode& node = target.node[k];
    bool votes = false;
    for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
      votes = votes || (row.configuration.node[slot] == node.node &&
                        consensus::has_slot(row.configuration.voters, slot));
    }
    const bool joins = (node.flags & consensus::kTargetJoining) != 0;
    standing.settled = standing.settled && (votes || joins);
    standing.ready = standing.ready && votes && (!joins || is_live(node.node));
  }
  return standing;
}

}  // namespace

Status stand_in_for(ResidentNode& node, std::span<const netcore::PeerAddress> peers) {
  for (const netcore::PeerAddress& peer : peers) {
    if (!node.has_channel(peer.id)) {
      GCOORD_TRY_STATUS(node.stand_in(peer.id));
    }
  }
  return {};
}

ResidentMembers::ResidentMembers(ledger::IdentityFile& identity, const ReplicaOptions& options)
    : self_(options.node),
      claim_(identity, options.rejoin),
      list_(options.node, options.peers, options.members_epoch),
      election_ms_(std::uint64_t{options.timing.election_ticks} * options.tick_ms),
      own_(identity.incarnation()) {
  std::vector<NodeId> others;
  std::ranges::transform(options.peers, std::back_inserter(others), &netcore::PeerAddress::id);
  claim_.set_voters(std::move(others));
}

Status ResidentMembers::follow(const ClusterMembers& members, const Environment& environment) {
  const auto changes = list_.follow(members.view);
  if (!changes) {
    return {};
  }
  epoch_ = members.view.epoch;
  targets_ = members_targets(members.view);
  looked_ = {};
  for (const netcore::PeerAddress& peer : changes->moved) {
    environment.network.set_address(peer);
  }
  for (const protocol::Member& member : members.view.nodes) {
    GCOORD_TRY_STATUS(follow_place(member, environment));
  }
  return {};
}

// A generation that rises because a node came back by --rejoin finds that life here already, and
// cuts nothing.
Status ResidentMembers::follow_place(const protocol::Member& member,
                                     const Environment& environment) {
  const std::uint32_t generation = generation_of(member.incarnation);
  if (member.id == self_) {
    return generation <= generation_of(own_)
               ? Status{}
               : Status{
                     StatusCode::FailedPrecondition, replaced_text(member.id), kDirectoryRefused};
  }
  if (generation == 0) {
    return {};
  }
  Place& place = places_[member.id];
  place.joins = member.state == protocol::MemberState::Joining;
  place.directory = member.directory;
  if (generation <= generation_of(place.least)) {
    return {};
  }
  place.least = incarnation_of(generation, 0);
  const Incarnation life = environment.life_of(member.id);
  if (life.value == 0 || generation_of(life) >= generation) {
    return {};
  }
  environment.network.set_address({member.id, {}, 0});
  environment.network.set_address(address_of(member));
  log_warning(LogComponent::Peers, "{}: its channel ends", replaced_text(member.id));
  GCOORD_TRY_STATUS(environment.cut(member.id));
  // From now on, since the device may have heard the old one until its turn stood still for the
  // cut.
  place.open_ms = environment.now_ms() + election_ms_;
  return {};
}

netcore::Admission ResidentMembers::judge(const netcore::PeerIdentity& peer,
                                          std::uint64_t now_ms) const {
  const auto found = places_.find(peer.node);
  if (found == places_.end()) {
    return {};
  }
  const Place& place = found->second;
  if (generation_of(peer.incarnation) < generation_of(place.least)) {
    return {.code = netcore::RefusalCode::OldIncarnation,
            .text = replaced_text(peer.node),
            // No life of it may be known here yet: the first that there can be.
            .known = incarnation_of(generation_of(place.least), 1)};
  }
  if (place.joins && place.directory != peer.directory.value) {
    return {.code = netcore::RefusalCode::NotAdmitted,
            .text = replaced_text(peer.node) +
                    (place.directory == 0 ? ", which has not come with its token yet" : "")};
  }
  if (now_ms < place.open_ms) {
    return {.code = netcore::RefusalCode::NotAdmitted,
            .text = "node " + std::to_string(peer.node.value) +
                    " was another process a moment ago, which may lead for an election timeout"};
  }
  return {};
}

bool ResidentMembers::vouches_for(const netcore::PeerIdentity& peer) const {
  const auto found = places_.find(peer.node);
  return found != places_.end() && found->second.directory != 0 &&
         found->second.directory == peer.directory.value &&
         generation_of(peer.incarnation) <= generation_of(found->second.least);
}

bool ResidentMembers::keeps_leaderships(NodeId node) const {
  if (targets_.shards.count == 0) {
    return true;
  }
  const auto target = consensus::find_target(targets_.shards, node);
  return target.found() && (target->flags & consensus::kTargetLeads) != 0;
}

MembersProgress ResidentMembers::progress(const Led& led) const {
  if (epoch_ == 0) {
    return {};
  }
  if (targets_.shards.joining_count == 0) {
    return {.epoch = epoch_, .led = led.led, .settled = led.led, .ready = led.led};
  }
  if (looked_.found.epoch == 0 || led.now_ms >= looked_.at_ms + kLookMs) {
    looked_ = {.at_ms = led.now_ms, .found = look(led)};
  }
  return looked_.found;
}

MembersProgress ResidentMembers::look(const Led& led) const {
  MembersProgress found{.epoch = epoch_};
  for (std::uint32_t shard = 0; shard < led.shard_count; ++shard) {
    const ShardView row = led.view(ShardId{shard});
    if (row.role != consensus::Role::Leader) {
      continue;
    }
    const Standing standing = standing_of(row, targets_.shards, led.is_live);
    ++found.led;
    found.settled += standing.settled ? 1 : 0;
    found.ready += standing.ready ? 1 : 0;
  }
  return found;
}

}  // namespace gcoord::server
