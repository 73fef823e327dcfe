// Expiry clock of sessions: the volatile side of the lock service, never replicated.
//
// Every node keeps, per registration in its tables, the tick of the last keep-alive that it heard,
// leader or not. On the leader of a shard its registrations also have a deadline; a scan of the
// deadline column finds those that ran out, and the leader proposes ExpireSession for them. Nothing
// ends here: the expiry takes effect when it is applied from the log.
//
// Rules (S7 and S8 of docs/reference/services.md):
//   - a new leader continues: deadline = last keep-alive heard here + TTL + one election time,
//     never a fresh TTL;
//   - a node whose loop stalled reads what has come meanwhile before it ends anybody; that is up to
//     whoever looks for what is due (server/sessions/expiry.h), and no deadline moves by it;
//   - an expiry is proposed once until it is answered or given up.
//
// Times are ticks of the node. A TTL is rounded up and one tick is added, because a keep-alive
// heard in the middle of a tick counts from the tick's start: nobody expires early, and at most two
// ticks late. Columns are indexed by session row, like the tables. Host only; one thread.
#pragma once

#include "common/ids.h"
#include "common/tables/growing_index.h"
#include "common/tables/mapped_column.h"
#include "sessions/columns.h"
#include "sessions/lowered_slices.h"
#include "sessions/over_sessions.h"
#include "sessions/record.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::sessions {

// Ids below it are chosen by clients and may come again, ids from it on are given out by nodes,
// once each. The wire format has the same bound.
inline constexpr std::uint64_t kChosenSessionEnd = std::uint64_t{1} << 48;

// One registration as the clock sees it.
struct Registration {
  SessionRow row;
  ShardId shard;
  SessionId session;
  std::uint32_t serial = 0;
  std::uint32_t ttl_ms = 0;
};

// Rows from the first one to before the end.
struct RowRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

// What somebody saw who looked at a copy of the deadlines at some tick, each of them at most the
// true one: so every row that is due is named, and maybe some that are not.
struct DueQuery {
  // Bit k % 32 of word k / 32: row k may be due. Words that are not there are 0.
  std::span<const std::uint32_t> words;
  Tick later = kTickNever;  // No deadline of a row that is not named is before it.
  RowRange own;             // Rows of which the clock is to see itself whether that is so.

  std::uint32_t word(std::uint32_t number) const {
    return number < words.size() ? words[number] : 0;
  }

  bool names(std::uint32_t row) const { return (word(row / 32) >> row % 32 & 1u) != 0; }

  // Whether any of so many rows is named; `first` is a multiple of 32.
  bool names_any(std::uint32_t first, std::uint32_t row_count) const {
    std::uint32_t bits = 0;
    for (std::uint32_t row = first; row < first + row_count; row += 32) {
      bits |= word(row / 32);
    }
    return bits != 0;
  }
};

struct SessionClockOptions {
  std::uint32_t tick_ms = 10;
  // How many expired or closed sessions to remember, so that their keep-alives are answered with
  // Lost. Older ones are answered with NotRegistered.
  std::uint32_t expired_remembered_max = 16384;
  std::uint64_t index_seed = 0;
};

class SessionClock {
 public:
  explicit SessionClock(const SessionClockOptions& options);

  // One of several clocks, each of which has some of a session's registrations. What is over they
  // remember together; renew() does not look there, since whoever renews in all of them has.
  SessionClock(const SessionClockOptions& options, std::shared_ptr<OverSessions> over);

  // Makes room for session rows 1 to row_capacity; never shrinks.
  void reserve(std::uint32_t row_capacity);

  // The row is registered now (`led`: this node leads its shard); counts as heard now.
  void on_registered(const Registration& registration, Tick now, bool led);
  // Its end was decided but locks are left: due at once on the leader, so that the rest is
  // proposed.
  void on_dying(SessionRow row, Tick now);
  // It ended, but for locks that stay for their delay: nothing of the session itself is due.
  void on_delaying(SessionRow row);
  // So many of its holds were broken more than it was told of.
  void on_broken(SessionRow row, std::int32_t change);

  // Of a session that came here after it was over (over()): due as if it had never
  // been heard of, here and wherever the shard is led later.
  void on_come_too_late(SessionRow row, Tick now);

  // What is remembered of sessions that are over. One whose id its client chose may begin anew: the
  // end of the one before says nothing of it then, and it is to be forgotten.
  OverSessions& over() { return *over_; }

  // How many those are.
  std::uint32_t broken_count(SessionRow row) const { return rows_[row.value].broken_count; }

  // The registration is gone; of sessions that are `over` as a whole this is remembered for a
  // while.
  void on_removed(SessionRow row, bool over);

  // Leadership of the row's shard. on_led keeps what was heard before; see the rules above.
  void on_led(SessionRow row, Tick now, std::uint64_t election_ticks);
  void on_not_led(SessionRow row);

  // A keep-alive of one session, or of many in one message; outcomes may be empty or of equal size.
  RenewOutcome renew(SessionId session, Tick now);
  void renew_all(std::span<const SessionId> sessions, Tick now, std::span<RenewOutcome> outcomes);

  // Whether a registration of the session keeps all of them from being renewed: its end was decided
  // or proposed.
  bool is_ending(SessionId session) const;

  // Writes up to out.size() expiries that are due and marks them proposed; returns how many. One
  // pass over the deadline column, from where the last pass stopped; none before next_deadline().
  std::size_t expired(Tick now, std::span<ExpiryProposal> out);
  // A proposal was not accepted by the log, or not made: it is due again at `due`.
  void on_expiry_refused(const ExpiryProposal& proposal, Tick due);
  // The same without a mark: keep-alives renew them still, and whoever has them says of each what
  // becomes of it, with put_off() or propose(). Nothing is due of them before.
  std::size_t collect_due(Tick now, std::span<ExpiryProposal> out);
  // The same with the help of somebody who has looked at a copy of the deadlines (DueQuery): takes
  // the same rows in the same order. A row that the look names and that is not due marks its slice
  // as lowered, because the copy is behind there.
  std::size_t collect_among(const DueQuery& look, Tick now, std::span<ExpiryProposal> out);
  // Whether the look missed a row that is due, or a deadline before the earliest that it says;
  // among all rows, or among some.
  bool missed_by(const DueQuery& look, Tick now) const;
  bool missed_by(const DueQuery& look, Tick now, const RowRange& rows) const;
  // Whether it was, and nothing has become of it since: neither another registration nor another
  // deadline, as a change of leadership gives.
  bool collected(const ExpiryProposal& due_row) const;
  // A registration that was collected or put off, and is not proposed, is due at `due`. Nothing if
  // it is another one by now.
  void put_off(const ExpiryProposal& due_row, Tick due);
  // The end of a registration that was collected or put off is proposed now. False when it is
  // another one by now, or proposed already, or its shard is not led here.
  bool propose(const ExpiryProposal& proposal);

  // Where deadlines were lowered, for whoever keeps a copy of the column.
  LoweredSlices& lowered() { return lowered_; }

  // One past the last row that was ever registered.
  std::uint32_t row_end() const { return row_end_; }

  // Whether it is still this registration that stands in the row.
  bool still(const ExpiryProposal& proposal) const;

  // Whether the end of the row's session was decided, and something of it is left.
  bool dying(SessionRow row) const { return rows_[row.value].dying; }

  std::uint32_t ttl_ms(SessionRow row) const { return rows_[row.value].ttl_ms; }

  // Ticks until the row's deadline; 0 when it is past or none is set.
  std::uint64_t remaining_ticks(SessionRow row, Tick now) const;

  // Ticks since a keep-alive of the row was last heard here, whoever leads; for a leader that asks
  // the other nodes before it ends a session.
  std::uint64_t silent_ticks(SessionRow row, Tick now) const;

  // All registrations of a session on this node, in no particular order.
  std::vector<Registration> registrations_of(SessionId session) const;

  // No deadline is before it; kTickNever when there is none. For the idle sleep: at this tick there
  // may still be nothing due, because keep-alives raise deadlines and leave the bound alone.
  Tick next_deadline() const { return due_bound_; }

  std::uint32_t registration_count() const { return registration_count_; }

  // The columns, for whoever renews and sweeps them elsewhere (sweep.h). Void after the
  // next call that registers, removes or reserves.
  SessionColumns columns();

  // Keep-alives and expiries were taken into the columns elsewhere: nothing is known of what is
  // due.
  void on_columns_changed() {
    due_bound_ = Tick{};
    lowered_.add_all();
  }

 private:
  std::uint64_t ttl_ticks(std::uint32_t ttl_ms) const;
  std::uint32_t session_hash(SessionId session) const;
  SessionRow find_first(SessionId session) const;
  void link(SessionRow row);
  void unlink(SessionRow row);
  template <typename Passes, typename Take>
  std::size_t scan(Tick now,
                   std::span<ExpiryProposal> out,
                   Tick passed_earliest,
                   const Passes& passes,
                   const Take& take);
  bool collect(SessionRow row, Tick now, ExpiryProposal& due);
  void set_deadline(SessionRow row, Tick deadline);

  SessionClockOptions options_;
  MappedColumn<Tick> deadline_;  // kTickNever: free row, shard not led, or expiry proposed.
  MappedColumn<Tick> heard_;
  MappedColumn<SessionCell> rows_;
  std::uint32_t row_end_ = 1;  // One past the last row ever registered: what a pass looks at.
  GrowingIndex first_of_session_;
  std::shared_ptr<OverSessions> over_;
  std::uint32_t registration_count_ = 0;
  LoweredSlices lowered_;
  Tick due_bound_ = kTickNever;
  std::uint32_t scan_block_ = 0;
};

}  // namespace gcoord::sessions
