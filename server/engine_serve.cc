// Answers to proposals and reads.
#include "consensus/step.h"
#include "server/engine_core.h"

#include <utility>

namespace gcoord::server {

using consensus::ProposalVerdict;
using consensus::ReadVerdict;
using consensus::Role;

namespace {

Status not_leader() {
  return Status{StatusCode::FailedPrecondition, "this node does not lead the shard", kNotLeader};
}

Status read_lost() {
  return Status{StatusCode::Unavailable,
                "leadership ended before the read could be confirmed; ask again",
                kLeadershipLost};
}

}  // namespace

// Answers what arrived before this turn: at once under a lease that it trusts, else by a read
// round, of which one is open at a time.
void ReplicaEngine::Core::serve_reads(RowWork& work, consensus::Inbox& in) {
  if (!work.reads || !work.reads->has_fresh_before(turn_)) {
    return;
  }
  const consensus::ShardRef shard = ref(work.row);
  if (shard.hot().role != Role::Leader) {
    fail_reads(work.row, work.reads->take_fresh(turn_), not_leader());
    return;
  }
  if (lease_expires(shard, step_input()) > now()) {
    const auto cookies = work.reads->take_fresh_by_lease(turn_);
    const LogIndex commit = shard.log().commit;
    metrics_.reads_leased.add(cookies.size());
    if (max_id(shard.log().applied, in.applied) >= commit) {
      answer_reads(cookies);
    } else {
      work.reads->await(commit, cookies);
    }
  }
  if (work.reads->has_fresh_before(turn_) && !work.reads->round_open()) {
    in.read_sequence = ++read_sequence_;
    in.read_proof = work.reads->wants_round_before(turn_) ? consensus::ReadProof::Round
                                                          : consensus::ReadProof::LeaseOrRound;
    work.reads->open_round(in.read_sequence, work.reads->take_fresh(turn_));
  }
}

void ReplicaEngine::Core::settle_read(std::uint32_t row, const consensus::Outbox& out) {
  RowWork* work = rows_.find(row);
  if (!work->reads) {
    return;
  }
  if (out.read == ReadVerdict::Ready) {
    const auto cookies = work->reads->close_round(out.read_sequence);
    metrics_.reads_confirmed.add(cookies.size());
    if (ref(row).log().applied >= out.read_index) {
      answer_reads(cookies);
    } else {
      work->reads->await(out.read_index, cookies);
    }
  }
  if (ref(row).hot().role != Role::Leader) {
    fail_reads(row, work->reads->take_lost(), read_lost());
  }
  if (work->reads->has_fresh_before(turn_ + 1) && !work->reads->round_open()) {
    rows_.touch(row);
  }
  if (work->reads->empty()) {
    work->reads.reset();
  }
}

void ReplicaEngine::Core::answer_reads(const std::vector<std::uint64_t>& cookies) {
  done_ += cookies.size();
  for (const std::uint64_t cookie : cookies) {
    service_.on_read(cookie, Status{}, options_.node);
  }
}

void ReplicaEngine::Core::fail_reads(std::uint32_t row,
                                     const std::vector<std::uint64_t>& cookies,
                                     const Status& why) {
  done_ += cookies.size();
  metrics_.reads_failed.add(cookies.size());
  for (const std::uint64_t cookie : cookies) {
    service_.on_read(cookie, why, ref(row).hot().leader);
  }
}

void ReplicaEngine::Core::fail_proposal(std::uint32_t row,
                                        std::uint64_t cookie,
                                        ProposalVerdict verdict) {
  metrics_.proposals_failed.add();
  Status status = not_leader();
  if (verdict == ProposalVerdict::Transferring) {
    status = Status{StatusCode::Unavailable,
                    "the shard's leadership is being handed over; try again",
                    kTransferring};
  } else if (verdict != ProposalVerdict::NotLeader) {
    status = Status{StatusCode::ResourceExhausted,
                    "the shard has too many undecided entries; try again",
                    kOverloaded};
  }
  service_.on_proposal_failed(cookie, status, ref(row).hot().leader);
}

}  // namespace gcoord::server
