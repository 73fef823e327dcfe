// Counters of signed votes and of evidence, registered once.
#pragma once

#include "common/host/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// Why a statement, or a vote of one, was dropped. Dropping is always safe: no vote depends on it.
enum class EvidenceDrop : std::uint8_t {
  Malformed,   // A message that cannot be.
  Foreign,     // A statement of another cluster, sender, candidate or life than it should be.
  Crowded,     // Votes that had to go for others, or found no place.
  Flood,       // More contradictions than are judged, or more to be shown than is sent, in a while.
  KeyUnknown,  // The ledger has no key of the voter.
  Unproven,    // Statements that contradict each other, without good signatures.
  Full,        // Evidence beyond what is kept of one voter, or of all.
  Unsent,      // Own statements that a link did not take.
};

inline constexpr std::size_t kEvidenceDropCount = 8;

struct EvidenceMetrics {
  explicit EvidenceMetrics(MetricsRegistry& registry);

  Counter& dropped(EvidenceDrop reason) { return *drops[static_cast<std::size_t>(reason)]; }

  Counter& signatures;
  Counter& shown;
  Counter& double_votes;
  Gauge& files;
  Gauge& statement_bytes;
  std::array<Counter*, kEvidenceDropCount> drops{};
};

}  // namespace gcoord::server
