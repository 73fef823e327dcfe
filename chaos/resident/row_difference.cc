#include "chaos/resident/row_difference.h"

#include "consensus/row_digest.h"

#include <cstdint>

namespace gcoord::chaos {
namespace {

// Compares field after field and keeps the first difference.
class FieldComparison {
 public:
  template <typename T>
  void field(const std::string& name, const T& one, const T& other) {
    if (text_.empty() && !(one == other)) {
      text_ = name + ": " + std::to_string(number(one)) + " and " + std::to_string(number(other));
    }
  }

  const std::string& text() const { return text_; }

 private:
  template <typename Tag, typename Rep>
  static std::uint64_t number(StrongId<Tag, Rep> id) {
    return id.value;
  }

  template <typename T>
  static std::uint64_t number(T value) {
    return static_cast<std::uint64_t>(value);
  }

  std::string text_;
};

using consensus::RowCopy;

void compare_hot(FieldComparison& c, const consensus::Hot& a, const consensus::Hot& b) {
  c.field("hot.role", a.role, b.role);
  c.field("hot.term", a.term, b.term);
  c.field("hot.vote", a.vote, b.vote);
  c.field("hot.leader", a.leader, b.leader);
  c.field("hot.leader_incarnation", a.leader_incarnation, b.leader_incarnation);
  c.field("hot.self_slot", a.self_slot, b.self_slot);
  c.field("hot.flags", a.flags, b.flags);
  c.field("hot.deadline", a.deadline, b.deadline);
}

void compare_log(FieldComparison& c, const RowCopy& a, const RowCopy& b) {
  c.field("log.last", a.log.last, b.log.last);
  c.field("log.commit", a.log.commit, b.log.commit);
  c.field("log.applied", a.log.applied, b.log.applied);
  c.field("log.floor", a.log.floor, b.log.floor);
  c.field("log.floor_term", a.log.floor_term, b.log.floor_term);
  c.field("log.verified", a.log.verified, b.log.verified);
  c.field("log.configuration_pending", a.log.configuration_pending, b.log.configuration_pending);
  c.field("log.run_count", a.log.run_count, b.log.run_count);
  for (std::uint32_t k = 0; k < a.log.run_count && k < consensus::kRunSlots; ++k) {
    const std::string run = "runs[" + std::to_string(k) + "].";
    c.field(run + "start_offset", a.runs.start_offset[k], b.runs.start_offset[k]);
    c.field(run + "term_offset", a.runs.term_offset[k], b.runs.term_offset[k]);
  }
}

void compare_storage(FieldComparison& c, const consensus::Storage& a, const consensus::Storage& b) {
  c.field("storage.durable", a.durable, b.durable);
  c.field("storage.persist_from", a.persist_from, b.persist_from);
  c.field("storage.pending_last", a.pending_last, b.pending_last);
  c.field("storage.durable_term", a.durable_term, b.durable_term);
  c.field("storage.durable_vote", a.durable_vote, b.durable_vote);
  c.field("storage.request_pending", a.request_pending, b.request_pending);
  c.field("storage.snapshot_pending", a.snapshot_pending, b.snapshot_pending);
  c.field("storage.apply_pending", a.apply_pending, b.apply_pending);
}

void compare_election(FieldComparison& c,
                      const consensus::Election& a,
                      const consensus::Election& b) {
  c.field("election.leader_since", a.leader_since, b.leader_since);
  c.field("election.transfer_expires", a.transfer_expires, b.transfer_expires);
  c.field("election.resigned_term", a.resigned_term, b.resigned_term);
  c.field("election.read_index", a.read_index, b.read_index);
  c.field("election.read_sequence", a.read_sequence, b.read_sequence);
  c.field("election.reject_index", a.reject_index, b.reject_index);
  c.field("election.reject_term", a.reject_term, b.reject_term);
  c.field("election.append_context", a.append_context, b.append_context);
  c.field("election.granted", a.granted, b.granted);
  c.field("election.rejected", a.rejected, b.rejected);
  c.field("election.vote_reply", a.vote_reply, b.vote_reply);
  c.field("election.prevote_grant", a.prevote_grant, b.prevote_grant);
  c.field("election.prevote_reject", a.prevote_reject, b.prevote_reject);
  c.field("election.append_reject", a.append_reject, b.append_reject);
  c.field("election.answer", a.answer, b.answer);
  c.field("election.confirmed", a.confirmed, b.confirmed);
  c.field("election.prevote_term", a.prevote_term, b.prevote_term);
  c.field("election.asked_term", a.asked_term, b.asked_term);
  c.field("election.guest", a.guest, b.guest);
  c.field("election.guest_kind", a.guest_kind, b.guest_kind);
  c.field("election.guest_flags", a.guest_flags, b.guest_flags);
  c.field("election.transfer_target", a.transfer_target, b.transfer_target);
  c.field("election.campaign_count", a.campaign_count, b.campaign_count);
}

void compare_slots(FieldComparison& c, const RowCopy& a, const RowCopy& b) {
  c.field("configuration.voters", a.configuration.voters, b.configuration.voters);
  c.field("configuration.voters_outgoing",
          a.configuration.voters_outgoing,
          b.configuration.voters_outgoing);
  c.field("configuration.learners", a.configuration.learners, b.configuration.learners);
  c.field(
      "configuration.learners_next", a.configuration.learners_next, b.configuration.learners_next);
  c.field("configuration.auto_leave", a.configuration.auto_leave, b.configuration.auto_leave);
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    const std::string at = "[" + std::to_string(slot) + "]";
    const consensus::Progress& p = a.progress[slot];
    const consensus::Progress& q = b.progress[slot];
    c.field("configuration.node" + at, a.configuration.node[slot], b.configuration.node[slot]);
    c.field(
        "configuration.weight" + at, a.configuration.weight[slot], b.configuration.weight[slot]);
    c.field("progress.match" + at, p.match, q.match);
    c.field("progress.next" + at, p.next, q.next);
    c.field("progress.acked_session" + at, p.acked_session, q.acked_session);
    c.field("progress.state" + at, p.state, q.state);
    c.field("progress.flags" + at, p.flags, q.flags);
  }
}

}  // namespace

std::string first_difference(const RowCopy& one, const RowCopy& other) {
  FieldComparison comparison;
  compare_hot(comparison, one.hot, other.hot);
  compare_log(comparison, one, other);
  compare_storage(comparison, one.storage, other.storage);
  compare_election(comparison, one.election, other.election);
  compare_slots(comparison, one, other);
  return comparison.text();
}

}  // namespace gcoord::chaos
