// Status of a node's links to its peers, for `gcoordctl status`, logs and tests.
//
// Counters count since the process began and only grow. Host only; a snapshot by value.
#pragma once

#include "common/ids.h"
#include "netcore/channel/drop_reason.h"
#include "netcore/memory/slot.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::netcore {

enum class LinkState : std::uint8_t {
  Idle,      // No link; waiting for the next attempt or for the peer to call.
  Dialing,   // The transport is connecting.
  Greeting,  // Connected; the handshake is under way.
  Up,        // The channel lives.
  Refused,   // The peer (or this node) refused the handshake; `last_error` says why.
};

std::string_view link_state_name(LinkState state);

struct PeerTraffic {
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t credit_stalls = 0;  // Calls of `send` turned away for want of credit or buffer.
  std::uint64_t reconnects = 0;     // Channels that came up after the first one.
  std::uint64_t unsent_bytes = 0;   // Gauge: accepted by `send`, not yet taken by the transport.
  std::array<std::uint64_t, kDropReasonCount> dropped{};
};

struct PeerStatus {
  NodeId id;
  std::string address;
  LinkState state = LinkState::Idle;
  std::uint32_t epoch = 0;  // Of the live channel, or of the last one; 0 before the first.
  Incarnation incarnation;  // As the peer last said; 0 before the first handshake.
  std::string transport;    // For example "tcp: default for peers".
  std::string last_error;   // Empty when there was none.
  bool is_proven = false;   // Up, and it has shown that it has the secret of the cluster.
  std::array<std::uint32_t, kBandCount> credit{};
  PeerTraffic traffic;
};

}  // namespace gcoord::netcore
