#include "server/host_turn/row_reports.h"

namespace gcoord::server {
namespace {

bool campaigns(const consensus::Hot& hot) {
  return hot.role == consensus::Role::PreCandidate || hot.role == consensus::Role::Candidate;
}

}  // namespace

void RowReports::announce(std::uint32_t row, const RowBefore& before, consensus::Cause cause) {
  const ShardId shard = env_.rows.shard_of(row);
  const consensus::Hot& hot = env_.rows.ref(row).hot();
  const consensus::Log& log = env_.rows.ref(row).log();
  const bool leads = hot.role == consensus::Role::Leader;
  const bool led = before.hot.role == consensus::Role::Leader;
  if (leads != led) {
    leader_count_ += leads ? 1u : ~0u;
    (leads ? env_.metrics.elections : env_.metrics.leaderships_lost).add();
  }
  env_.rows.leaderless +=
      (hot.leader.value == 0 ? 1u : 0u) - (before.hot.leader.value == 0 ? 1u : 0u);
  env_.rows.campaigns += (campaigns(hot) ? 1u : 0u) - (campaigns(before.hot) ? 1u : 0u);
  const bool turned =
      hot.role != before.hot.role || hot.term != before.hot.term || hot.leader != before.hot.leader;
  if (turned) {
    roles_.note({shard,
                 {before.hot.role, before.hot.term, before.hot.leader},
                 {hot.role, hot.term, hot.leader},
                 cause});
    env_.calls.on_role(shard, hot.role, hot.term, hot.leader);
  }
  const bool moved = turned || hot.vote != before.hot.vote || log.commit != before.log.commit;
  if (moved && env_.calls.traces()) {
    env_.calls.trace({.node = env_.self,
                      .shard = shard,
                      .tick = env_.turn.tick,
                      .term = hot.term,
                      .vote = hot.vote,
                      .leader = hot.leader,
                      .role = hot.role,
                      .cause = cause,
                      .last = log.last,
                      .commit = log.commit,
                      .applied = log.applied,
                      .durable = env_.rows.ref(row).storage().durable,
                      .state_hash = env_.calls.state_hash(shard)});
  }
}

}  // namespace gcoord::server
