// Options and identity of a log of record at its opening.
#pragma once

#include "common/ids.h"
#include "ledger/base/lsn.h"
#include "ledger/disk/room.h"

#include <cstdint>

namespace gcoord::ledger {

enum class WalAbsence : std::uint8_t {
  Create,  // A first start: an empty directory becomes an empty log.
  Refuse,  // This node has persisted before: an empty directory is a loss.
};

struct WalOptions {
  ClusterId cluster;
  NodeId node;
  // Any number that clients cannot guess, the directory id for one. Checksums are salted with it,
  // so bytes inside a payload never pass for a record.
  std::uint64_t salt_seed = 0;
  // 64 MiB: large enough that rolling is rare, small enough to be dropped soon after a checkpoint.
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  // Records up to this lsn are covered by the checkpoint: they are verified but not replayed.
  Lsn replay_after;
  WalAbsence on_absence = WalAbsence::Create;
  // Asked before a segment takes space, and waited for; outlives the log. nullptr: always there.
  DiskRoom* room = nullptr;
};

}  // namespace gcoord::ledger
