// Follower's part of the step: Append and Snapshot messages (Raft sections 5.3 and 7).
#pragma once

#include "consensus/step/votes.h"

namespace gcoord::consensus {

// Whether a message that only a leader of its term sends may be followed. Brings our term up to it;
// tells a deposed leader ours.
template <typename Row>
GCOORD_HD inline bool follow(const Row& r, const Message& m) {
  if (m.term < r.hot().term) {
    owe(r, r.election().append_reject, m.from, MessageKind::AppendReply, kFlagReject);
    return false;
  }
  if (m.term > r.hot().term) {
    become_follower(r, m.term, Cause::HigherTerm);
  }
  if (r.is_leader()) {
    ++r.out.dropped;  // Two leaders of one term: not possible among replicas that keep the rules.
    return false;
  }
  record_leader(r, m.from);
  return true;
}

template <typename Row>
GCOORD_HD inline void owe_append_reply(const Row& r, std::uint64_t read_round) {
  Hot& hot = r.hot();
  hot.flags = static_cast<std::uint8_t>((hot.flags | kRowAppendReply) & ~kRowAppendReject);
  r.election().append_context = read_round;
}

template <typename Row>
GCOORD_HD inline void owe_append_reject(const Row& r, const Message& m) {
  if (r.leaves_plain()) {
    return;
  }
  owe_append_reply(r, m.context);
  r.hot().flags = static_cast<std::uint8_t>(r.hot().flags | kRowAppendReject);
  r.election().reject_index = m.index;
  r.election().reject_term = m.log_term;
}

// Removes everything from `index` on. What storage was asked for, or has, above it does not count
// any more.
template <typename Row>
GCOORD_HD inline void cut_log(const Row& r, LogIndex index) {
  if (r.leaves_plain()) {
    return;
  }
  truncate_from(r.log(), r.shard.runs(), index);
  Storage& storage = r.storage();
  storage.persist_from = min_id(storage.persist_from, index);
  storage.durable = min_id(storage.durable, index - 1);
  storage.pending_last = min_id(storage.pending_last, index - 1);
}

// Whether entries of `term` fit behind the log's entries before `first`.
template <typename Runs>
GCOORD_HD inline bool room_behind(Log log, const Runs& runs, LogIndex first, Term term) {
  log.last = min_id(log.last, first - 1);
  log.run_count = runs_up_to(log, runs);
  return term >= last_term(log, runs) && has_room(log, runs, term);
}

// Takes over the entries of an Append whose previous entry matches. k is the message's place in the
// inbox. Returns false if the message cannot be true or there is no room for it now.
template <typename Row>
GCOORD_HD inline bool take_entries(const Row& r, const Message& m, std::uint32_t k) {
  Log& log = r.log();
  if (m.count == 0) {
    return true;
  }
  const Term term{m.entry_term};
  const LogIndex last = m.index + m.count;
  const LogIndex known = max_id(m.index, log.floor);
  LogIndex first = max_id(known + 1, log.last + 1);
  if (m.index != log.last) {  // What begins behind the log's end is compared with nothing.
    if (r.leaves_steady()) {
      return false;
    }
    const LogIndex conflict = first_conflict(log, r.runs(), known + 1, last, term);
    first = conflict.value != 0 ? conflict : first;
  }
  if (first > last) {
    return true;
  }
  // Nobody takes back what is decided, and no leader what it sent in the same term.
  const LogIndex firm = max_id(log.commit, log.verified);
  if (first <= firm || !room_behind(log, r.runs(), first, term)) {
    return false;
  }
  if (first <= log.last) {
    cut_log(r, first);
  }
  append_entries(log, r.runs(), last - first + 1, term);
  // The leader marks its newest configuration entry only. Older ones are decided, so what was
  // decided before it came may hold one: assume that it does until it is applied.
  const LogIndex decided = min_id(m.commit, last);
  if ((m.flags & kFlagConfiguration) != 0) {
    log.configuration_pending = last;
  } else if (decided >= first && !r.leaves_plain()) {
    log.configuration_pending = max_id(log.configuration_pending, decided);
  }
  r.arrays.stored[k] = first;
  return true;
}

GCOORD_HD inline bool plausible_append(const Message& m) {
  const bool holds = ((m.entry_term >= m.log_term.value) & (m.entry_term != 0)) | (m.count == 0);
  return (m.index.value < kPlausibleMax) & (m.commit.value < kPlausibleMax) &
         (m.entry_term <= m.term.value) & (m.log_term <= m.term) & holds &
         (((m.flags & kFlagConfiguration) == 0) | (m.count == 1));
}

template <typename Row>
GCOORD_HD inline void on_append(const Row& r, const Message& m, std::uint32_t k) {
  if (!plausible_append(m)) {
    ++r.out.dropped;
    return;
  }
  if (!follow(r, m)) {
    return;
  }
  Log& log = r.log();
  // A committed prefix is the same on every log that a leader can have.
  const bool matches =
      m.index <= log.commit || (m.index <= log.last && r.term_at(m.index) == m.log_term);
  if (!matches) {
    owe_append_reject(r, m);
    return;
  }
  log.commit = max_id(log.commit, min_id(m.commit, min_id(m.index, log.last)));
  if (!take_entries(r, m, k)) {
    ++r.out.dropped;
    return;
  }
  log.verified = max_id(log.verified, max_id(log.commit, m.index + m.count));
  GCOORD_ASSERT(log.verified <= log.last);
  log.commit = max_id(log.commit, min_id(m.commit, log.verified));
  const bool notice = (m.flags & kFlagNotice) != 0 && m.count == 0 && m.context == 0;
  if (!notice) {
    owe_append_reply(r, m.context);
  }
}

// Forgets the log in favour of a snapshot. The service's state is replaced by the owner
// (Outbox::snapshot_installed).
template <typename Row>
GCOORD_HD inline void install_snapshot(const Row& r,
                                       const Message& m,
                                       const Configuration& configuration) {
  Log& log = r.log();
  Storage& storage = r.storage();
  storage.durable = min_id(storage.durable, log.commit);
  storage.pending_last = min_id(storage.pending_last, storage.durable);
  storage.persist_from = m.index + 1;
  storage.snapshot_pending = 1;
  storage.apply_pending = 0;
  log.last = m.index;
  log.commit = m.index;
  log.applied = m.index;
  log.durable_ahead = 0;
  log.pending_ahead = 0;
  log.floor = m.index;
  log.floor_term = m.log_term;
  log.verified = m.index;
  log.configuration_pending = m.index;
  log.run_count = 0;
  forget_moved_slots(r, configuration);
  r.configuration() = configuration;
  r.hot().self_slot = slot_of(configuration, r.input.self);
}

template <typename Row>
GCOORD_HD inline void on_snapshot(const Row& r,
                                  const Message& m,
                                  const InboxHead& in,
                                  std::uint32_t k) {
  const bool plausible = m.index.value < kPlausibleMax && m.log_term <= m.term &&
                         m.log_term.value != 0 &&
                         in.configuration_input == ConfigurationInput::Installed &&
                         well_formed(*r.arrays.configuration, r.shard.slot_count());
  if (!plausible) {
    ++r.out.dropped;
    return;
  }
  if (!follow(r, m)) {
    return;
  }
  Log& log = r.log();
  if (m.index <= log.commit) {
    log.verified = max_id(log.verified, log.commit);  // Old news; the reply moves the leader on.
  } else if (m.index <= log.last && r.term_at(m.index) == m.log_term) {
    log.verified = max_id(log.verified, m.index);
    log.commit = m.index;
  } else {
    install_snapshot(r, m, *r.arrays.configuration);
    r.out.snapshot_installed = static_cast<std::uint8_t>(k + 1);
  }
  owe_append_reply(r, 0);
}

}  // namespace gcoord::consensus
