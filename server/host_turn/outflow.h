// Outgoing messages of a node in one turn: per peer, those of all shards in one send.
//
// Messages are gathered while rows are stepped and leave at once when the turn has been handed to
// storage. What the channel does not take is dropped and counted; consensus emits it again by its
// own deadlines. Votes that are granted are reported to an observer, where there is one. One
// thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/message.h"
#include "netcore/peers/network.h"
#include "server/interfaces/vote_observer.h"
#include "server/replicas/entry_log.h"
#include "server/replicas/metrics.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class ReplicaOutflow {
 public:
  ReplicaOutflow(std::span<const netcore::PeerAddress> peers,
                 const EntryLog& log,
                 ReplicaMetrics& metrics);

  // Before the first turn; outlives it. nullptr: there is none.
  void set_votes(VoteObserver* votes) { votes_ = votes; }

  // One peer more, and one less; outside of turns, when nothing is gathered.
  void add_peer(NodeId node);
  void remove_peer(NodeId node);

  // Adds a message of the row with the entries that it announces, as the log has them now. `floor`
  // is the row's: an Append whose entries are gone is dropped.
  void add(std::uint32_t row, const consensus::Message& message, LogIndex floor);

  // Messages gathered for a peer, to be taken off its credit.
  std::uint32_t gathered(NodeId peer) const;

  // Sends everything to the network, which still has to flush it.
  void send(netcore::PeerNetwork& network);
  // Forgets everything: the engine stopped.
  void clear();
  // The same, and gives back the memory.
  void shrink();

 private:
  struct Extent {
    std::uint32_t slot_index;
    std::uint32_t offset;
    std::uint32_t length;
  };

  struct Peer {
    NodeId node;
    std::vector<netcore::Slot> slots;
    std::vector<Extent> extents;
    std::vector<std::byte> bytes;
    std::vector<VoteGrant> grants;  // Votes among the slots; none without an observer.
  };

  Peer* find(NodeId node);
  void attach_entries(Peer& peer, std::uint32_t row, const consensus::Message& message);
  void send(netcore::PeerNetwork& network, Peer& peer);

  const EntryLog& log_;
  ReplicaMetrics& metrics_;
  VoteObserver* votes_ = nullptr;
  std::vector<Peer> peers_;
  std::vector<netcore::PayloadExtent> payloads_;  // Kept warm.
};

}  // namespace gcoord::server
