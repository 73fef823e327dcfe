// Replicated state of limits: how much clients may ask for, and who is denied the cluster.
//
// It is part of shard 0's state on every node, so everything in it is bounded: kLimitTableBytesMax
// is what a snapshot of shard 0 grows by at most. Maps are ordered, so equal tables have equal
// bytes. What is counted against a limit is not in it: each node counts for itself (server/limits).
// Plain values; no thread rules.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace gcoord::security {

inline constexpr std::size_t kLimitsMax = 1'024;
inline constexpr std::size_t kDenialsMax = 4'096;
// As long as a lock's name, which a prefix may be.
inline constexpr std::size_t kLimitNameBytesMax = 1'024;
// A subject alternative name (security/tls/peer.h), or the name of a principal.
inline constexpr std::size_t kDenialNameBytesMax = 255;
inline constexpr std::size_t kDenialReasonBytesMax = 255;
inline constexpr std::size_t kLimitTableBytesMax = std::size_t{2} << 20;
// Changes whose numbers are kept, so that one that comes twice is made once.
inline constexpr std::size_t kLimitChangesKept = 64;
// Of requests a second, and of requests at once: beyond what a node serves.
inline constexpr std::uint32_t kRateMax = 100'000'000;
inline constexpr std::uint64_t kDenialMsMin = 1'000;
inline constexpr std::uint64_t kDenialMsMax = std::uint64_t{30} * 24 * 60 * 60 * 1'000;

// Of the longest TTL of a session: as short and as long as nodes take one (protocol/limits.h).
inline constexpr std::uint32_t kSessionTtlMsMin = 100;
inline constexpr std::uint32_t kSessionTtlMsMax = 24u * 60 * 60 * 1'000;

// Names that stand for more than one principal.
inline constexpr std::string_view kEachName = "*";    // Each that has no limit of its own.
inline constexpr std::string_view kNobodyName = "-";  // Each address that has proven nobody.

// Never renumber: they are in logs.
enum class LimitScope : std::uint8_t {
  Principal = 1,
  Prefix = 2,   // Of names.
  Network = 3,  // As network.h writes it.
};

// 0: no limit of this kind.
struct Limit {
  std::uint32_t rate = 0;   // Requests a second.
  std::uint32_t burst = 0;  // At once; at least 1 where there is a rate.
  std::uint32_t connections = 0;
  std::uint32_t sessions = 0;
  std::uint32_t locks = 0;
  std::uint32_t waiters = 0;
  std::uint32_t watches = 0;
  std::uint64_t bytes = 0;
  std::uint32_t session_ttl_ms = 0;  // The longest TTL of a session. Feature::Safeguards.

  friend bool operator==(const Limit& a, const Limit& b) = default;
};

// Never renumber: they are in logs.
enum class DenialScope : std::uint8_t {
  Principal = 1,
  Serial = 2,           // Upper-case hexadecimal digits.
  CertificateName = 3,  // A subject alternative name, or the common name.
  Network = 4,          // As network.h writes it.
};

struct Denial {
  std::uint64_t until_ms = 0;  // Unix time of its end.
  std::string reason;

  friend bool operator==(const Denial& a, const Denial& b) = default;
};

template <typename Scope>
struct LimitKey {
  Scope scope{};
  std::string name;

  friend auto operator<=>(const LimitKey& a, const LimitKey& b) = default;
};

using Limits = std::map<LimitKey<LimitScope>, Limit>;
using Denials = std::map<LimitKey<DenialScope>, Denial>;

// Orders to prune the ledger that are kept, each for so long: one that nobody confirmed, and one
// that may be carried out again and again.
inline constexpr std::size_t kPruneOrdersMax = 64;
inline constexpr std::uint64_t kPruneOrderMs = std::uint64_t{7} * 24 * 60 * 60 * 1'000;
// Of who ordered and who confirmed: of a principal.
inline constexpr std::size_t kPruneWhoBytesMax = 255;

// What an order to prune is about (protocol/ledger/prune_messages.h), by which it is known.
struct PruneBounds {
  std::uint8_t log = 0;  // 0: shards, 1: the cluster log.
  std::uint32_t shard = 0;
  std::uint64_t below = 0;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t age_ms = 0;

  friend auto operator<=>(const PruneBounds& a, const PruneBounds& b) = default;
};

struct PruneOrder {
  std::string who;  // The principal that ordered it.
  std::uint64_t ordered_ms = 0;
  std::string confirmed_by;  // Another one; empty: nobody yet.
  std::uint64_t confirmed_ms = 0;

  bool is_confirmed() const { return !confirmed_by.empty(); }

  std::uint64_t until_ms() const { return ordered_ms + kPruneOrderMs; }

  friend bool operator==(const PruneOrder& a, const PruneOrder& b) = default;
};

using PruneOrders = std::map<PruneBounds, PruneOrder>;

struct LimitTable {
  std::uint64_t epoch = 0;  // Rises by one with every change; 0: there was none yet.
  Limits limits;
  Denials denials;
  PruneOrders prunes;  // Feature::Safeguards.
  // Numbers of the last changes; the one at the end made `epoch`.
  std::deque<std::uint64_t> numbers;

  friend bool operator==(const LimitTable& a, const LimitTable& b) = default;
};

// Whether something in the table is unknown to releases without protocol::Feature::Safeguards.
bool has_safeguards(const LimitTable& table);

// Whether a table may have it under this name.
bool is_limit(LimitScope scope, std::string_view name, const Limit& limit);
bool is_denial(DenialScope scope, std::string_view name);
bool is_prune(const PruneBounds& bounds, const PruneOrder& order);

// What the rows take as bytes.
std::size_t row_bytes(const LimitTable& table);

}  // namespace gcoord::security
