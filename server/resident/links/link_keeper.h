// The channels between the turns of resident nodes: how a node finds its peers, which way each pair
// takes, and how channels are joined anew while the turn runs.
//
// Every node says to each peer, over the peer network, what it is, and the way and epoch of the
// channel that it holds with it (resident_ready.h). From that both choose the way alike. Two that
// do not name the same channel join again: by sockets on which they look for each other
// (resident_join.h), or by proxy, where the lower node makes its end under a new epoch and says so,
// and the other one follows. So a process that came back is found by those that never ended, and a
// join that only one side believes in is made again. The turn rests while a channel is replaced.
//
// Nothing that a peer says or fails at ends this node, and what it says again and again is acted on
// and logged within bounds (resident_patience.h): a pair that cannot join now tries again. Only a
// device that failed is the node's end.
//
// Two that say hellos join no channel before each knows the other's, and none that contradicts it
// (hello.h). Nodes of releases of before say none, and are joined without.
//
// Nobody joins a channel with a peer before a heartbeat came from it in this incarnation, by which
// each has admitted the other: a channel carries votes past whoever judges directories. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "netcore/peers/network.h"
#include "server/platform/log_rate_limit.h"
#include "server/platform/operator_log.h"
#include "server/resident/bells/peer_bells.h"
#include "server/resident/links/descriptor_exchange.h"
#include "server/resident/links/folder_probes.h"
#include "server/resident/links/hello.h"
#include "server/resident/links/link_handshake.h"
#include "server/resident/links/links.h"
#include "server/resident/links/proxies.h"
#include "server/resident/links/retry_policy.h"
#include "server/resident/node/node.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// How far a resident node has come.
enum class ResidentPhase : std::uint8_t {
  Prepares,  // Its turn takes time before it can begin, and whoever was found would wait.
  Meets,     // It looks for its peers.
  Runs,
};

class LinkKeeper {
 public:
  struct Options {
    ClusterId cluster;
    NodeId self;
    ResidentPeers wish = ResidentPeers::Auto;
    ResidentAddress place;  // What this node says of itself.
    LinkHello hello;        // Likewise, but for what is used.
    std::vector<netcore::PeerAddress> peers;
    std::uint64_t proxy_silence_ms = 0;
    std::uint32_t tick_ms = 1;
    bool on_gpu = false;
  };

  // All outlive it.
  struct Environment {
    ResidentNode& node;
    netcore::PeerNetwork& network;
    MetricsRegistry& registry;
    std::function<std::uint64_t()> now_ms;
    // While the disk stands still no channel is joined: a turn that goes on after a rest gives its
    // host new patience, and with a rest for each silence it would lead for ever (fault 8 of
    // docs/internals/faults.md).
    std::function<bool()> disk_stands_still;
    // Features that entries of this node's rows use (protocol::Feature); empty: none.
    std::function<std::uint64_t()> features_used;
    // Does the work while the turn, if it runs, rests. What the work returns is the node's end.
    std::function<Status(const std::function<Status()>& work)> while_quiesced;
    std::function<void(const Status&)> fail;
  };

  LinkKeeper(Options options, Environment environment);

  // A phase never goes back.
  void enter(ResidentPhase phase) { phase_ = phase; }

  ResidentPhase phase() const { return phase_; }

  bool runs() const { return phase_ == ResidentPhase::Runs; }

  ResidentProxies& proxies() { return proxies_; }

  // Of the peers that an emulation's memory is mapped by; a GPU has none.
  PeerBells& bells() { return bells_; }

  bool all_have_bells() const { return bells_.size() == peers_.size(); }

  // Wakes the peers into whose rings the turn has written, by places of the node as bits.
  void ring(std::uint32_t written) {
    for (std::size_t k = 0; written != 0 && k < peers_.size(); ++k) {
      if ((written >> env_.node.place_of(peers_[k].id) & 1u) != 0) {
        bells_.ring(peers_[k].id);
      }
    }
  }

  // Joins the channels that are due; how many. A failure is the node's end.
  Result<std::size_t> join();

  void say_ready_when_due(std::uint64_t now_ms);

  // Whether every peer has said that it is ready to begin its turn.
  bool all_ready() const;

  // What a peer said (is_resident_ready).
  void on_ready_bytes(NodeId from, std::span<const std::byte> message);

  // Likewise (is_socket_folder).
  void on_folder_bytes(NodeId from, std::span<const std::byte> message);

  // Likewise (is_link_hello).
  void on_hello_bytes(NodeId from, std::span<const std::byte> message);

  // The peer network, as netcore::Sink.
  void on_heartbeat(NodeId from);
  void on_peer_up(NodeId from, Incarnation incarnation);
  void on_peer_down(NodeId from);

  // The life of the peer that this node knows is over, though it may run still: another directory
  // has its number. Its channel is replaced by one that stands in, and nobody joins one before the
  // next life of the peer was heard. A failure is the node's end.
  Status cut(NodeId id);

  // The life of the peer that was met last; 0: none.
  Incarnation life_of(NodeId id) const;

  // When a peer was heard last, and whether that was a moment ago.
  struct Heard {
    bool live = false;
    Tick last;  // 0: never in this incarnation of it.
  };

  Heard heard(NodeId peer) const;

  // As ReplicatedLog::shard_channel.
  std::string channel_text(NodeId peer) const;

 private:
  struct Peer {
    NodeId id;
    std::uint64_t heard_ms = 0;  // 0: not since its channel last came up.
    Tick heard_last;             // 0: never in this life.
    bool ready = false;          // To begin its turn.
    std::uint64_t joined_ms = 0;
    ResidentAddress place;               // As it last said.
    std::optional<SocketFolder> folder;  // As it told of it in this life.
    bool wants_folder = false;           // It is of a release that takes that message.
    std::optional<LinkHello> hello;      // As it said in this life.
    bool says_hello = false;             // It is of a release that says one.
    bool hello_unread = false;           // It said one in this life that is none.
    std::uint64_t looked_ms = 0;
    Mapping mapping = Mapping::Unknown;
    ResidentLink link;
    std::uint32_t proxy_epoch = 0;  // A proxy is to be made under it; 0: none.
    Incarnation life;               // 0: its network was never up.
    LinkRetryPolicy patience;       // Of that life.
    LogRateLimit said;              // Of the way to it.
    std::string unmapped;           // Why its memory could not be mapped, the last time.
    std::string unproxied;          // Likewise a proxy; empty: it could, or was not tried.
  };

  struct Metrics {
    explicit Metrics(MetricsRegistry& registry);
    Counter& changes;
    Counter& unmapped;
    Counter& unproxied;
    Counter& far;
    Counter& form;
  };

  Result<std::size_t> connect_found();
  Status connect(ResidentJoin::Found& found);
  Result<std::size_t> connect_proxies();
  Status join_by_proxy(Peer& peer, std::uint32_t epoch);
  void on_mapping_failed(Peer& peer, const Status& status);
  bool is_far(NodeId peer, const ResidentReady& said) const;
  Mapping mapping_of(const Peer& peer) const;
  void take_link(Peer& peer, const ResidentLink& link);
  void show_link(NodeId peer, const ResidentLink& link, bool in_use);
  static std::string reason_of_none(const Peer& peer);
  ResidentLinkKind way_to(NodeId peer) const;
  LinkHello own_hello() const;
  ResidentLink choose(const Peer& peer, const ResidentReady& said) const;
  void learn(Peer& peer, const ResidentReady& said);
  void join_anew(Peer& peer, const ResidentReady& said);
  void say_ready(NodeId to);
  void on_ready(NodeId from, const ResidentReady& said);
  void begin_life(NodeId peer, Incarnation life);
  // nullptr: no peer has this id.
  const Peer* find_peer(NodeId id) const;
  Peer* find_peer(NodeId id);

  Options options_;
  Environment env_;
  Metrics metrics_;
  ResidentProxies proxies_;
  ResidentJoin join_;
  FolderProbes probes_;
  PeerBells bells_;
  std::vector<Peer> peers_;
  ResidentPhase phase_ = ResidentPhase::Prepares;
  std::uint64_t next_ready_ms_ = 0;
};

}  // namespace gcoord::server
