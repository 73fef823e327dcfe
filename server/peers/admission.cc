#include "server/peers/admission.h"

#include "common/incarnation.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using netcore::Admission;
using netcore::RefusalCode;

constexpr std::array<const char*, std::tuple_size_v<netcore::AgreedSettings>> kSettingNames = {
    "--shards", "--tick-ms", "--election-ms", "the number of nodes", "--durability"};
constexpr std::size_t kNodesSetting = 3;
constexpr std::size_t kDurabilitySetting = 4;

std::string text_of_setting(std::size_t place, std::uint32_t value) {
  if (place != kDurabilitySetting) {
    return std::to_string(value);
  }
  const std::uint32_t kind = value & ((1u << kStripesShift) - 1);
  if (kind >= kResidentMappedSetting && kind <= kResidentDurableSetting) {
    const std::uint32_t stripes = value >> kStripesShift;
    return std::string(kind % 2 == 0 ? "memory" : "durable") + " and --turn resident" +
           (kind < kResidentSetting ? " of an older release" : "") +
           (stripes != 0 ? " --turn-stripes " + std::to_string(stripes) : std::string{});
  }
  return value == 0 ? "durable" : "memory";
}

std::string name_of(const netcore::PeerIdentity& peer) {
  return "node " + std::to_string(peer.node.value);
}

Admission old_copy(const netcore::PeerIdentity& peer,
                   const ledger::PeerIdentity& known,
                   const std::string& evidence) {
  return {.code = RefusalCode::OldIncarnation,
          .text = name_of(peer) + " came back with an old copy of its data directory (" + evidence +
                  ") and may have forgotten votes and entries; start it with the newest one or, if "
                  "that is lost, with --rejoin",
          .known = known.incarnation};
}

Admission judge_settings(const netcore::PeerIdentity& peer,
                         const netcore::AgreedSettings& own,
                         bool counts_nodes) {
  for (std::size_t k = 0; k < own.size(); ++k) {
    const bool meant = k != kNodesSetting || counts_nodes;
    if (meant && peer.settings[k] != own[k]) {
      return {.code = RefusalCode::DifferentSettings,
              .text = name_of(peer) + " was started with " + kSettingNames[k] + " " +
                      text_of_setting(k, peer.settings[k]) + ", this node with " +
                      text_of_setting(k, own[k]) +
                      ": start all nodes of the cluster with the same"};
    }
  }
  return {};
}

Admission judge_length(const netcore::PeerIdentity& peer,
                       const ledger::PeerIdentity& known,
                       std::uint64_t known_durable) {
  if (peer.durable >= known_durable) {
    return {};
  }
  return old_copy(peer,
                  known,
                  "its log ends at " + std::to_string(peer.durable) + " and had reached " +
                      std::to_string(known_durable));
}

Admission ran_twice(const netcore::PeerIdentity& peer, const ledger::PeerIdentity& known) {
  return old_copy(
      peer,
      known,
      "another process ran incarnation " + std::to_string(peer.incarnation.value) + " of it");
}

// Whether the peer's directory takes the place of the one that was remembered.
bool replaces(const netcore::PeerIdentity& peer, const ledger::PeerIdentity& known) {
  return known.directory_id != peer.directory.value &&
         generation_of(peer.incarnation) > generation_of(known.incarnation);
}

// Rejoins of a peer that this node may have missed while it was away itself, each of which took an
// operator's word. Of 255 generations (common/incarnation.h).
constexpr std::uint32_t kRejoinsMissedMax = 16;

// Of a directory of a higher generation than the known one.
Admission judge_generation(const netcore::PeerIdentity& peer, const ledger::PeerIdentity& known) {
  const std::uint32_t rise = generation_of(peer.incarnation) - generation_of(known.incarnation);
  if (rise <= (peer.is_proven ? kRejoinsMissedMax : 1)) {
    return {};
  }
  return {.code = RefusalCode::NotAdmitted,
          .text = name_of(peer) + " came with a data directory of generation " +
                  std::to_string(generation_of(peer.incarnation)) + ", and this node knows " +
                  std::to_string(generation_of(known.incarnation)) +
                  ", which no rejoin leads to (GC3126): if it is that node all the same, stop this "
                  "one and have it forget the directory (gcoordctl member forget-directory)"};
}

// A founder of a restored cluster that is met for the first time was restored as well, or follows a
// directory that was: one that begins with nothing might lead shards with nothing in them. A node
// that joined may not: it has no shard's configuration before somebody sends it one.
Admission judge_restored(const netcore::PeerIdentity& peer) {
  if (generation_of(peer.incarnation) != 0 || start_of(peer.incarnation) > ledger::kRestoredStart) {
    return {};
  }
  return {.code = RefusalCode::NotAdmitted,
          .text = name_of(peer) +
                  " has a directory that was not restored, but this cluster was restored: restore "
                  "the directory from the same snapshot"};
}

// Against what was remembered, by the disk of this node.
Admission judge_known(const netcore::PeerIdentity& peer, const ledger::PeerIdentity& known) {
  if (known.directory_id != peer.directory.value) {
    return {.code = RefusalCode::ReplacedDirectory,
            .text = name_of(peer) +
                    " came back with another data directory and may have forgotten its votes; "
                    "start it with its old one or, if that is lost, with --rejoin",
            .known = known.incarnation};
  }
  if (peer.incarnation < known.incarnation) {
    return old_copy(peer,
                    known,
                    "incarnation " + std::to_string(peer.incarnation.value) + ", known " +
                        std::to_string(known.incarnation.value));
  }
  if (peer.incarnation == known.incarnation && known.life != 0 && peer.life != known.life) {
    return ran_twice(peer, known);
  }
  return judge_length(peer, known, known.durable);
}

// A state that ends: what was to be remembered is told again.
bool is_of_full_disk(const Status& status) {
  return status.code() == StatusCode::ResourceExhausted;
}

}  // namespace

PeerAdmission::PeerAdmission(ledger::IdentityFile& identity,
                             std::span<const netcore::PeerAddress> peers,
                             const netcore::AgreedSettings& settings,
                             std::function<void(const Status&)> on_failure)
    : identity_(identity), settings_(settings), on_failure_(std::move(on_failure)) {
  for (const netcore::PeerAddress& peer : peers) {
    awaited_.push_back(peer.id);
  }
  establish_when_due();
}

void PeerAdmission::note_founder(NodeId node) {
  if (node != NodeId{0}) {
    founders_.push_back(node);
  }
}

bool PeerAdmission::is_founder(NodeId node) const {
  return founders_.empty() ||
         std::find(founders_.begin(), founders_.end(), node) != founders_.end();
}

void PeerAdmission::add(NodeId peer) {
  if (!identity_.established() &&
      std::find(awaited_.begin(), awaited_.end(), peer) == awaited_.end()) {
    awaited_.push_back(peer);
  }
}

void PeerAdmission::remove(NodeId peer) {
  left_.push_back(peer);
  std::erase_if(met_, [peer](const Met& each) { return each.node == peer; });
  std::erase(awaited_, peer);
  establish_when_due();
}

Admission PeerAdmission::admit(const netcore::PeerIdentity& peer) {
  if (Admission refusal = judge(peer); !refusal.admitted()) {
    return refusal;
  }
  Met& seen = met(peer.node);
  if (const auto* before = known(peer.node); before != nullptr && replaces(peer, *before)) {
    seen = Met{.node = peer.node};
  }
  seen.durable = std::max(seen.durable, peer.durable);
  seen.incarnation = peer.incarnation;
  seen.life = peer.life;
  const Status status = identity_.remember_peer({.node = peer.node,
                                                 .directory_id = peer.directory.value,
                                                 .incarnation = peer.incarnation,
                                                 .durable = seen.durable,
                                                 .life = seen.life});
  if (is_of_full_disk(status)) {
    return {.code = RefusalCode::NotAdmitted,
            .text = "the disk of the node is full: it cannot remember its peer yet"};
  }
  if (!status.ok()) {
    on_failure_(status);
    return {.code = RefusalCode::NotAdmitted,
            .text = "the node could not remember its peer and stops"};
  }
  return {};
}

const ledger::PeerIdentity* PeerAdmission::known(NodeId node) const {
  const auto& peers = identity_.peers();
  const auto found = std::find_if(
      peers.begin(), peers.end(), [&](const auto& remembered) { return remembered.node == node; });
  return found == peers.end() ? nullptr : &*found;
}

Admission PeerAdmission::judge(const netcore::PeerIdentity& peer) {
  if (Admission refusal = judge_settings(peer, settings_, counts_nodes_); !refusal.admitted()) {
    return refusal;
  }
  const ledger::PeerIdentity* before = known(peer.node);
  if (before == nullptr && identity_.restored() && is_founder(peer.node)) {
    return judge_restored(peer);
  }
  if (before == nullptr) {
    return {};
  }
  if (generation_of(peer.incarnation) > generation_of(before->incarnation)) {
    if (Admission refusal = judge_generation(peer, *before); !refusal.admitted()) {
      return refusal;
    }
  }
  if (replaces(peer, *before)) {
    return {};
  }
  if (Admission refusal = judge_known(peer, *before); !refusal.admitted()) {
    return refusal;
  }
  const Met& seen = met(peer.node);
  if (seen.incarnation == peer.incarnation && seen.life != peer.life) {
    return ran_twice(peer, *before);
  }
  return judge_length(peer, *before, seen.durable);
}

void PeerAdmission::establish_when_due() {
  if (awaited_.empty() && !identity_.established()) {
    const Status status = identity_.mark_established();
    if (!status.ok() && !is_of_full_disk(status)) {
      on_failure_(status);
    }
  }
}

void PeerAdmission::on_durable(NodeId peer, Incarnation incarnation, std::uint64_t durable) {
  Met& seen = met(peer);
  if (seen.incarnation != incarnation) {
    return;
  }
  seen.durable = std::max(seen.durable, durable);
  std::erase(awaited_, peer);
  establish_when_due();
}

Status PeerAdmission::remember() {
  std::vector<ledger::PeerIdentity> peers = identity_.peers();
  std::erase_if(peers, [this](const ledger::PeerIdentity& peer) {
    return std::find(left_.begin(), left_.end(), peer.node) != left_.end();
  });
  for (ledger::PeerIdentity& peer : peers) {
    peer.durable = std::max(peer.durable, met(peer.node).durable);
  }
  Status status = identity_.remember_peers(peers);
  return is_of_full_disk(status) ? Status{} : status;
}

PeerAdmission::Met& PeerAdmission::met(NodeId node) {
  const auto found =
      std::find_if(met_.begin(), met_.end(), [node](const Met& each) { return each.node == node; });
  return found == met_.end() ? met_.emplace_back(Met{.node = node}) : *found;
}

}  // namespace gcoord::server
