// Payloads of KeepAlive, and what a keep-alive promises.
//
// One KeepAlive to a node renews every registration that the node has for the listed sessions, in
// all its shards. The client counts a session as renewed from the send time of a keep-alive once a
// majority of the cluster's nodes acknowledged it. For that to be safe, a leader proposes the
// expiry of a session only after a majority of nodes said that they did not hear from it for its
// TTL: any two majorities share a node, so a renewal that the client counted is never missed. Where
// nodes come and go, each side counts a majority of every view that somebody may go by, and the
// reply says the epoch of its node's view: docs/adr/0111.
//
// Decoding is bounded and never trusts a count. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::protocol {

// What a node says of one session in a keep-alive. Never renumber.
enum class KeepAliveState : std::uint32_t {
  Renewed = 1,       // Registered here, in one shard or more, and renewed.
  Unregistered = 2,  // It holds nothing here, or this replica has not applied its registration
                     // yet. Counts as an acknowledgement: a registration begins with a whole TTL.
  Expired = 3,       // It expired or was closed: the client reports it lost as a whole.
  // Renewed, and holds of it were broken by force: SessionLosses says which. Only with
  // RequestFlag::TellBroken.
  Broken = 4,
};

struct KeepAliveEntry {
  SessionId session;
  KeepAliveState state{};
  std::uint32_t ttl_left_ms = 0;  // Smallest over the registrations here; 0 unless Renewed.
};

// Payload of a KeepAlive request: u32 count, then u64 session each. At most kKeepAliveSessionsMax.
std::vector<std::byte> encode_keep_alive(std::span<const SessionId> sessions);
Result<std::vector<SessionId>> decode_keep_alive(std::span<const std::byte> payload);

// Payload of its reply: u32 count, u32 zero, then {u64 session, u32 state, u32 ttl_left_ms} each. A
// node may leave out sessions in state Renewed whose whole TTL is left: the missed ones matter.
std::vector<std::byte> encode_keep_alive_reply(std::span<const KeepAliveEntry> entries);
Result<std::vector<KeepAliveEntry>> decode_keep_alive_reply(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
