// Invariants of a row after every step, on host and device, in every build
// (docs/internals/faults.md, I1 to I17 as far as one replica can see them).
#pragma once

#include "consensus/step/step_row.h"

namespace gcoord::consensus {

GCOORD_HD inline void assert_runs(const Log& log, const LogRuns& runs) {
  for (std::uint32_t k = 0; k < log.run_count; ++k) {
    GCOORD_ASSERT(k > 0 || runs.start_offset[k] == 1);
    GCOORD_ASSERT(run_start(log, runs, k) <= log.last);
    GCOORD_ASSERT(k == 0 || runs.start_offset[k - 1] < runs.start_offset[k]);
    GCOORD_ASSERT(k == 0 || runs.term_offset[k - 1] < runs.term_offset[k]);
  }
}

GCOORD_HD inline void assert_runs(const Log& log, const OneRun& runs) {
  GCOORD_ASSERT(run_start(log, runs, 0) <= log.last);
}

template <typename Runs>
GCOORD_HD inline void assert_log(const Log& log, const Runs& runs) {
  GCOORD_ASSERT_ALL(log.floor <= log.applied, log.applied <= log.commit, log.commit <= log.last);
  GCOORD_ASSERT_ALL(
      log.verified <= log.last, log.configuration_pending <= log.last, log.run_count <= kRunSlots);
  GCOORD_ASSERT((log.run_count == 0) == (log.last == log.floor));
  assert_runs(log, runs);
}

template <typename Row>
GCOORD_HD inline void assert_storage(const Row& r) {
  const Storage& storage = r.storage();
  GCOORD_ASSERT_ALL(storage.durable <= r.log().last,
                    storage.pending_last <= r.log().last,
                    storage.persist_from <= r.log().last + 1,
                    storage.durable_term <= r.hot().term,
                    storage.durable < storage.persist_from);
}

template <typename Row>
GCOORD_HD inline void assert_role(const Row& r) {
  const Hot& hot = r.hot();
  GCOORD_ASSERT(last_term(r.log(), r.runs()) <= hot.term);
  GCOORD_ASSERT((r.input.witness == 0) | (hot.role == Role::Follower));
  if (hot.role == Role::Leader) {
    GCOORD_ASSERT_ALL(hot.leader == r.input.self,
                      hot.vote == r.input.self,
                      r.storage().durable_term == hot.term,
                      is_voter(r));
  } else {
    GCOORD_ASSERT_ALL(hot.leader != r.input.self,
                      r.election().transfer_target == kSlotNone,
                      r.election().read_sequence == 0);
  }
  if (hot.role == Role::Candidate) {
    GCOORD_ASSERT(hot.vote == r.input.self);
  }
}

template <typename Row>
GCOORD_HD inline void assert_invariants(const Row& r) {
  assert_log(r.log(), r.runs());
  assert_storage(r);
  assert_role(r);
}

}  // namespace gcoord::consensus
