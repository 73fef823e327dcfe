// Judge of the requests in a stripe's ingress lane, for a log of lock commands (docs/adr/0144).
//
// Who writes the lane has checked a request, hashed its name and chosen its shard; none of that is
// believed. Each slot is judged by itself, so nothing is kept between two of them: its kind, the
// range of every field, the place of its sequence in the window that it names, that the hash in it
// belongs to the shard that it names (which the turn has found to be a row of this stripe), and
// that the pass before it withholds no right that its kind needs. What is not sound is refused with
// the reason and counted by the host; it never reaches the log. That the hash is the name's is not
// judged here: a SHA-256 in one thread is 1.7 us of a commit's 12. Hosts find it, which put the
// name together and hash it again, and stop their node (GC7101); so only this node's own code may
// write the lane. Host and device; pure.
#pragma once

#include "common/hd.h"
#include "common/name_hash.h"
#include "locks/commands/entry.h"
#include "locks/commands/entry_record.h"
#include "server/device_turn/service.h"
#include "sessions/record.h"

#include <cstdint>

namespace gcoord::server {

// Never renumber: they travel in replies of a device and label a metric.
enum class IngressFault : std::uint32_t {
  None = 0,
  Kind = 1,    // No kind that anybody proposes.
  Field = 2,   // A field outside its range, or a tag that means something else.
  Window = 3,  // Its sequence is too far above what it says is acknowledged.
  Shard = 4,   // The hash of its name belongs to another shard.
  Right = 5,   // The pass withholds a right that its kind needs, or it is the node's alone.
};

inline constexpr std::uint32_t kIngressFaults = 6;

// Bits of security::Right, which host code alone includes (server/node/node_parts.cc compares).
inline constexpr std::uint64_t kNeedsAcquire = std::uint64_t{1} << 4;
inline constexpr std::uint64_t kNeedsBreak = std::uint64_t{1} << 9;
inline constexpr std::uint64_t kNeedsAdmin = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kNeedsLead = std::uint64_t{1} << 11;
inline constexpr std::uint64_t kNeedsGroup = std::uint64_t{1} << 24;

// What a kind needs in any case. Rights that depend on whose session it is are the gate's to judge.
GCOORD_HD constexpr std::uint64_t needs_of(locks::LockCommandKind kind) {
  switch (kind) {
    case locks::LockCommandKind::Acquire:
    case locks::LockCommandKind::Release:
    case locks::LockCommandKind::CancelWait:
      return kNeedsAcquire;
    case locks::LockCommandKind::BreakLock:
      return kNeedsBreak;
    case locks::LockCommandKind::MoveOut:
      return kNeedsAdmin;
    case locks::LockCommandKind::Proclaim:
    case locks::LockCommandKind::Transfer:
      return kNeedsLead;
    case locks::LockCommandKind::GroupRequest:
      return kNeedsGroup;
    default:
      return 0;
  }
}

// Commands that leaders propose by themselves: no client has them.
GCOORD_HD constexpr bool is_of_node(locks::LockCommandKind kind) {
  return kind == locks::LockCommandKind::ExpireSession ||
         kind == locks::LockCommandKind::ExpireSessions ||
         kind == locks::LockCommandKind::BreakWait || kind == locks::LockCommandKind::EndDelay ||
         kind == locks::LockCommandKind::GroupWithdraw || kind == locks::LockCommandKind::MoveIn ||
         kind == locks::LockCommandKind::MoveDone || kind == locks::LockCommandKind::MoveLapse;
}

GCOORD_HD constexpr bool is_ingress_kind(locks::LockCommandKind kind) {
  switch (kind) {
    case locks::LockCommandKind::Acquire:
    case locks::LockCommandKind::Release:
    case locks::LockCommandKind::CancelWait:
    case locks::LockCommandKind::RegisterSession:
    case locks::LockCommandKind::ExpireSession:
    case locks::LockCommandKind::CloseSession:
    case locks::LockCommandKind::BreakLock:
    case locks::LockCommandKind::EndDelay:
    case locks::LockCommandKind::BreakWait:
    case locks::LockCommandKind::ExpireSessions:
    case locks::LockCommandKind::GroupRequest:
    case locks::LockCommandKind::GroupWithdraw:
    case locks::LockCommandKind::Proclaim:
    case locks::LockCommandKind::Transfer:
    case locks::LockCommandKind::MoveOut:
    case locks::LockCommandKind::MoveIn:
    case locks::LockCommandKind::MoveDone:
    case locks::LockCommandKind::MoveLapse:
      return true;
    default:
      return false;
  }
}

// Kinds whose words 3 and 4 are the hash of the name that they are about, which is at home in their
// shard or has been moved to it before.
GCOORD_HD constexpr bool has_name_hash(locks::LockCommandKind kind) {
  return is_ingress_kind(kind) && kind != locks::LockCommandKind::CancelWait &&
         kind != locks::LockCommandKind::RegisterSession &&
         kind != locks::LockCommandKind::ExpireSession &&
         kind != locks::LockCommandKind::CloseSession &&
         kind != locks::LockCommandKind::BreakWait &&
         kind != locks::LockCommandKind::ExpireSessions && kind != locks::LockCommandKind::MoveIn;
}

GCOORD_HD constexpr bool has_window(locks::LockCommandKind kind) {
  return kind == locks::LockCommandKind::Acquire || kind == locks::LockCommandKind::Release ||
         kind == locks::LockCommandKind::GroupRequest || locks::changes_office(kind);
}

GCOORD_HD inline locks::LockEntry entry_of_request(const TurnRequest& request) {
  locks::LockEntry entry;
  entry.head = request.head;
  for (std::uint32_t k = 0; k < 6; ++k) {
    entry.word[k] = request.word[k];
  }
  entry.request = request.tag;
  return entry;
}

// Of a request that is a command.
GCOORD_HD inline IngressFault command_fault(const TurnRequest& request,
                                            const TurnPass& pass,
                                            std::uint32_t shard_count) {
  const auto kind = static_cast<locks::LockCommandKind>(request.head & 0xffu);
  if (!is_ingress_kind(kind)) {
    return IngressFault::Kind;
  }
  const locks::LockCommand command = locks::command_of(entry_of_request(request));
  if (command.kind != kind) {
    return IngressFault::Field;
  }
  if (has_window(kind) && command.sequence - command.acked_below > sessions::kSequenceAheadMax) {
    return IngressFault::Window;
  }
  if (shard_count != 0 && has_name_hash(kind) &&
      shard_of(command.name_hash, shard_count) != request.shard) {
    return IngressFault::Shard;
  }
  const bool lacks = (needs_of(kind) & pass.withheld) != 0;
  return lacks || (is_of_node(kind) && pass.principal != 0) ? IngressFault::Right
                                                            : IngressFault::None;
}

// Why a request is not taken into the log of its shard.
GCOORD_HD inline IngressFault ingress_fault(const TurnRequest& request,
                                            const TurnPass& pass,
                                            std::uint32_t shard_count) {
  if (is_own_term(request.tag)) {
    return IngressFault::Field;
  }
  const std::uint32_t number = request.head >> 16;
  switch (request.head & 0xffu) {
    case locks::kEntryPiece:
      return number < locks::kRecordPiecesMax ? IngressFault::None : IngressFault::Field;
    case locks::kEntryBarrier:
      return IngressFault::None;
    case locks::kEntryRecord:
      return number != 0 && number <= locks::kEntryRecordBytesMax ? IngressFault::None
                                                                  : IngressFault::Field;
    default:
      return command_fault(request, pass, shard_count);
  }
}

// "kind", "shard" and the like, for the metric's label.
constexpr const char* ingress_fault_name(IngressFault fault) {
  switch (fault) {
    case IngressFault::Kind:
      return "kind";
    case IngressFault::Field:
      return "field";
    case IngressFault::Window:
      return "window";
    case IngressFault::Shard:
      return "shard";
    case IngressFault::Right:
      return "right";
    case IngressFault::None:
      break;
  }
  return "none";
}

}  // namespace gcoord::server
