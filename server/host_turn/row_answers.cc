#include "server/host_turn/row_answers.h"

#include "consensus/step/step.h"
#include "server/interfaces/errors.h"

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
void RowAnswers::serve_reads(RowWork& work,
                             consensus::Inbox& in,
                             const consensus::StepInput& input) {
  if (!work.reads || !work.reads->has_fresh_before(env_.turn.number)) {
    return;
  }
  const consensus::ShardRef shard = env_.rows.ref(work.row);
  if (shard.hot().role != Role::Leader) {
    fail_reads(work.row, work.reads->take_fresh(env_.turn.number), not_leader());
    return;
  }
  if (lease_expires(shard, input) > env_.turn.tick) {
    const auto cookies = work.reads->take_fresh_by_lease(env_.turn.number);
    const LogIndex commit = shard.log().commit;
    env_.metrics.reads_leased.add(cookies.size());
    if (max_id(shard.log().applied, in.applied) >= commit) {
      answer_reads(cookies);
    } else {
      work.reads->await(commit, cookies);
    }
  }
  if (work.reads->has_fresh_before(env_.turn.number) && !work.reads->round_open()) {
    in.read_sequence = ++read_sequence_;
    in.read_proof = work.reads->wants_round_before(env_.turn.number)
                        ? consensus::ReadProof::Round
                        : consensus::ReadProof::LeaseOrRound;
    work.reads->open_round(in.read_sequence, work.reads->take_fresh(env_.turn.number));
  }
}

void RowAnswers::settle_read(std::uint32_t row, const consensus::Outbox& out) {
  RowWork* work = env_.rows.active.find(row);
  if (!work->reads) {
    return;
  }
  if (out.read == ReadVerdict::Ready) {
    const auto cookies = work->reads->close_round(out.read_sequence);
    env_.metrics.reads_confirmed.add(cookies.size());
    if (env_.rows.ref(row).log().applied >= out.read_index) {
      answer_reads(cookies);
    } else {
      work->reads->await(out.read_index, cookies);
    }
  }
  if (env_.rows.ref(row).hot().role != Role::Leader) {
    fail_reads(row, work->reads->take_lost(), read_lost());
  }
  if (work->reads->has_fresh_before(env_.turn.number + 1) && !work->reads->round_open()) {
    env_.rows.active.touch(row);
  }
  if (work->reads->empty()) {
    work->reads.reset();
  }
}

void RowAnswers::on_applied(RowWork& work, LogIndex applied) {
  if (!work.reads) {
    return;
  }
  answer_reads(work.reads->take_applied(applied));
  if (work.reads->empty()) {
    work.reads.reset();
  }
}

void RowAnswers::answer_reads(const std::vector<std::uint64_t>& cookies) {
  env_.turn.done += cookies.size();
  for (const std::uint64_t cookie : cookies) {
    env_.service.on_read(cookie, Status{}, env_.self);
  }
}

void RowAnswers::fail_reads(std::uint32_t row,
                            const std::vector<std::uint64_t>& cookies,
                            const Status& why) {
  env_.turn.done += cookies.size();
  env_.metrics.reads_failed.add(cookies.size());
  for (const std::uint64_t cookie : cookies) {
    env_.service.on_read(cookie, why, env_.rows.ref(row).hot().leader);
  }
}

void RowAnswers::fail_proposal(std::uint32_t row, std::uint64_t cookie, ProposalVerdict verdict) {
  env_.metrics.proposals_failed.add();
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
  env_.service.on_proposal_failed(cookie, status, env_.rows.ref(row).hot().leader);
}

// Proposals of a leadership that is over: whether they become decided is not known here.
void RowAnswers::on_leadership_ended(std::uint32_t row, const RowBefore& before) {
  const consensus::Hot& hot = env_.rows.ref(row).hot();
  const bool led = before.hot.role == Role::Leader;
  if (!led || (hot.role == Role::Leader && hot.term == before.hot.term)) {
    return;
  }
  for (LogIndex index = before.log.applied + 1; index <= before.log.last; ++index) {
    EntryBlock* block = env_.rows.log.find(row, index);
    if (block == nullptr || block->cookie == 0) {
      continue;
    }
    env_.metrics.proposals_failed.add();
    env_.service.on_proposal_failed(std::exchange(block->cookie, std::uint64_t{0}),
                                    Status{StatusCode::Unknown,
                                           "leadership ended before the request was decided",
                                           kLeadershipLost},
                                    hot.leader);
  }
}

}  // namespace gcoord::server
