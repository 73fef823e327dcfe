// The inside of PeerNetwork: a table of peers, the links that belong to them and the strangers that
// have not named themselves yet. peer_network.h has the contract.
//
// peer_core.cc holds what the owner calls (sending, time limits); peer_links.cc what the transport
// tells (handshakes, frames, ends of links).
#pragma once

#include "netcore/call_pacing.h"
#include "netcore/channel.h"
#include "netcore/greeting.h"
#include "netcore/peer_metrics.h"
#include "netcore/peer_network.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::netcore {

class PeerNetwork::Core final : public LinkEvents {
 public:
  Core(PeerNetworkOptions options, std::unique_ptr<Transport> transport, std::string transport_why);

  Status listen();

  int event_fd() const { return transport_->event_fd(); }

  bool arm();
  std::uint64_t next_deadline_ms() const;
  void progress(std::uint64_t now_ms, Sink& sink);
  void flush();
  std::uint32_t credit(NodeId peer, Band band) const;
  bool send(NodeId peer,
            Band band,
            std::span<const Slot> slots,
            std::span<const PayloadExtent> payloads);
  void heartbeat(NodeId peer, const Heartbeat& heartbeat);

  void tell_durable(std::uint64_t durable) { options_.durable = durable; }

  std::uint16_t listen_port() const { return listen_port_; }

  bool is_up(NodeId peer) const;
  std::vector<PeerStatus> status() const;

  const std::array<std::uint64_t, kDropReasonCount>& dropped_from_strangers() const {
    return stranger_drops_;
  }

  // LinkEvents, from the transport.
  void on_accepted(LinkId link, std::string_view from) override;
  void on_connected(LinkId link) override;
  void on_message(LinkId link, std::span<const std::byte> message) override;
  void on_closed(LinkId link, DropReason drop, std::string_view reason) override;

 private:
  // Everything about one configured peer. `link` is the live link or the call under way.
  struct Peer {
    Peer(const PeerNetworkOptions& options, const PeerAddress& peer_address);

    PeerAddress address;
    CallPacing pacing;
    PeerMetrics metrics;
    LinkState state = LinkState::Idle;
    LinkId link;
    std::optional<Channel> channel;
    // Newest life met, and epoch used, with this peer.
    Incarnation incarnation;
    DirectoryId directory;
    std::uint32_t epoch = 0;
    std::uint64_t call_deadline_ms = 0;
    std::uint64_t last_heard_ms = 0;
    std::string last_error;
  };

  struct Stranger {
    std::string from;
    std::uint64_t deadline_ms = 0;
  };

  Peer* find(NodeId id);
  const Peer* find(NodeId id) const;
  Peer* owner_of(LinkId link);
  Greeting self_greeting(NodeId to, std::uint32_t epoch) const;
  CallerRecord record_of(const Peer* peer) const;
  Admission ask_hook(const PeerIdentity& identity) const;

  bool is_calling(const Peer& peer) const {
    return peer.state == LinkState::Dialing || peer.state == LinkState::Greeting;
  }

  void call_if_due(Peer& peer);
  void check_limits(Peer& peer);
  void check_strangers();
  void flush_peer(Peer& peer);

  void on_stranger_message(LinkId link, std::span<const std::byte> message);
  void on_hello(LinkId link, const Greeting& hello);
  void refuse(LinkId link, NodeId to, const Admission& admission);
  void on_answer(Peer& peer, std::span<const std::byte> message);
  void on_welcome(Peer& peer, const Greeting& welcome);
  void on_refusal(Peer& peer, const Refusal& refusal);
  void on_channel_message(Peer& peer, std::span<const std::byte> message);
  void bring_up(Peer& peer, LinkId link, const Greeting& theirs, std::uint32_t epoch);
  // Ends the peer's link or call, if it has one, and tells the sink if a channel died with it.
  void take_down(Peer& peer, std::string_view reason);
  void fail_call(Peer& peer, std::string_view reason);
  void drop_stranger(LinkId link, DropReason reason);

  PeerNetworkOptions options_;
  std::unique_ptr<Transport> transport_;
  std::string transport_why_;
  std::uint16_t listen_port_ = 0;
  std::vector<Peer> peers_;
  std::unordered_map<NodeId, std::size_t> index_of_peer_;
  std::unordered_map<LinkId, std::size_t> peer_of_link_;
  std::unordered_map<LinkId, Stranger> strangers_;
  std::array<std::uint64_t, kDropReasonCount> stranger_drops_{};
  DropMetrics drop_metrics_;
  std::uint64_t now_ms_ = 0;
  Sink* sink_ = nullptr;  // Set while progress runs.
};

}  // namespace gcoord::netcore
