// A node's network of peers: one live channel to each peer, kept up for as long as it is one.
//
// The owner calls `progress` in its turn loop, sends by slots, and sleeps on `event_fd` when `arm`
// says so. Whatever is given to `send` either travels whole, in order within its band, or dies with
// the channel: after on_peer_down nothing of the old epoch arrives, and the owner re-emits from its
// state. Delivery to the Sink consumes the slots and returns credit.
//
// With a secret of the cluster both ends of a link prove that they have it before either believes a
// greeting or a refusal (netcore/proof, docs/adr/0120): PeerNetworkOptions::proof.
//
// Exactly one channel lives per pair of nodes. Both sides may call; if calls cross, the lower node
// id's call counts. A reconnect is always a new epoch, later than every one before it
// (netcore/memory/epoch.h).
//
// Time is a parameter: `now_ms` is the caller's monotonic clock in milliseconds; netcore reads
// none. Single-threaded, no locks, no exceptions. Callbacks run inside `progress` and may call
// `send`, `heartbeat`, what changes the peers and every const function, but not `progress`. After
// warm-up `send` allocates nothing.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "netcore/channel/liveness.h"
#include "netcore/memory/admission.h"
#include "netcore/memory/payload.h"
#include "netcore/memory/slot.h"
#include "netcore/peers/metrics.h"
#include "netcore/peers/proofs.h"
#include "netcore/peers/status.h"
#include "netcore/transport/transport.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::netcore {

// Ucx begins on TCP too and moves to UCX once the peer is admitted;
// docs/adr/0003-peer-transport.md.
enum class TransportKind : std::uint8_t { Tcp, Ucx };

// What `progress` tells its caller. Spans and views are valid only inside the call.
class Sink {
 public:
  virtual ~Sink() = default;

  // Slots of one frame: all of one band, in the order in which the peer sent them. One `send` of
  // more than a frame holds arrives as several calls; a slot and its extents are never torn apart.
  virtual void on_frame(NodeId from,
                        Band band,
                        std::span<const Slot> slots,
                        const PayloadView& payloads) = 0;
  virtual void on_heartbeat(NodeId from, const Heartbeat& heartbeat) = 0;
  // The channel came up, under an epoch later than any before. Credit is full from here.
  virtual void on_peer_up(NodeId peer, Incarnation incarnation, std::uint32_t epoch) = 0;
  // The channel died; `reason` is for people. Always after an on_peer_up of the same epoch.
  virtual void on_peer_down(NodeId peer, std::string_view reason) = 0;

  // The peer would not have this node. Told at every refused attempt (attempts back off to
  // retry_max_ms); a crossed call is not told, nor, where this node has a secret of the cluster,
  // the word of one that did not prove itself. The default does nothing: PeerStatus says it too.
  virtual void on_refused(NodeId /*peer*/, const Refusal& /*refusal*/) {}
};

struct PeerAddress {
  NodeId id;
  std::string host;        // A numeric address or a name; a name is resolved at each attempt.
  std::uint16_t port = 0;  // 0: never called; the peer has to call.
};

class LinkTlsRules;

struct PeerNetworkOptions {
  ClusterId cluster;
  ClusterId former;  // The cluster whose place it took, whose nodes are told so; 0: none.
  NodeId node;
  Incarnation incarnation;
  DirectoryId directory;
  std::uint64_t life = 0;     // This and the next two: admission.h.
  std::uint64_t durable = 0;  // At the start; see tell_durable.
  AgreedSettings settings{};
  std::string listen_host;
  std::uint16_t listen_port = 0;  // 0 lets the system choose; see PeerNetwork::listen_port.
  std::vector<PeerAddress> peers;
  std::vector<NodeId> removed;  // Nodes that have left for good: refused, and never peers.
  TransportKind transport_kind = TransportKind::Tcp;
  // For Ucx: as UCX_TLS, which wins if the environment has it. "tcp" opens a port that UCX 1.13
  // does not defend: for trusted networks only.
  std::string ucx_transports = "sm,self";
  // For tests and simulations: used instead of transport_kind when set.
  std::unique_ptr<Transport> transport;

  // Slots this node is ready to receive per band and peer before it has consumed any: powers of
  // two, at least 8. Consensus holds a vote request for each of 32,768 shards at once.
  std::array<std::uint32_t, kBandCount> ring_slots = {64, 32768, 8192, 1024};
  // Bytes accepted by `send` and not yet taken by the transport, per peer; beyond it `send` is
  // false. Four full frames of each data band.
  std::size_t unsent_bytes_max = std::size_t{12} << 20;

  std::uint64_t retry_min_ms = 20;         // First pause between attempts; doubles up to the next.
  std::uint64_t retry_max_ms = 1000;       // Also the pause after a refusal.
  std::uint64_t greeting_limit_ms = 2000;  // For a connect plus handshake, either side.
  // A live link on which nothing at all arrived for so long is closed and rebuilt: the case of a
  // peer that lost power. Needs heartbeats more often than this. 0 never closes.
  std::uint64_t silence_limit_ms = 5000;

  PeerProofOptions proof;
  // TLS on the links, and with Ucx sealed records; nullptr: none. A link that has it belongs to the
  // node that the other end's certificate names, and to no other.
  std::shared_ptr<const LinkTlsRules> tls;
  AdmitHook admit;                     // Empty admits every peer.
  MetricsRegistry* metrics = nullptr;  // Outlives the network; nullptr keeps no metrics.
};

class PeerTable;
class Strangers;
struct FrameView;
struct Greeting;
struct Judged;
struct PeerRecord;

// network.cc holds what the owner calls (sending, time limits), links.cc what the transport tells
// of links that come and go and of their frames, greetings.cc the handshakes.
class PeerNetwork final : private LinkEvents {
 public:
  // Listens at once; calls peers from the first `progress` on. Fails when the options contradict
  // each other or the address cannot be bound, with a message for the operator.
  static Result<std::unique_ptr<PeerNetwork>> create(PeerNetworkOptions options);
  ~PeerNetwork() override;
  PeerNetwork(const PeerNetwork&) = delete;
  PeerNetwork& operator=(const PeerNetwork&) = delete;

  // Readable when there is something to do, once `arm` returned true. Never closed or read by the
  // caller. -1 for transports without one (simulated).
  int event_fd() const { return transport_->event_fd(); }

  // Sends what is queued, then prepares event_fd. False: there is work now; call progress instead
  // of sleeping.
  bool arm();
  // When `progress` must run even if nothing arrives (retries, time limits); ~0 if never.
  std::uint64_t next_deadline_ms() const;
  // Moves everything that can move without waiting, and calls the sink. Sends what is queued both
  // before and after.
  void progress(std::uint64_t now_ms, Sink& sink);
  // Sends what is queued now: call it when a turn's messages are complete. `send` only queues, so
  // that all bands of a turn leave together.
  void flush();

  // Gives back what send queues grew by in a burst; the next sends allocate again.
  void shrink();

  // Slots that `send` would take now; 0 while the peer is down. The reserve for control is already
  // taken off. Unknown peers have none.
  std::uint32_t credit(NodeId peer, Band band) const;
  // Copies and queues all slots with their extents, or nothing. False: no channel, no credit, the
  // send buffer is full, or a single slot's extents exceed a frame (kFrameBytesMax); the caller
  // emits again in a later turn. At most kExtentBytesMax[band] bytes per extent.
  bool send(NodeId peer,
            Band band,
            std::span<const Slot> slots,
            std::span<const PayloadExtent> payloads = {});
  // While held, slots of the band that are delivered return no credit, so that no peer sends more
  // than it may have under way already. For an owner that has a backlog: what it would have to drop
  // waits where it comes from. Tell it in every turn; a channel that comes up does not know.
  void hold_credit(Band band, bool held);
  // Queues the liveness word ahead of everything; replaces an earlier one that has not left yet.
  // Dropped while the peer is down.
  void heartbeat(NodeId peer, const Heartbeat& heartbeat);

  // One peer more from here on; called from the next progress() on. InvalidArgument for an id that
  // no peer can have: out of range, this node's own, a present peer's, or one that was removed.
  Status add_peer(const PeerAddress& address);
  // Where the peer is called from here on. A live channel stays until it ends by itself; a call
  // under way is given up for one to the new address. One that is called nowhere ({id, "", 0})
  // loses its channel with the next progress(), wherever it is called after that: who the peer is
  // has changed. Does nothing for an unknown peer.
  void set_address(const PeerAddress& address);
  // The node has left for good. Its channel ends without on_peer_down (the caller knows); what it
  // sent before may still be delivered until progress() returns. Nothing is sent to it or known of
  // it any more but its number, under which greetings are refused. It need not be a peer.
  void remove_peer(NodeId node);

  // Other keys, or another demand for proofs, from here on. A channel that could not be opened any
  // more ends with the next progress(), and is opened anew with a proof.
  void change_proof(ProofKeys keys, ProofDemand demand) { proofs_.change(std::move(keys), demand); }

  // What greetings say from here on of how far this node's storage reaches.
  void tell_durable(std::uint64_t durable) { options_.durable = durable; }

  // The port that was bound.
  std::uint16_t listen_port() const { return listen_port_; }

  bool is_up(NodeId peer) const;
  // One row per peer: those of the options in their order, then as they were added.
  std::vector<PeerStatus> status() const;
  // Links that have not named themselves, or were dropped before they did, by reason.
  const std::array<std::uint64_t, kDropReasonCount>& dropped_from_strangers() const;

 private:
  PeerNetwork(PeerNetworkOptions options,
              std::unique_ptr<Transport> transport,
              std::string transport_why);

  // LinkEvents, from the transport.
  void on_accepted(LinkId link, std::string_view from) override;
  void on_connected(LinkId link) override;
  void on_message(LinkId link, std::span<const std::byte> message) override;
  void on_closed(LinkId link, DropReason drop, std::string_view reason) override;
  void on_dropped(LinkId link, DropReason drop) override;

  void call_if_due(PeerRecord& peer);
  void check_limits(PeerRecord& peer);
  void flush_peer(PeerRecord& peer);

  void send_hello(PeerRecord& peer);
  void on_stranger_message(LinkId link, std::span<const std::byte> message);
  DropReason on_opening(LinkId link, const FrameView& frame, std::span<const std::byte> message);
  void on_hello(LinkId link, const Greeting& hello);
  void refuse(LinkId link, NodeId to, const Judged& judged);
  void on_answer(PeerRecord& peer, std::span<const std::byte> message);
  void on_welcome(PeerRecord& peer, const Greeting& welcome);
  void on_refusal(PeerRecord& peer, const Refusal& refusal, DropReason stranger);
  void on_channel_message(PeerRecord& peer, std::span<const std::byte> message);
  void bring_up(PeerRecord& peer, LinkId link, const Greeting& theirs, std::uint32_t epoch);
  // Ends the peer's link or call, if it has one, and tells the sink if a channel died with it.
  // With Refused the peer counts as refused: the next attempt is a long pause away.
  void take_down(PeerRecord& peer, std::string_view reason, LinkState after = LinkState::Idle);
  void fail_call(PeerRecord& peer, std::string_view reason);
  // `text`: as DroppedStranger; empty: that of the reason.
  void drop_stranger(LinkId link, DropReason reason, std::string text = {});

  PeerNetworkOptions options_;
  std::unique_ptr<Transport> transport_;
  std::string transport_why_;
  std::uint16_t listen_port_ = 0;
  std::unique_ptr<PeerTable> peers_;
  std::unique_ptr<Strangers> strangers_;
  PeerProofs proofs_;
  DropMetrics drop_metrics_;
  std::uint64_t tls_version_ = 0;  // Of the files by which links were judged,
  bool lists_changed_ = false;     // and whether progress() found others.
  std::uint64_t now_ms_ = 0;
  Sink* sink_ = nullptr;  // Set while progress runs.
};

}  // namespace gcoord::netcore
