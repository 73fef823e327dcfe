// A data directory's claim to speak under its node's id: peers may refuse it, a lost predecessor
// may be succeeded, and a successor rejoins (docs/adr/0012, 0025, 0069, 0120).
//
// Nothing that ends a node or changes its directory follows from one unproven word: where the
// cluster has no secret, a majority of the other voters must refuse for the same reason, or with
// --rejoin half of them, two at least; that it has left the cluster takes a majority always. With
// --rejoin the word of one is enough where all the others have admitted the directory: then that
// one alone met the life which the directory has forgotten, and no second word can come.
//
// A peer that remembers a newer directory of this node than the one it has refuses it: the
// directory has forgotten promises. Then the node ends with a text for the operator; or, where the
// operator has said so (--rejoin), the directory becomes the successor of the one that the peer
// remembers, durably, and the node ends to begin anew as that (kDirectoryTakenOver). What was in
// memory until then belongs to an incarnation that no peer admitted: nothing of it may be stored as
// the successor's, so a claim that was taken over never marks the directory as rejoined. One
// thread.
#pragma once

#include "common/ids.h"
#include "common/incarnation.h"
#include "common/status.h"
#include "ledger/directory/identity_file.h"
#include "netcore/memory/admission.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace gcoord::server {

class DirectoryClaim {
 public:
  // How long peers may hold this node for a second process of its id: longer than they take to find
  // that the link of a process on a lost host is dead (PeerNetworkOptions::silence_limit_ms), and
  // two attempts.
  static constexpr std::uint64_t kDuplicateMs = 7000;

  // `identity` outlives it. `rejoin`: the operator's word that the node may come back without its
  // memory.
  DirectoryClaim(ledger::IdentityFile& identity, bool rejoin)
      : identity_(identity), rejoin_(rejoin) {}

  // The other voters of the newest view that this node has, or of the fixed list: those of whom a
  // majority counts.
  void set_voters(std::vector<NodeId> others) { voters_ = std::move(others); }

  // A word of the peer came over a channel: it has admitted this directory, and what it said before
  // is void. That the channel is up says nothing yet: the caller judges the answer of the one that
  // it called only when that one takes the channel for up.
  void on_admitted(NodeId peer);

  // A peer refused this node at `now_ms` of a monotonic clock. OK: the refusal passes by itself,
  // the node tries again, or it is not enough yet. Otherwise the reason for which the node must
  // end: kSettingsDiffer, kNodeRemoved, kDirectoryRefused, kNodeIdDuplicate when refusals as a
  // second process have not ended for kDuplicateMs, or kDirectoryTakenOver with the directory
  // changed; the disk's failure if it could not be. Nothing is to be said to a peer after a
  // failure, and no second refusal is to be reported.
  Status on_refused(NodeId peer, const netcore::Refusal& refusal, std::uint64_t now_ms);

  // Whether a voter says that this directory has forgotten promises, or any peer has said so and
  // not all voters have admitted the directory: who said it may have forgotten it by now, as nodes
  // that lose their power do, and who votes may have come since the copy was made.
  bool doubted() const {
    return voters_saying(Reason::Forgotten) != 0 || (was_doubted_ && !is_admitted());
  }

  // Whether this node's directory or that of one of `peers` is not its first one: then promises may
  // be forgotten and the rules of readmission.h are in force. `peers` have each an `incarnation`.
  template <typename Peers>
  bool any_replaced(const Peers& peers) const {
    const auto replaced = [](const auto& peer) { return generation_of(peer.incarnation) != 0; };
    return generation_of(identity_.incarnation()) != 0 ||
           std::any_of(peers.begin(), peers.end(), replaced);
  }

  // `forgotten_count`: shards whose promises this node has forgotten. With none left the directory
  // has rejoined, durably. For a node that has not failed.
  Status rejoin_when_due(std::uint32_t forgotten_count);

 private:
  // Why a peer refuses, as far as it makes a difference here.
  enum class Reason : std::uint8_t { Passing, Duplicate, Removed, Forgotten, Settings };

  // The newest word of a peer.
  struct Said {
    Reason reason = Reason::Passing;
    Incarnation known;
    bool is_new = false;  // It said something else before, or nothing.
  };

  // By all voters.
  bool is_admitted() const;
  static Reason reason_of(const netcore::Refusal& refusal);
  Said& note(NodeId peer, const netcore::Refusal& refusal);
  std::size_t voters_saying(Reason reason) const;
  bool is_enough(Reason reason, const netcore::Refusal& refusal) const;
  bool no_other_will_say(const netcore::Refusal& refusal) const;
  Incarnation newest_known(const netcore::Refusal& refusal) const;
  void log_word(NodeId peer, const netcore::Refusal& refusal) const;
  Status on_duplicate(const netcore::Refusal& refusal, std::uint64_t now_ms);
  Status on_forgotten(const netcore::Refusal& refusal);
  Status take_over(Incarnation known, const netcore::Refusal& refusal);

  ledger::IdentityFile& identity_;
  bool rejoin_;
  bool taken_over_ = false;
  bool was_doubted_ = false;
  std::vector<NodeId> voters_;  // Without this node.
  std::map<NodeId, Said> refusals_;
  std::set<NodeId> admitted_;  // Peers that have admitted this directory in this life.
  // The first and the newest refusal of a row without a pause; 0: none.
  std::uint64_t duplicate_since_ms_ = 0;
  std::uint64_t duplicate_last_ms_ = 0;
};

}  // namespace gcoord::server
