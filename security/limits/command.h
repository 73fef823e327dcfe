// Commands of limits, as they stand in shard 0's log behind a record header (RecordKind::Limits).
//
// Each one names the epoch that it changes, so that of two at once one is refused, and the time of
// the node that proposed it, by which denials that have ended leave the table: no clock is read
// where it is applied. Bytes are never renumbered: kind 1, version 1, expected 8, number 8, proven
// 1, now_ms 8, who, scope 1, name, then of Set: the limit (rate, burst, connections, sessions,
// locks, waiters, watches 4 each, bytes 8), of Deny: until_ms 8, reason; a text is a length of 2
// and its bytes. Version 2 is what releases without protocol::Feature::Safeguards do not know, and
// only that: a limit with the longest TTL of sessions, 4, behind it; and the kinds from OrderPrune
// on, with log 1 for the scope, no name, and then shard 4, below 8, entries 8, bytes 8, age_ms 8.
// Pure functions; thread-safe.
#pragma once

#include "security/limits/limit_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord {
class ByteReader;
class ByteWriter;
}  // namespace gcoord

namespace gcoord::security {

// Never renumber: they are in logs.
enum class LimitKind : std::uint8_t {
  Set = 1,     // limit_scope, name, limit.
  Remove = 2,  // limit_scope, name.
  Deny = 3,    // denial_scope, name, denial.
  Allow = 4,   // denial_scope, name.
  // Orders to prune the ledger: prune, and who, that must be proven.
  OrderPrune = 5,
  ConfirmPrune = 6,  // By another principal than the one that ordered it.
  CancelPrune = 7,
};

struct LimitCommand {
  LimitKind kind = LimitKind::Set;
  std::uint64_t expected = 0;  // The epoch that it changes.
  std::uint64_t number = 0;    // Drawn by who asks: the same change twice is one. 0: none.
  bool proven = false;         // `who` is a principal that was proven.
  std::uint64_t now_ms = 0;    // Unix time of the node that proposed it.
  std::string who;             // For the ledger.
  // Of the two scopes that of the kind.
  LimitScope limit_scope = LimitScope::Principal;
  DenialScope denial_scope = DenialScope::Principal;
  std::string name;
  Limit limit;
  Denial denial;
  PruneBounds prune;

  // Whether only nodes with Feature::Safeguards can apply it.
  bool is_safeguard() const {
    return prunes() || (kind == LimitKind::Set && limit.session_ttl_ms != 0);
  }

  bool prunes() const { return kind >= LimitKind::OrderPrune && kind <= LimitKind::CancelPrune; }

  bool denies() const { return kind == LimitKind::Deny || kind == LimitKind::Allow; }

  friend bool operator==(const LimitCommand& a, const LimitCommand& b) = default;
};

inline constexpr std::size_t kLimitWhoBytesMax = 255;
// The longest encoding, with a record header (server/interfaces/log_limits.h).
inline constexpr std::size_t kLimitCommandBytesMax = 2040;

std::vector<std::byte> encode_limit_command(const LimitCommand& command);

// Nothing for bytes that no node writes. Whether names and numbers are right is judged when it is
// applied.
std::optional<LimitCommand> decode_limit_command(std::span<const std::byte> bytes);

// Parts of the above that requests and states have, too. A limit without the TTL of version 2.
void write_limit(ByteWriter& writer, const Limit& limit);
Limit read_limit(ByteReader& reader);
void write_denial(ByteWriter& writer, const Denial& denial);
Denial read_denial(ByteReader& reader);
// Without the log.
void write_prune(ByteWriter& writer, const PruneBounds& bounds);
void read_prune(ByteReader& reader, PruneBounds& bounds);

}  // namespace gcoord::security
