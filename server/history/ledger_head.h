// The head that stands before a service's state where a node keeps the history of its shards, and
// the leaf that history keeps of an entry.
//
//   version 1, kind 1, reserved 2, entry count 4, size 8
//   of a snapshot: the frontier's size 8, its peaks 32 each, then per entry length 4 and bytes
//   then the service's own
//
// Little-endian. What it means is in ledger_service.h; whoever reads a directory without a running
// node needs it, too. Pure; thread-safe.
#pragma once

#include "ledger/merkle/frontier.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

inline constexpr std::size_t kLedgerHeadBytes = 16;

// On disk and on the wire: never renumber.
enum class LedgerHeadKind : std::uint8_t {
  Checkpoint = 0,  // The node's own history has what is before it.
  Snapshot = 1,    // The frontier goes along.
};

// Spans point into what was decoded.
struct LedgerHead {
  std::uint64_t size = 0;                          // Entries that were applied.
  std::optional<ledger::MerkleFrontier> frontier;  // Of a snapshot.
  std::vector<std::span<const std::byte>> tail;    // Entries behind the frontier.
  std::span<const std::byte> rest;                 // The service's own bytes.
};

// Of size 0 for no bytes; nothing for what no release wrote. Bytes may come from a peer.
std::optional<LedgerHead> decode_ledger_head(std::span<const std::byte> bytes);

// The first 16 bytes.
struct LedgerHeadStart {
  LedgerHeadKind kind = LedgerHeadKind::Checkpoint;
  std::size_t entry_count = 0;  // Behind the frontier; of a snapshot.
  std::uint64_t size = 0;
};

// Appends them.
void put_ledger_head(std::vector<std::byte>& bytes, const LedgerHeadStart& start);

// What history keeps of the entry: the entry's own bytes or, for what an engine makes by itself,
// those behind a header of its kind, made in `made`. Lives as long as both.
std::span<const std::byte> ledger_leaf(const AppliedEntry& entry, std::vector<std::byte>& made);

}  // namespace gcoord::server
