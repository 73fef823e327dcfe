// Commit index of a row by what stable storage knows, while a configuration waits for it.
//
// The commit index alone reaches storage with the next entries, so a replica that restarts may have
// forgotten that a configuration is decided. Nodes that this one left behind, or made heavy, may be
// gone for good by then, and the configuration before has no majority without them. So a
// configuration is applied, and acknowledged as decided, only once storage knows that it is; what
// comes behind it in the log waits with it (docs/adr/0132). Nothing else is stored for the sake of
// the commit index. Pure; host and device.
#pragma once

#include "consensus/step/step_row.h"

namespace gcoord::consensus {

// Entries that Log::durable_ahead can tell; of more it says so many.
inline constexpr std::uint64_t kAheadMax = 0xffff;

// Whether an entry of the log may be a configuration that is not applied here.
GCOORD_HD inline bool configuration_waits(const Log& log) {
  return log.configuration_pending > log.applied;
}

// Whether what is decided counts as soon as it is: in memory mode, for an owner whose memory is all
// the storage there is, and for one that asks for it.
GCOORD_HD inline bool decides_at_once(const StepInput& input) {
  return in_memory_mode(input) || input.stored_at_once != 0 || input.decided_at_once != 0;
}

// Entries beyond `applied` that are decided, as Log::durable_ahead tells them.
GCOORD_HD inline std::uint16_t decided_ahead(const Log& log) {
  const std::uint64_t ahead = log.commit - log.applied;
  return static_cast<std::uint16_t>(ahead < kAheadMax ? ahead : kAheadMax);
}

// How far the log is decided, as far as this replica goes by it and says so.
template <typename Row>
GCOORD_HD inline LogIndex firmly_decided(const Row& r) {
  const Log& log = r.log();
  if constexpr (Row::kIsPlain) {
    return log.commit;  // plain_log
  } else {
    const bool firm = !configuration_waits(log) || decides_at_once(r.input);
    return firm ? log.commit : min_id(log.commit, log.applied + log.durable_ahead);
  }
}

// Whether storage is to be told how far the log is decided, though nothing else is new.
template <typename Row>
GCOORD_HD inline bool decision_is_news(const Row& r) {
  if constexpr (Row::kIsPlain) {
    return false;
  } else {
    const Log& log = r.log();
    return configuration_waits(log) && !decides_at_once(r.input) &&
           log.durable_ahead < decided_ahead(log);
  }
}

// The request that was made just now carries the commit index.
template <typename Row>
GCOORD_HD inline void hand_over_decision(const Row& r) {
  if constexpr (!Row::kIsPlain) {
    Log& log = r.log();
    const bool tells = configuration_waits(log) && !decides_at_once(r.input);
    log.pending_ahead = tells ? decided_ahead(log) : std::uint16_t{0};
  }
}

// It is durable.
template <typename Row>
GCOORD_HD inline void keep_decision(const Row& r) {
  if constexpr (!Row::kIsPlain) {
    Log& log = r.log();
    log.durable_ahead =
        log.durable_ahead < log.pending_ahead ? log.pending_ahead : log.durable_ahead;
  }
}

GCOORD_HD inline std::uint16_t ahead_of(std::uint16_t ahead, std::uint64_t moved) {
  return ahead > moved ? static_cast<std::uint16_t>(ahead - moved) : std::uint16_t{0};
}

// Entries up to `applied` were applied; with the last configuration there is nothing to know about
// any. Of a plain row both are 0.
GCOORD_HD inline void move_applied(Log& log, LogIndex applied) {
  const std::uint64_t moved = applied - log.applied;
  log.applied = applied;
  const bool waits = configuration_waits(log);
  log.durable_ahead = waits ? ahead_of(log.durable_ahead, moved) : std::uint16_t{0};
  log.pending_ahead = waits ? ahead_of(log.pending_ahead, moved) : std::uint16_t{0};
}

}  // namespace gcoord::consensus
