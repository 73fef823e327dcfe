// A channel: what two nodes share between one handshake and the death of the link.
//
// It turns slots into frames and frames into slots, and keeps credit, order, epoch and priority.
// It does not touch the link: the owner offers what `collect` lists to the transport and reports
// with `taken` how much of it went. Control leaves before Consensus, Consensus before the rest; Rpc
// and Bulk share what is left by weight. The liveness word and credit grants need no credit and
// pass everything, because each overwrites its predecessor: at most one of each waits.
//
// Single-threaded, no clock. Warm, nothing allocates. Caller errors are asserted, frames from the
// peer are judged.
#pragma once

#include "common/ids.h"
#include "netcore/channel/credit.h"
#include "netcore/channel/drop_reason.h"
#include "netcore/channel/frame.h"
#include "netcore/channel/liveness.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/memory/payload.h"
#include "netcore/memory/slot.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::netcore {

struct ChannelOptions {
  ClusterId cluster;
  NodeId self;
  NodeId peer;
  Incarnation self_incarnation;
  Incarnation peer_incarnation;
  std::uint32_t epoch = 0;
  std::array<std::uint32_t, kBandCount> own_ring_slots{};   // What the peer may send.
  std::array<std::uint32_t, kBandCount> peer_ring_slots{};  // What this side may send.
  std::size_t unsent_bytes_max = 0;
};

// Receives what Channel::on_frame lets through.
class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  virtual void on_slots(Band band, std::span<const Slot> slots, const PayloadView& payloads) = 0;
  virtual void on_heartbeat(const Heartbeat& heartbeat) = 0;
};

class Channel {
 public:
  explicit Channel(const ChannelOptions& options);

  const ChannelOptions& options() const { return options_; }

  // As PeerNetwork::credit, send and heartbeat.
  std::uint32_t credit(Band band) const;
  bool send(Band band, std::span<const Slot> slots, std::span<const PayloadExtent> extents);
  void heartbeat(const Heartbeat& heartbeat);

  // As PeerNetwork::hold_credit.
  void hold_credit(Band band, bool held);

  // Frames that wait, most urgent first, into `out`; returns how many. The spans stay valid until
  // the next call of a non-const function.
  std::size_t collect(std::span<std::span<const std::byte>> out);
  // The first `count` frames of the last `collect` have left.
  void taken(std::size_t count);

  // Gives back the memory of queues in which nothing waits.
  void shrink() {
    for (FrameBuffer& queue : queues_) {
      queue.shrink();
    }
  }

  // Bytes accepted by `send` that have not left.
  std::size_t unsent_bytes() const { return unsent_bytes_; }

  // A frame of kind Slots, Grant or Heartbeat from the peer. None: it was applied, and `events` was
  // told what it held. Anything else: nothing was applied.
  DropReason on_frame(const FrameView& frame, ChannelEvents& events);

  // Slots that the peer sent and that never arrived, over all bands.
  std::uint64_t lost_slots() const;

 private:
  // What `collect` listed, so that `taken` knows what to drop.
  enum class Source : std::uint8_t { Control, Consensus, Rpc, Bulk, Heartbeat, Grant };

  static constexpr std::size_t kCollectMax = 16;  // Frames per gather write; more go in the next.

  FrameHeader next_header(FrameKind kind, Band band);
  void queue_frame(Band band,
                   std::span<const Slot> slots,
                   std::span<const PayloadExtent> extents,
                   std::uint32_t first_slot_index);
  void encode_heartbeat();
  void encode_grant();
  bool wants_grant() const;
  // Lists queued frames by priority from `at` on; returns the new count.
  std::size_t collect_queued(std::span<std::span<const std::byte>> out, std::size_t at);
  DropReason check_origin(const FrameHeader& header) const;
  DropReason on_credit(const FrameHeader& header);
  DropReason on_slot_frame(const FrameView& frame, ChannelEvents& events);
  DropReason on_heartbeat(const FrameView& frame, ChannelEvents& events);

  ChannelOptions options_;
  std::array<CreditSender, kBandCount> senders_{};
  std::array<CreditReceiver, kBandCount> receivers_{};

  // Slots delivered while their band's credit is held: not consumed yet.
  struct Kept {
    bool held = false;
    std::uint32_t slot_count = 0;
  };

  std::array<Kept, kBandCount> kept_{};
  std::array<FrameBuffer, kBandCount> queues_;
  std::size_t unsent_bytes_ = 0;

  Heartbeat pending_heartbeat_;
  bool heartbeat_waits_ = false;
  std::uint64_t heartbeats_sent_ = 0;
  std::uint64_t heartbeats_received_ = 0;
  AlignedBytes heartbeat_frame_;
  AlignedBytes grant_frame_;
  bool grant_waits_ = false;

  std::array<Source, kCollectMax> collected_{};
  std::array<std::size_t, kCollectMax> collected_bytes_{};
  std::size_t collected_count_ = 0;
  // Bytes that Rpc and Bulk have sent, scaled by their weights: the one that is behind goes first.
  std::uint64_t rpc_share_ = 0;
  std::uint64_t bulk_share_ = 0;
};

}  // namespace gcoord::netcore
