#include "consensus/device/difference.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace gcoord::consensus {
namespace {

// Compares field after field and keeps the first difference. Costs nothing but the comparisons
// where all is equal.
class FieldComparison {
 public:
  // A '#' in the name stands for `number`.
  template <typename T>
  void field(std::string_view name, const T& one, const T& other, std::uint32_t number = 0) {
    if (text_.empty() && !(one == other)) {
      text_ = name;
      if (const std::size_t place = name.find('#'); place != std::string_view::npos) {
        text_.replace(place, 1, std::to_string(number));
      }
      text_ += ": " + std::to_string(value_of(one)) + " and " + std::to_string(value_of(other));
    }
  }

  const std::string& text() const { return text_; }

 private:
  template <typename Tag, typename Rep>
  static std::uint64_t value_of(StrongId<Tag, Rep> id) {
    return id.value;
  }

  template <typename T>
  static std::uint64_t value_of(T value) {
    return static_cast<std::uint64_t>(value);
  }

  std::string text_;
};

void compare_hot(FieldComparison& c, const Hot& a, const Hot& b) {
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
  c.field("log.durable_ahead", a.log.durable_ahead, b.log.durable_ahead);
  c.field("log.pending_ahead", a.log.pending_ahead, b.log.pending_ahead);
  for (std::uint32_t k = 0; k < a.log.run_count && k < kRunSlots; ++k) {
    c.field("runs[#].start_offset", a.runs.start_offset[k], b.runs.start_offset[k], k);
    c.field("runs[#].term_offset", a.runs.term_offset[k], b.runs.term_offset[k], k);
  }
}

void compare_storage(FieldComparison& c, const Storage& a, const Storage& b) {
  c.field("storage.durable", a.durable, b.durable);
  c.field("storage.persist_from", a.persist_from, b.persist_from);
  c.field("storage.pending_last", a.pending_last, b.pending_last);
  c.field("storage.durable_term", a.durable_term, b.durable_term);
  c.field("storage.durable_vote", a.durable_vote, b.durable_vote);
  c.field("storage.request_pending", a.request_pending, b.request_pending);
  c.field("storage.snapshot_pending", a.snapshot_pending, b.snapshot_pending);
  c.field("storage.apply_pending", a.apply_pending, b.apply_pending);
}

void compare_election(FieldComparison& c, const Election& a, const Election& b) {
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
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const Progress& p = a.progress[slot];
    const Progress& q = b.progress[slot];
    const Configuration& m = a.configuration;
    const Configuration& n = b.configuration;
    c.field("configuration.node[#]", m.node[slot], n.node[slot], slot);
    c.field("configuration.weight[#]", m.weight[slot], n.weight[slot], slot);
    c.field("progress.match[#]", p.match, q.match, slot);
    c.field("progress.next[#]", p.next, q.next, slot);
    c.field("progress.acked_session[#]", p.acked_session, q.acked_session, slot);
    c.field("progress.state[#]", p.state, q.state, slot);
    c.field("progress.flags[#]", p.flags, q.flags, slot);
  }
}

void compare_message(FieldComparison& c, const Message& a, const Message& b, std::uint32_t k) {
  c.field("out.message[#].shard", a.shard, b.shard, k);
  c.field("out.message[#].kind", a.kind, b.kind, k);
  c.field("out.message[#].flags", a.flags, b.flags, k);
  c.field("out.message[#].count", a.count, b.count, k);
  c.field("out.message[#].from", a.from, b.from, k);
  c.field("out.message[#].to", a.to, b.to, k);
  c.field("out.message[#].term", a.term, b.term, k);
  c.field("out.message[#].index", a.index, b.index, k);
  c.field("out.message[#].log_term", a.log_term, b.log_term, k);
  c.field("out.message[#].commit", a.commit, b.commit, k);
  c.field("out.message[#].entry_term", a.entry_term, b.entry_term, k);
  c.field("out.message[#].context", a.context, b.context, k);
}

void compare_verdicts(FieldComparison& c, const OutboxHead& a, const OutboxHead& b) {
  c.field("out.message_count", a.message_count, b.message_count);
  c.field("out.again", a.again, b.again);
  c.field("out.snapshot_installed", a.snapshot_installed, b.snapshot_installed);
  c.field("out.cause", a.cause, b.cause);
  c.field("out.proposal", a.proposal, b.proposal);
  c.field("out.configuration", a.configuration, b.configuration);
  c.field("out.read", a.read, b.read);
  c.field("out.beyond_plain", a.beyond_plain, b.beyond_plain);
  c.field("out.dropped", a.dropped, b.dropped);
  c.field("out.configuration_index", a.configuration_index, b.configuration_index);
  c.field("out.read_sequence", a.read_sequence, b.read_sequence);
  c.field("out.read_index", a.read_index, b.read_index);
}

void compare_requests(FieldComparison& c, const OutboxHead& a, const OutboxHead& b) {
  c.field("out.accepted.first", a.accepted.first, b.accepted.first);
  c.field("out.accepted.count", a.accepted.count, b.accepted.count);
  c.field("out.accepted.kind", a.accepted.kind, b.accepted.kind);
  c.field("out.own_entry.first", a.own_entry.first, b.own_entry.first);
  c.field("out.own_entry.count", a.own_entry.count, b.own_entry.count);
  c.field("out.own_entry.kind", a.own_entry.kind, b.own_entry.kind);
  c.field("out.storage.term", a.storage.term, b.storage.term);
  c.field("out.storage.vote", a.storage.vote, b.storage.vote);
  c.field("out.storage.present", a.storage.present, b.storage.present);
  c.field("out.storage.snapshot", a.storage.snapshot, b.storage.snapshot);
  c.field("out.storage.first", a.storage.first, b.storage.first);
  c.field("out.storage.last", a.storage.last, b.storage.last);
  c.field("out.storage.commit", a.storage.commit, b.storage.commit);
  c.field("out.apply.first", a.apply.first, b.apply.first);
  c.field("out.apply.last", a.apply.last, b.apply.last);
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

std::string first_difference(const Outbox& one, const Outbox& other, std::uint32_t messages_in) {
  FieldComparison comparison;
  compare_verdicts(comparison, one, other);
  compare_requests(comparison, one, other);
  for (std::uint32_t k = 0; k < std::min(messages_in, kInboxMessages); ++k) {
    comparison.field("out.stored[#]", one.stored[k], other.stored[k], k);
  }
  for (std::uint32_t k = 0; k < std::min(one.message_count, other.message_count); ++k) {
    compare_message(comparison, one.message[k], other.message[k], k);
  }
  return comparison.text();
}

}  // namespace gcoord::consensus
