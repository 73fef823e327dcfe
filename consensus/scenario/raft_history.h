// History of one shard over a whole run, and the one statement of Raft's invariants I1 to I7 over
// it, of I9 for read rounds and of I12 for leader leases (docs/internals/faults.md).
//
// Four observers feed it, each with what its world shows: scenario/invariants.h sees every step
// and whole logs, chaos/sim/sim_checker.h sees every step and digests of logs, and
// chaos/check/raft_invariants.h reads traces afterwards, in any order and with members left out.
// Of whole nodes, chaos/world/world_judge.h feeds votes and chaos/promises/turn_watch.h commits,
// read rounds and leases. An observer calls only the functions whose facts it has; each call
// compares a new fact with the recorded one, records it if it is the first, and returns the breach
// or nothing. A fact that contradicts the recorded one does not replace it.
//
// One replica's share of the invariants stays in consensus/step/invariants.h: a row asserts it
// after each step, in kernels too, where neither containers nor a view of other nodes exist. The
// device cluster of chaos/parity is judged by those assertions and by comparing its hashes with the
// host's. Host only; one thread.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gcoord::consensus::scenario {

// By their numbers in docs/internals/faults.md.
enum class RaftInvariant : std::uint8_t {
  ElectionSafety = 1,
  OneVote,
  LeaderAppendOnly,
  LogMatching,
  LeaderCompleteness,
  StateMachineSafety,
  Monotone,
  FreshReads = 9,
  OneLease = 12,
};

// For example "election safety".
std::string_view name_of(RaftInvariant invariant);

// For example "I1".
std::string number_of(RaftInvariant invariant);

// A number that an observer gives to an observation, so that a breach can name the earlier one.
using Sighting = std::uint64_t;

struct RaftBreach {
  RaftInvariant invariant = RaftInvariant::ElectionSafety;
  std::string sentence;             // Without a capital and a full stop, and without the shard.
  std::optional<Sighting> earlier;  // Of the fact that the new one contradicts, where one does.
};

// A number that stands for an entry, a whole log or a state: equal exactly for equal contents. A
// digest, or a number of ContentNumbers; one history never mixes the kinds.
using ContentId = std::uint64_t;

struct RaftLeader {
  Term term;
  NodeId node;
};

struct RaftVote {
  NodeId voter;
  Incarnation life;  // Tells voters of one node apart that share no memory.
  Term term;
  NodeId candidate;
};

// A replica that may answer reads at this moment without asking anybody.
struct LeaseHolder {
  NodeId node;
  LogIndex commit;  // What it knows as committed.
};

// A read round that was answered.
struct AnsweredRead {
  NodeId node;
  std::uint64_t round = 0;
  LogIndex index;  // The answer shows everything up to here.
  LogIndex owed;   // committed() when the round was opened.
};

// A leader that led before and leads on in the same term.
struct LeaderLog {
  RaftLeader leader;
  LogIndex last_before;
  LogIndex last_now;
  bool overwrote = false;  // It replaced entries or took over a snapshot.
};

// The last entry of a log, or of the part of a log that is compared.
struct LogPoint {
  LogIndex index;
  Term term;  // 0 for a log up to a commit index: of those all are equal whatever the term.
};

// One moment of a replica. What is left out is not judged.
struct RaftState {
  std::optional<Term> term;
  std::optional<LogIndex> last;
  std::optional<LogIndex> commit;
  std::optional<LogIndex> applied;
};

// A whole log at one moment: `at(index)` returns an entry with members `term` and `entry` for
// floor < index <= last.
template <typename EntryAt>
struct LogView {
  NodeId node;
  LogIndex floor;
  LogIndex last;
  EntryAt at;
};

// Written out because clang 14 deduces no arguments of aggregates.
template <typename EntryAt>
LogView(NodeId, LogIndex, LogIndex, EntryAt) -> LogView<EntryAt>;

class RaftHistory {
 public:
  // Facts from now on belong to this observation.
  void set_sighting(Sighting sighting) { sighting_ = sighting; }

  // I1. A node leads in a term, or another one names it as the leader: every term has one leader.
  std::optional<RaftBreach> on_leader(RaftLeader leader);

  // I1. A node won an election. That happens once in a term: a node that restarts does not lead on
  // in its old term either.
  std::optional<RaftBreach> on_elected(RaftLeader leader);

  // I2. A vote that binds: it left the node, or made it leader. A voter votes for one candidate in
  // a term.
  std::optional<RaftBreach> on_vote(const RaftVote& vote);

  // I3. A leader neither overwrites nor removes entries in its term.
  static std::optional<RaftBreach> on_leading_on(const LeaderLog& log);

  // I4. A log that ends with an entry of this index and term has this content: all such logs are
  // equal up to there.
  std::optional<RaftBreach> on_log(LogPoint end, ContentId content);

  // I4 for an observer that sees whole logs: where two of them agree in term at an index, they
  // agree in everything before it. Compares at one moment and records nothing.
  template <typename One, typename Other>
  static std::optional<RaftBreach> on_logs(const LogView<One>& one, const LogView<Other>& other);

  // A node knows in `known_in` that everything up to `index` is committed: every leader of a later
  // term owes it (I5). An observer that sees elections and commits in the order of events passes
  // Term{}, which binds every leader that is elected from now on.
  void on_commit(Term known_in, LogIndex index);

  // I6 for entries, one by one in the order of their indexes: two nodes commit the same entry at an
  // index, and no node commits one while an earlier one is not. The entry binds as by
  // on_commit(Term{}, index).
  std::optional<RaftBreach> on_commit_entry(NodeId node, LogIndex index, ContentId content);

  // I5. The log with which a leader was elected reaches owed(leader.term).
  std::optional<RaftBreach> on_elected_log(RaftLeader leader, LogIndex last);

  // I5. An entry in that log, at most owed(leader.term), is the one that was committed or applied.
  std::optional<RaftBreach> on_elected_entry(RaftLeader leader, LogIndex index, ContentId content);

  // I6. A node applied everything up to `index`: `content` is the same for all nodes.
  std::optional<RaftBreach> on_apply(NodeId node, LogIndex index, ContentId content);

  // I6. A node applied up to `index`, all of which some node knew as committed before.
  std::optional<RaftBreach> on_applied_to(NodeId node, LogIndex index) const;

  // I7 at one moment: applied <= commit <= last.
  static std::vector<RaftBreach> on_state(NodeId node, const RaftState& state);

  // I7 over two moments of one life: term, commit and applied never fall.
  static std::vector<RaftBreach> on_progress(NodeId node,
                                             const RaftState& before,
                                             const RaftState& now);

  // I9. A read round shows everything that was committed when it was opened.
  static std::optional<RaftBreach> on_read(const AnsweredRead& read);

  // I12 at one moment. `holders` are all that hold the lease: at most one does, and it knows
  // everything that is committed.
  std::optional<RaftBreach> on_leases(std::span<const LeaseHolder> holders) const;

  // The leader of the term as far as on_leader() and on_elected() know it.
  std::optional<NodeId> leader_of(Term term) const;

  // Up to where a leader of the term must have the log.
  LogIndex owed(Term term) const;

  // The newest index that any node knew as committed.
  LogIndex committed() const { return committed_; }

  // Indexes whose content is known from on_commit_entry() or on_apply().
  std::uint64_t known_count() const { return contents_.size(); }

 private:
  struct Leadership {
    NodeId node;
    Sighting sighting = 0;
    bool won = false;
  };

  struct Ballot {
    NodeId candidate;
    Sighting sighting = 0;
  };

  struct Content {
    ContentId id = 0;
    Sighting sighting = 0;
  };

  struct Commit {
    LogIndex index;
    Sighting sighting = 0;
  };

  static RaftBreach logs_differ(NodeId one, NodeId other, LogIndex index);

  // The record of an index, and whether it is another content.
  std::optional<Content> differs(LogIndex index, ContentId content);

  Sighting sighting_ = 0;
  std::map<Term, Leadership> leaders_;
  std::map<std::tuple<NodeId, Incarnation, Term>, Ballot> votes_;
  std::map<std::tuple<LogIndex, Term>, Content> logs_;
  std::map<Term, Commit> committed_in_;                  // The newest index by the term of knowers.
  std::unordered_map<std::uint64_t, Content> contents_;  // By index; traces have any index.
  LogIndex committed_;
};

template <typename One, typename Other>
std::optional<RaftBreach> RaftHistory::on_logs(const LogView<One>& one,
                                               const LogView<Other>& other) {
  const LogIndex floor = max_id(one.floor, other.floor);
  bool matched = false;
  for (LogIndex index = min_id(one.last, other.last); index > floor; index = index - 1) {
    const auto a = one.at(index);
    const auto b = other.at(index);
    matched = matched || a.term == b.term;
    if (matched && (a.term != b.term || !(a.entry == b.entry))) {
      return logs_differ(one.node, other.node, index);
    }
  }
  return {};
}

}  // namespace gcoord::consensus::scenario
