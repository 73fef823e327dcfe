// Checker of Raft's invariants over the traces that every node wrote about its shards.
//
// A trace shows transitions, not messages or entries, and the files of several nodes have no common
// clock, so only what holds in any order is judged:
//   I1  in one term of a shard one node leads, and all that name a leader name that one
//   I2  in one term of a shard a node votes for one candidate, in all of its lives
//   I3  a leader's log does not become shorter in its term
//   I4  equal commit index, equal log_hash (where lines have it)
//   I5  the log of a leader of term t reaches what anybody knew committed in a term below t
//   I6  equal applied index, equal state_hash
//   I7  in one life of a node term and commit never fall, nor applied; applied <= commit <= last
// consensus/scenario/raft_history.h states them; this checker feeds it one line after the other.
// Pure.
#pragma once

#include "chaos/check/trace.h"
#include "chaos/check/verdict.h"

#include <vector>

namespace gcoord::chaos {

// A report for each of: I1, I2, I3 and I5, I4, I6, I7.
std::vector<CheckReport> check_raft(const Trace& trace);

}  // namespace gcoord::chaos
