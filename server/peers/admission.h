// Admission of peers by the remembered identity of their data directories, and the record of
// whether all peers have accepted this node's own directory.
//
// A node whose directory was replaced has forgotten its votes, and an old image of a directory that
// comes back has forgotten some: neither may speak under the old id (faults 24 and 25 of
// docs/internals/faults.md, docs/adr/0012). Three marks tell them: the directory's id, its
// incarnation, and how far its log of record is known to have reached, which heartbeats report and
// which never falls. What is admitted is remembered durably before it counts; reports of heartbeats
// are kept with every checkpoint.
//
// A directory is established once every node has admitted it: until then a wiped disk cannot be
// told from a new one, so it does not vote.
//
// On a full disk nothing can be remembered: who is new is not admitted yet, and reports of
// heartbeats are kept later.
//
// A directory that says it follows the known one, by a higher generation, is admitted: its replicas
// know that they have forgotten (docs/adr/0025). Its log begins anew. A generation rises by one
// with a rejoin, so one that is further ahead is refused (GC3126, docs/adr/0120): it would use up
// the few that there are. A node that has proven itself may be as far ahead as this node can have
// missed rejoins.
//
// Nodes come and go (docs/adr/0107). One that came waits for no node that has left, but for each
// that is there. How many nodes there are is a setting only until this node knows a view: then it
// compares it no more, and goes on saying what it was founded with. One thread.
#pragma once

#include "common/status.h"
#include "ledger/directory/identity_file.h"
#include "netcore/memory/admission.h"
#include "netcore/peers/network.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gcoord::server {

// In place of a durability among the agreed settings: memory mode, with the turn on the device,
// whose messages no node with another turn understands. Never renumber: 2, and 3 for durable mode,
// are nodes of before docs/adr/0066, which say nothing of the way that they would meet; 4 and 5 are
// nodes of before docs/adr/0068, whose entries hold plain commands only, and which would take the
// others for unknown ones.
inline constexpr std::uint32_t kResidentMappedSetting = 2;
inline constexpr std::uint32_t kResidentMappedDurableSetting = 3;
inline constexpr std::uint32_t kResidentPlainSetting = 4;
inline constexpr std::uint32_t kResidentPlainDurableSetting = 5;
inline constexpr std::uint32_t kResidentSetting = 6;
// The same in durable mode.
inline constexpr std::uint32_t kResidentDurableSetting = 7;

// One of the latter, and above it --turn-stripes: a lane between two nodes belongs to a stripe.
inline constexpr std::uint32_t kStripesShift = 8;

constexpr std::uint32_t resident_setting(bool durable, std::uint32_t stripes) {
  return (durable ? kResidentDurableSetting : kResidentSetting) | stripes << kStripesShift;
}

class PeerAdmission {
 public:
  // `identity` outlives it. on_failure is told when something could not be remembered.
  PeerAdmission(ledger::IdentityFile& identity,
                std::span<const netcore::PeerAddress> peers,
                const netcore::AgreedSettings& settings,
                std::function<void(const Status&)> on_failure);

  // A node that the cluster was founded or restored with; 0: none. Without any, all nodes are.
  void note_founder(NodeId node);

  // This node knows a view: the number of nodes is not compared from here on.
  void follow_view() { counts_nodes_ = false; }

  // A peer more, and one that has left for good.
  void add(NodeId peer);
  void remove(NodeId peer);

  // The judgement of netcore's admit hook.
  netcore::Admission admit(const netcore::PeerIdentity& peer);

  // A peer's heartbeat of the incarnation says how far its log of record is durable. It came over a
  // channel that the peer keeps open, so that peer has admitted this node's directory, too.
  void on_durable(NodeId peer, Incarnation incarnation, std::uint64_t durable);

  // Keeps what on_durable told. Nothing is written when nothing changed.
  Status remember();

  // Whether this directory may vote at all.
  bool established() const { return identity_.established(); }

  // Peers that have not admitted this directory yet in this life.
  const std::vector<NodeId>& awaited() const { return awaited_; }

 private:
  // What is known of a peer in this life of this node, beyond the identity file.
  struct Met {
    NodeId node;
    Incarnation incarnation;
    std::uint64_t life = 0;
    std::uint64_t durable = 0;
  };

  Met& met(NodeId node);
  const ledger::PeerIdentity* known(NodeId node) const;
  bool is_founder(NodeId node) const;
  netcore::Admission judge(const netcore::PeerIdentity& peer);
  void establish_when_due();

  ledger::IdentityFile& identity_;
  netcore::AgreedSettings settings_;
  std::function<void(const Status&)> on_failure_;
  std::vector<Met> met_;
  std::vector<NodeId> awaited_;
  std::vector<NodeId> founders_;
  std::vector<NodeId> left_;
  bool counts_nodes_ = true;
};

}  // namespace gcoord::server
