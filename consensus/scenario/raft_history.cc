#include "consensus/scenario/raft_history.h"

#include <fmt/format.h>

#include <utility>

namespace gcoord::consensus::scenario {
namespace {

RaftBreach breach_of(RaftInvariant invariant,
                     std::string sentence,
                     std::optional<Sighting> earlier = {}) {
  return {invariant, std::move(sentence), earlier};
}

template <typename Id>
bool fell(const std::optional<Id>& before, const std::optional<Id>& now) {
  return before.has_value() && now.has_value() && *now < *before;
}

bool exceeds(const std::optional<LogIndex>& low, const std::optional<LogIndex>& high) {
  return low.has_value() && high.has_value() && *low > *high;
}

}  // namespace

std::string_view name_of(RaftInvariant invariant) {
  switch (invariant) {
    case RaftInvariant::ElectionSafety:
      return "election safety";
    case RaftInvariant::OneVote:
      return "one vote";
    case RaftInvariant::LeaderAppendOnly:
      return "leader append-only";
    case RaftInvariant::LogMatching:
      return "log matching";
    case RaftInvariant::LeaderCompleteness:
      return "leader completeness";
    case RaftInvariant::StateMachineSafety:
      return "state machine safety";
    case RaftInvariant::Monotone:
      return "monotone";
    case RaftInvariant::FreshReads:
      return "stale read";
    case RaftInvariant::OneLease:
      return "lease";
  }
  return "unknown";
}

std::string number_of(RaftInvariant invariant) {
  return fmt::format("I{}", static_cast<unsigned>(invariant));
}

std::optional<RaftBreach> RaftHistory::on_leader(RaftLeader leader) {
  const auto [at, fresh] = leaders_.try_emplace(leader.term, Leadership{leader.node, sighting_});
  const Leadership& known = at->second;
  if (known.node == leader.node) {
    return {};
  }
  return breach_of(RaftInvariant::ElectionSafety,
                   fmt::format("nodes {} and {} both led in term {}",
                               known.node.value,
                               leader.node.value,
                               leader.term.value),
                   known.sighting);
}

std::optional<RaftBreach> RaftHistory::on_elected(RaftLeader leader) {
  if (auto breach = on_leader(leader)) {
    return breach;
  }
  Leadership& known = leaders_.at(leader.term);
  if (std::exchange(known.won, true)) {
    return breach_of(
        RaftInvariant::ElectionSafety,
        fmt::format("node {} was elected twice in term {}", leader.node.value, leader.term.value),
        known.sighting);
  }
  return {};
}

std::optional<RaftBreach> RaftHistory::on_vote(const RaftVote& vote) {
  const auto [at, fresh] = votes_.try_emplace(std::tuple(vote.voter, vote.life, vote.term),
                                              Ballot{vote.candidate, sighting_});
  const Ballot& known = at->second;
  if (known.candidate == vote.candidate) {
    return {};
  }
  return breach_of(RaftInvariant::OneVote,
                   fmt::format("node {} voted for {} and {} in term {}",
                               vote.voter.value,
                               known.candidate.value,
                               vote.candidate.value,
                               vote.term.value),
                   known.sighting);
}

std::optional<RaftBreach> RaftHistory::on_leading_on(const LeaderLog& log) {
  if (log.last_now >= log.last_before && !log.overwrote) {
    return {};
  }
  return breach_of(RaftInvariant::LeaderAppendOnly,
                   fmt::format("node {} removed or overwrote entries of its log in term {}",
                               log.leader.node.value,
                               log.leader.term.value));
}

std::optional<RaftBreach> RaftHistory::on_log(LogPoint end, ContentId content) {
  const auto [at, fresh] =
      logs_.try_emplace(std::tuple(end.index, end.term), Content{content, sighting_});
  if (at->second.id == content) {
    return {};
  }
  const std::string where =
      end.term.value == 0 ? fmt::format("commit index {}", end.index.value)
                          : fmt::format("entry {} of term {}", end.index.value, end.term.value);
  return breach_of(
      RaftInvariant::LogMatching, "two logs differ up to " + where, at->second.sighting);
}

RaftBreach RaftHistory::logs_differ(NodeId one, NodeId other, LogIndex index) {
  return breach_of(
      RaftInvariant::LogMatching,
      fmt::format("nodes {} and {} differ at {}", one.value, other.value, index.value));
}

void RaftHistory::on_commit(Term known_in, LogIndex index) {
  committed_ = max_id(committed_, index);
  Commit& known = committed_in_.try_emplace(known_in, Commit{index, sighting_}).first->second;
  if (known.index < index) {
    known = {index, sighting_};
  }
}

std::optional<RaftHistory::Content> RaftHistory::differs(LogIndex index, ContentId content) {
  const auto [at, fresh] = contents_.try_emplace(index.value, Content{content, sighting_});
  return at->second.id == content ? std::nullopt : std::optional(at->second);
}

std::optional<RaftBreach> RaftHistory::on_commit_entry(NodeId node,
                                                       LogIndex index,
                                                       ContentId content) {
  if (index > committed_ + 1) {
    return breach_of(
        RaftInvariant::StateMachineSafety,
        fmt::format(
            "node {} committed {} while entries before it are undecided", node.value, index.value));
  }
  if (index > committed_) {
    on_commit(Term{}, index);
  }
  if (const auto known = differs(index, content)) {
    return breach_of(RaftInvariant::StateMachineSafety,
                     fmt::format("node {} committed another entry at {}", node.value, index.value),
                     known->sighting);
  }
  return {};
}

std::optional<RaftBreach> RaftHistory::on_elected_log(RaftLeader leader, LogIndex last) {
  for (const auto& [term, known] : committed_in_) {
    if (term < leader.term && known.index > last) {
      return breach_of(
          RaftInvariant::LeaderCompleteness,
          fmt::format("node {} leads term {} with a log up to {}, and {} was committed before",
                      leader.node.value,
                      leader.term.value,
                      last.value,
                      known.index.value),
          known.sighting);
    }
  }
  return {};
}

std::optional<RaftBreach> RaftHistory::on_elected_entry(RaftLeader leader,
                                                        LogIndex index,
                                                        ContentId content) {
  const auto known = contents_.find(index.value);
  if (known == contents_.end() || known->second.id == content) {
    return {};
  }
  return breach_of(RaftInvariant::LeaderCompleteness,
                   fmt::format("node {} leads term {} with another entry at {}",
                               leader.node.value,
                               leader.term.value,
                               index.value),
                   known->second.sighting);
}

std::optional<RaftBreach> RaftHistory::on_apply(NodeId node, LogIndex index, ContentId content) {
  if (const auto known = differs(index, content)) {
    return breach_of(
        RaftInvariant::StateMachineSafety,
        fmt::format("node {} applied something else up to {}", node.value, index.value),
        known->sighting);
  }
  return {};
}

std::optional<RaftBreach> RaftHistory::on_applied_to(NodeId node, LogIndex index) const {
  if (index <= committed_) {
    return {};
  }
  return breach_of(
      RaftInvariant::StateMachineSafety,
      fmt::format("node {} applied {} which nobody decided", node.value, committed_.value + 1));
}

std::vector<RaftBreach> RaftHistory::on_state(NodeId node, const RaftState& state) {
  std::vector<RaftBreach> breaches;
  if (exceeds(state.applied, state.commit)) {
    breaches.push_back(
        breach_of(RaftInvariant::Monotone,
                  fmt::format("node {} applied an entry that is not committed", node.value)));
  }
  if (exceeds(state.commit, state.last)) {
    breaches.push_back(
        breach_of(RaftInvariant::Monotone,
                  fmt::format("the commit index of node {} is beyond its log", node.value)));
  }
  return breaches;
}

std::vector<RaftBreach> RaftHistory::on_progress(NodeId node,
                                                 const RaftState& before,
                                                 const RaftState& now) {
  std::vector<RaftBreach> breaches;
  const auto note = [&breaches, node](std::string_view number, auto from, auto to) {
    if (fell(from, to)) {
      breaches.push_back(breach_of(
          RaftInvariant::Monotone,
          fmt::format(
              "the {} of node {} fell from {} to {}", number, node.value, from->value, to->value)));
    }
  };
  note("term", before.term, now.term);
  note("commit index", before.commit, now.commit);
  note("applied index", before.applied, now.applied);
  return breaches;
}

std::optional<RaftBreach> RaftHistory::on_read(const AnsweredRead& read) {
  if (read.index >= read.owed) {
    return {};
  }
  return breach_of(RaftInvariant::FreshReads,
                   fmt::format("node {} answers round {} at {} after {} was decided",
                               read.node.value,
                               read.round,
                               read.index.value,
                               read.owed.value));
}

std::optional<RaftBreach> RaftHistory::on_leases(std::span<const LeaseHolder> holders) const {
  if (holders.size() > 1) {
    return breach_of(RaftInvariant::OneLease,
                     fmt::format("nodes {} and {} hold the lease at once",
                                 holders[0].node.value,
                                 holders[1].node.value));
  }
  if (!holders.empty() && holders[0].commit < committed_) {
    return breach_of(RaftInvariant::OneLease,
                     fmt::format("node {} holds the lease and does not know that {} is decided",
                                 holders[0].node.value,
                                 committed_.value));
  }
  return {};
}

std::optional<NodeId> RaftHistory::leader_of(Term term) const {
  const auto known = leaders_.find(term);
  return known == leaders_.end() ? std::nullopt : std::optional(known->second.node);
}

LogIndex RaftHistory::owed(Term term) const {
  LogIndex owed;
  for (const auto& [known_in, known] : committed_in_) {
    owed = known_in < term ? max_id(owed, known.index) : owed;
  }
  return owed;
}

}  // namespace gcoord::consensus::scenario
