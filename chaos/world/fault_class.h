// Fault classes of a simulated world, by name: the classes of docs/internals/testing.md that exist
// in one process.
//
// Each counts how often it struck. The names are part of `--json`: never rename. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::chaos {

enum class FaultClass : std::uint8_t {
  Crash,           // A process ends; its machine goes on.
  PowerLoss,       // A machine ends; unsynced sectors survive at random.
  PowerLossOfAll,  // All machines at once.
  TornWrite,       // Power goes between two operations of a disk.
  BitFlip,         // In the log or the checkpoints of a node that is down.
  DiskFull,
  WriteFailure,
  SyncFailure,
  SlowDisk,
  Partition,  // Two sides.
  OneWay,     // One direction of one link.
  Partial,    // One link; others see both ends.
  Swizzle,    // Links of a node go one by one and come back in another order.
  Loss,       // Of messages between nodes; and so on.
  Duplicate,
  Reorder,
  Delay,
  Corrupt,
  ClockJump,   // A machine's boot clock begins anew.
  ClockDrift,  // Within the declared bound.
  PauseNode,
  PauseClient,  // That may hold a lock beyond its TTL.
  Transfer,     // Leadership is handed over.
  Membership,   // Memory mode: a node that forgot is demoted and promoted again.
  ReplacedDisk,
  OldDisk,
  WaiterHerd,
  LeaseStorm,       // All clients fall silent beyond their TTL at once.
  ClientRetry,      // A reply to a client is lost after the deed.
  ClientLoss,       // A request of a client is lost.
  Abandon,          // A client stops keeping its session alive.
  Snapshot,         // A node misses so much that logs were compacted meanwhile.
  DeviceFlip,       // A bit of a device's memory flips; counts when the node has found it.
  DeviceError,      // A call to a device fails; the same.
  LockMove,         // A lock is moved to another shard; counts when it has arrived.
  MajorityRestart,  // All nodes but a leader restart, while it is cut off.
  TransferCut,      // A leader is cut off while it hands its shards over.
  RequestRepeat,    // A request of a client is delivered once more, and late.
  LateCopy,         // Acquires come once more when their sessions are over and all nodes restarted.
  MemberChange,     // Nodes are added, promoted, drained, replaced and removed: orders carried out.
  NodeLost,         // A machine is gone for ever, with its disk; its node is replaced or removed.
};

inline constexpr std::size_t kFaultClassCount = 41;

// Of which seeds draw; those behind them need nodes with devices, or are drawn apart: what they are
// not in stays what it was.
inline constexpr std::size_t kFaultClassesDrawn = 32;

const char* fault_class_name(FaultClass fault);

using FaultCounts = std::array<std::uint64_t, kFaultClassCount>;

// A set of classes; bit k is class k.
using FaultMask = std::uint64_t;

constexpr FaultMask mask_of(FaultClass fault) {
  return FaultMask{1} << static_cast<unsigned>(fault);
}

// These have random numbers of their own, so that worlds without them are what they were.
inline constexpr FaultMask kFaultsApart =
    mask_of(FaultClass::MajorityRestart) | mask_of(FaultClass::TransferCut) |
    mask_of(FaultClass::RequestRepeat) | mask_of(FaultClass::LateCopy) |
    mask_of(FaultClass::MemberChange) | mask_of(FaultClass::NodeLost);

// Only worlds whose nodes come and go have these.
inline constexpr FaultMask kMemberFaults =
    mask_of(FaultClass::MemberChange) | mask_of(FaultClass::NodeLost);

inline constexpr FaultMask kDeviceFaults =
    mask_of(FaultClass::DeviceFlip) | mask_of(FaultClass::DeviceError);

}  // namespace gcoord::chaos
