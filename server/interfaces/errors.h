// The stable numbers of the engine's failures: names for places of the one table
// (docs/reference/errors.md).
#pragma once

#include "ledger/base/error_details.h"
#include "protocol/error_codes.h"

#include <cstdint>

namespace gcoord::server {

constexpr std::uint32_t detail_of(protocol::ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

// Answers to proposals and reads (service.h).
inline constexpr std::uint32_t kNotLeader = detail_of(protocol::ErrorCode::NotLeader);
inline constexpr std::uint32_t kOverloaded = detail_of(protocol::ErrorCode::Overloaded);
inline constexpr std::uint32_t kTransferring = detail_of(protocol::ErrorCode::NoLeader);
// Leadership ended first. Of a proposal the outcome is not known; a read was not made.
inline constexpr std::uint32_t kLeadershipLost = detail_of(protocol::ErrorCode::ProposalDropped);
// The device's turn judged a command again and refused it.
inline constexpr std::uint32_t kDeviceRefused = detail_of(protocol::ErrorCode::DeviceRefused);

// Why an engine stops that its peers refuse.
inline constexpr std::uint32_t kDirectoryRefused = detail_of(protocol::ErrorCode::DirectoryRefused);
// Another process lives under this node's id.
inline constexpr std::uint32_t kNodeIdDuplicate = detail_of(protocol::ErrorCode::NodeIdDuplicate);
// Not for the operator: whoever opened the engine opens it again.
inline constexpr std::uint32_t kDirectoryTakenOver =
    detail_of(protocol::ErrorCode::DirectoryTakenOver);
inline constexpr std::uint32_t kSettingsDiffer = detail_of(protocol::ErrorCode::SettingsDiffer);
// The node has left the cluster for good, as a peer or the view says.
inline constexpr std::uint32_t kNodeRemoved = detail_of(protocol::ErrorCode::NodeRemoved);

// Reasons why an engine does not open (host_replicas.h), beside the ledger's and the network's.
inline constexpr std::uint32_t kEngineOptions = detail_of(protocol::ErrorCode::OptionInvalid);
// The log of record lacks an entry, or holds one that cannot be.
inline constexpr std::uint32_t kReplayImpossible = ledger::kWalRot;
// A checkpoint holds what no release wrote, or the service refused a state.
inline constexpr std::uint32_t kCheckpointImpossible = ledger::kCheckpointRot;

}  // namespace gcoord::server
