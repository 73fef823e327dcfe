// Each invariant of Raft with a history that keeps it and one that violates it.
#include "consensus/scenario/raft_history.h"

#include "consensus/scenario/content_numbers.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace gcoord::consensus::scenario {
namespace {

// The number, the name and the sentence of a breach; "" for none.
std::string said(const std::optional<RaftBreach>& breach) {
  if (!breach.has_value()) {
    return {};
  }
  return number_of(breach->invariant) + " " + std::string(name_of(breach->invariant)) + ": " +
         breach->sentence;
}

std::string said(const std::vector<RaftBreach>& breaches) {
  std::string all;
  for (const RaftBreach& breach : breaches) {
    all += (all.empty() ? "" : "; ") + said(std::optional(breach));
  }
  return all;
}

RaftLeader leader(std::uint64_t term, std::uint32_t node) {
  return {Term{term}, NodeId{node}};
}

TEST(RaftHistory, ATermHasOneLeader) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_leader(leader(3, 1))), "");
  EXPECT_EQ(said(history.on_leader(leader(3, 1))), "") << "it leads on";
  EXPECT_EQ(said(history.on_leader(leader(4, 2))), "");
  EXPECT_EQ(said(history.on_leader(leader(3, 2))),
            "I1 election safety: nodes 1 and 2 both led in term 3");
  EXPECT_EQ(history.leader_of(Term{3}), NodeId{1}) << "the first stays recorded";
  EXPECT_EQ(history.leader_of(Term{5}), std::nullopt);
}

TEST(RaftHistory, AnElectionIsWonOnceInATerm) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_leader(leader(3, 1))), "") << "another node names it";
  EXPECT_EQ(said(history.on_elected(leader(3, 1))), "");
  EXPECT_EQ(said(history.on_leader(leader(3, 1))), "");
  EXPECT_EQ(said(history.on_elected(leader(3, 1))),
            "I1 election safety: node 1 was elected twice in term 3");
  EXPECT_EQ(said(history.on_elected(leader(3, 2))),
            "I1 election safety: nodes 1 and 2 both led in term 3");
}

TEST(RaftHistory, AVoterVotesForOneCandidateInATerm) {
  RaftHistory history;
  const RaftVote vote{NodeId{1}, Incarnation{1}, Term{3}, NodeId{2}};
  EXPECT_EQ(said(history.on_vote(vote)), "");
  EXPECT_EQ(said(history.on_vote(vote)), "") << "it says so again";
  EXPECT_EQ(said(history.on_vote({NodeId{1}, Incarnation{1}, Term{4}, NodeId{3}})), "");
  EXPECT_EQ(said(history.on_vote({NodeId{2}, Incarnation{1}, Term{3}, NodeId{3}})), "");
  EXPECT_EQ(said(history.on_vote({NodeId{1}, Incarnation{2}, Term{3}, NodeId{3}})), "")
      << "a life without memory is another voter";
  EXPECT_EQ(said(history.on_vote({NodeId{1}, Incarnation{1}, Term{3}, NodeId{3}})),
            "I2 one vote: node 1 voted for 2 and 3 in term 3");
}

TEST(RaftHistory, ALeaderOnlyAppends) {
  LeaderLog log{.leader = leader(3, 1), .last_before = LogIndex{8}, .last_now = LogIndex{8}};
  EXPECT_EQ(said(RaftHistory::on_leading_on(log)), "");
  log.last_now = LogIndex{9};
  EXPECT_EQ(said(RaftHistory::on_leading_on(log)), "");
  const std::string broken =
      "I3 leader append-only: node 1 removed or overwrote entries of its log in term 3";
  log.overwrote = true;
  EXPECT_EQ(said(RaftHistory::on_leading_on(log)), broken);
  log.overwrote = false;
  log.last_now = LogIndex{7};
  EXPECT_EQ(said(RaftHistory::on_leading_on(log)), broken);
}

TEST(RaftHistory, LogsThatEndWithOneEntryAreEqual) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_log({LogIndex{5}, Term{2}}, 77)), "");
  EXPECT_EQ(said(history.on_log({LogIndex{5}, Term{3}}, 78)), "") << "an entry of another term";
  EXPECT_EQ(said(history.on_log({LogIndex{5}, Term{2}}, 79)),
            "I4 log matching: two logs differ up to entry 5 of term 2");
  EXPECT_EQ(said(history.on_log({LogIndex{5}, Term{}}, 77)), "");
  EXPECT_EQ(said(history.on_log({LogIndex{5}, Term{}}, 78)),
            "I4 log matching: two logs differ up to commit index 5");
}

struct LoggedEntry {
  Term term;
  int entry = 0;
};

auto view_of(std::uint32_t node, std::uint64_t floor, const std::vector<LoggedEntry>& entries) {
  return LogView{NodeId{node},
                 LogIndex{floor},
                 LogIndex{floor + entries.size()},
                 [&entries, floor](LogIndex index) { return entries[index.value - floor - 1]; }};
}

TEST(RaftHistory, LogsThatAgreeInATermAgreeBeforeIt) {
  const std::vector<LoggedEntry> one = {{Term{1}, 10}, {Term{1}, 11}, {Term{2}, 12}};
  const std::vector<LoggedEntry> longer = {
      {Term{1}, 10}, {Term{1}, 11}, {Term{2}, 12}, {Term{2}, 13}};
  const std::vector<LoggedEntry> forked = {{Term{1}, 10}, {Term{1}, 11}, {Term{3}, 99}};
  const std::vector<LoggedEntry> other_entry = {{Term{1}, 10}, {Term{1}, 99}, {Term{2}, 12}};
  const std::vector<LoggedEntry> other_term = {{Term{1}, 10}, {Term{2}, 11}, {Term{2}, 12}};
  const auto first = view_of(1, 0, one);
  EXPECT_EQ(said(RaftHistory::on_logs(first, view_of(2, 0, longer))), "");
  EXPECT_EQ(said(RaftHistory::on_logs(first, view_of(2, 0, forked))), "")
      << "a tail that nobody has agreed on";
  const std::string broken = "I4 log matching: nodes 1 and 2 differ at 2";
  EXPECT_EQ(said(RaftHistory::on_logs(first, view_of(2, 0, other_entry))), broken);
  EXPECT_EQ(said(RaftHistory::on_logs(first, view_of(2, 0, other_term))), broken);
  const std::vector<LoggedEntry> compacted = {{Term{2}, 12}};
  EXPECT_EQ(said(RaftHistory::on_logs(view_of(1, 2, compacted), view_of(2, 0, other_entry))), "")
      << "what is compacted is not compared";
}

TEST(RaftHistory, ALeaderHasWhatWasCommittedInEarlierTerms) {
  RaftHistory history;
  history.on_commit(Term{2}, LogIndex{9});
  history.on_commit(Term{2}, LogIndex{7});
  history.on_commit(Term{5}, LogIndex{12});
  EXPECT_EQ(history.committed(), LogIndex{12});
  EXPECT_EQ(history.owed(Term{2}), LogIndex{0});
  EXPECT_EQ(history.owed(Term{3}), LogIndex{9});
  EXPECT_EQ(history.owed(Term{6}), LogIndex{12});
  EXPECT_EQ(said(history.on_elected_log(leader(2, 1), LogIndex{1})), "");
  EXPECT_EQ(said(history.on_elected_log(leader(3, 1), LogIndex{9})), "");
  EXPECT_EQ(said(history.on_elected_log(leader(3, 1), LogIndex{8})),
            "I5 leader completeness: node 1 leads term 3 with a log up to 8, and 9 was committed "
            "before");
  EXPECT_NE(said(history.on_elected_log(leader(6, 1), LogIndex{11})), "");
}

TEST(RaftHistory, ACommitOfNoTermBindsEveryLaterLeader) {
  RaftHistory history;
  history.on_commit(Term{}, LogIndex{4});
  EXPECT_EQ(history.owed(Term{1}), LogIndex{4});
  EXPECT_NE(said(history.on_elected_log(leader(1, 2), LogIndex{3})), "");
}

TEST(RaftHistory, ALeaderHasTheEntriesThatWereCommittedOrApplied) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_commit_entry(NodeId{1}, LogIndex{1}, 70)), "");
  EXPECT_EQ(said(history.on_apply(NodeId{1}, LogIndex{2}, 71)), "");
  EXPECT_EQ(said(history.on_elected_entry(leader(3, 2), LogIndex{1}, 70)), "");
  EXPECT_EQ(said(history.on_elected_entry(leader(3, 2), LogIndex{3}, 99)), "") << "not known";
  EXPECT_EQ(said(history.on_elected_entry(leader(3, 2), LogIndex{1}, 99)),
            "I5 leader completeness: node 2 leads term 3 with another entry at 1");
  EXPECT_NE(said(history.on_elected_entry(leader(3, 2), LogIndex{2}, 99)), "");
}

TEST(RaftHistory, NodesCommitTheSameEntriesWithoutGaps) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_commit_entry(NodeId{1}, LogIndex{1}, 70)), "");
  EXPECT_EQ(said(history.on_commit_entry(NodeId{2}, LogIndex{1}, 70)), "");
  EXPECT_EQ(said(history.on_commit_entry(NodeId{2}, LogIndex{1}, 71)),
            "I6 state machine safety: node 2 committed another entry at 1");
  EXPECT_EQ(said(history.on_commit_entry(NodeId{2}, LogIndex{3}, 72)),
            "I6 state machine safety: node 2 committed 3 while entries before it are undecided");
  EXPECT_EQ(history.committed(), LogIndex{1});
  EXPECT_EQ(history.owed(Term{1}), LogIndex{1});
}

TEST(RaftHistory, NodesThatAppliedAsMuchAreEqual) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_apply(NodeId{1}, LogIndex{4}, 1)), "");
  EXPECT_EQ(said(history.on_apply(NodeId{2}, LogIndex{4}, 1)), "");
  EXPECT_EQ(said(history.on_apply(NodeId{2}, LogIndex{9}, 2)), "");
  EXPECT_EQ(history.known_count(), 2u);
  EXPECT_EQ(said(history.on_apply(NodeId{3}, LogIndex{4}, 2)),
            "I6 state machine safety: node 3 applied something else up to 4");
}

TEST(RaftHistory, ANodeAppliesTheEntryThatWasCommitted) {
  RaftHistory history;
  EXPECT_EQ(said(history.on_commit_entry(NodeId{1}, LogIndex{1}, 70)), "");
  EXPECT_EQ(said(history.on_apply(NodeId{2}, LogIndex{1}, 70)), "");
  EXPECT_NE(said(history.on_apply(NodeId{2}, LogIndex{1}, kNoContent)), "");
  EXPECT_EQ(said(history.on_applied_to(NodeId{2}, LogIndex{1})), "");
  EXPECT_EQ(said(history.on_applied_to(NodeId{2}, LogIndex{3})),
            "I6 state machine safety: node 2 applied 2 which nobody decided");
}

TEST(RaftHistory, AppliedIsCommittedAndCommittedIsInTheLog) {
  const auto judged = [](const RaftState& state) {
    return said(RaftHistory::on_state(NodeId{1}, state));
  };
  EXPECT_EQ(
      judged({.term = {}, .last = LogIndex{3}, .commit = LogIndex{3}, .applied = LogIndex{3}}), "");
  EXPECT_EQ(judged({.term = {}, .last = {}, .commit = LogIndex{3}, .applied = LogIndex{4}}),
            "I7 monotone: node 1 applied an entry that is not committed");
  EXPECT_EQ(judged({.term = {}, .last = LogIndex{2}, .commit = LogIndex{3}, .applied = {}}),
            "I7 monotone: the commit index of node 1 is beyond its log");
  EXPECT_EQ(judged({.term = {}, .last = LogIndex{2}, .commit = {}, .applied = LogIndex{9}}), "")
      << "what is left out is not judged";
}

TEST(RaftHistory, TermCommitAndAppliedNeverFall) {
  const RaftState before{
      .term = Term{3}, .last = LogIndex{9}, .commit = LogIndex{5}, .applied = LogIndex{4}};
  const auto judged = [&before](const RaftState& now) {
    return said(RaftHistory::on_progress(NodeId{1}, before, now));
  };
  EXPECT_EQ(judged(before), "");
  EXPECT_EQ(judged({}), "") << "what is left out is not judged";
  RaftState now = before;
  now.last = LogIndex{6};
  EXPECT_EQ(judged(now), "") << "a log may become shorter";
  now.term = Term{2};
  EXPECT_EQ(judged(now), "I7 monotone: the term of node 1 fell from 3 to 2");
  now = before;
  now.commit = LogIndex{4};
  EXPECT_EQ(judged(now), "I7 monotone: the commit index of node 1 fell from 5 to 4");
  now.applied = LogIndex{3};
  EXPECT_EQ(judged(now),
            "I7 monotone: the commit index of node 1 fell from 5 to 4; I7 monotone: the applied "
            "index of node 1 fell from 4 to 3");
}

TEST(RaftHistory, ARoundShowsWhatWasCommittedWhenItWasOpened) {
  EXPECT_EQ(said(RaftHistory::on_read({NodeId{1}, 7, LogIndex{5}, LogIndex{5}})), "");
  EXPECT_EQ(said(RaftHistory::on_read({NodeId{1}, 7, LogIndex{4}, LogIndex{5}})),
            "I9 stale read: node 1 answers round 7 at 4 after 5 was decided");
}

TEST(RaftHistory, OneNodeHoldsTheLeaseAndKnowsEveryCommit) {
  RaftHistory history;
  history.on_commit(Term{}, LogIndex{5});
  using Holders = std::vector<LeaseHolder>;
  EXPECT_EQ(said(history.on_leases(Holders{})), "");
  EXPECT_EQ(said(history.on_leases(Holders{{NodeId{1}, LogIndex{5}}})), "");
  EXPECT_EQ(said(history.on_leases(Holders{{NodeId{1}, LogIndex{5}}, {NodeId{3}, LogIndex{5}}})),
            "I12 lease: nodes 1 and 3 hold the lease at once");
  EXPECT_EQ(said(history.on_leases(Holders{{NodeId{1}, LogIndex{4}}})),
            "I12 lease: node 1 holds the lease and does not know that 5 is decided");
}

TEST(RaftHistory, ABreachNamesTheSightingOfTheFirstFact) {
  RaftHistory history;
  history.set_sighting(11);
  EXPECT_EQ(said(history.on_leader(leader(3, 1))), "");
  history.on_commit(Term{3}, LogIndex{2});
  EXPECT_EQ(said(history.on_apply(NodeId{1}, LogIndex{2}, 5)), "");
  history.set_sighting(12);
  history.on_commit(Term{3}, LogIndex{6});
  EXPECT_EQ(history.on_leader(leader(3, 2)).value().earlier, 11u);
  EXPECT_EQ(history.on_apply(NodeId{2}, LogIndex{2}, 6).value().earlier, 11u);
  history.set_sighting(13);
  history.on_commit(Term{3}, LogIndex{4});
  EXPECT_EQ(history.on_elected_log(leader(4, 2), LogIndex{1}).value().earlier, 12u)
      << "who knew most";
}

TEST(ContentNumbers, EqualBytesHaveEqualNumbers) {
  ContentNumbers numbers;
  const ContentId a = numbers.of("a");
  EXPECT_NE(a, kNoContent);
  EXPECT_NE(numbers.of("b"), a);
  EXPECT_EQ(numbers.of("a"), a);
}

}  // namespace
}  // namespace gcoord::consensus::scenario
