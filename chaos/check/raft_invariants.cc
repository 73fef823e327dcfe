#include "chaos/check/raft_invariants.h"

#include "consensus/scenario/content_numbers.h"
#include "consensus/scenario/raft_history.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace gcoord::chaos {

namespace {

using consensus::scenario::ContentNumbers;
using consensus::scenario::RaftBreach;
using consensus::scenario::RaftHistory;
using consensus::scenario::RaftInvariant;
using consensus::scenario::RaftState;
using consensus::scenario::Sighting;

using Index = std::uint64_t;

template <typename Id>
std::optional<Id> id_of(const std::optional<Index>& value) {
  return value.has_value() ? std::optional(Id{*value}) : std::nullopt;
}

RaftState state_of(const TraceLine& line) {
  return {.term = id_of<Term>(line.term),
          .last = id_of<LogIndex>(line.last),
          .commit = id_of<LogIndex>(line.commit),
          .applied = id_of<LogIndex>(line.applied)};
}

class RaftJudge {
 public:
  explicit RaftJudge(const Trace& trace) : trace_(trace) {
    const auto name = [](CheckReport& report, RaftInvariant invariant) {
      report.checker = name_of(invariant);
      report.invariants = number_of(invariant);
    };
    name(election_, RaftInvariant::ElectionSafety);
    name(votes_, RaftInvariant::OneVote);
    name(append_, RaftInvariant::LeaderAppendOnly);
    name(log_, RaftInvariant::LogMatching);
    name(completeness_, RaftInvariant::LeaderCompleteness);
    name(state_, RaftInvariant::StateMachineSafety);
    name(monotone_, RaftInvariant::Monotone);
  }

  std::vector<CheckReport> run() {
    for (const TraceLine& line : trace_.lines) {
      history_of(line).set_sighting(sighting_of(line));
      judge_leader(line);
      judge_vote(line);
      judge_hashes(line);
      judge_life(line);
      note_committed(line);
    }
    for (const TraceLine& line : trace_.lines) {
      judge_completeness(line);
    }
    std::vector<CheckReport> reports;
    for (CheckReport* report :
         {&election_, &votes_, &append_, &log_, &completeness_, &state_, &monotone_}) {
      report->conclude();
      reports.push_back(std::move(*report));
    }
    return reports;
  }

 private:
  using Line = const TraceLine*;

  Sighting sighting_of(const TraceLine& line) const {
    return static_cast<Sighting>(&line - trace_.lines.data());
  }

  RaftHistory& history_of(const TraceLine& line) { return histories_[line.shard]; }

  // A breach that the second line shows beside the first; null: by itself.
  void violate(CheckReport& report, const RaftBreach& breach, Line first, Line second) const {
    Finding finding{.invariant = report.invariants,
                    .key = fmt::format("shard {}", second->shard),
                    .what = breach.sentence};
    for (const Line line : {first, second}) {
      if (line != nullptr) {
        finding.evidence.push_back(describe(*line));
      }
    }
    report.violate(std::move(finding));
  }

  // The breach, if it is one, with the earlier line that it names.
  void judge(CheckReport& report, const std::optional<RaftBreach>& breach, const TraceLine& line) {
    if (breach.has_value()) {
      const Line known = breach->earlier.has_value() ? &trace_.lines[*breach->earlier] : nullptr;
      violate(report, *breach, known, &line);
    }
  }

  std::string describe(const TraceLine& line) const {
    const auto number = [](const std::optional<Index>& value) {
      return value.has_value() ? std::to_string(*value) : std::string("?");
    };
    return fmt::format(
        "{}:{}: node {} {} term {} vote {} leader {} last {} commit {} applied {} state {}",
        trace_.files[line.file],
        line.line,
        line.node,
        line.role,
        number(line.term),
        line.vote,
        line.leader,
        number(line.last),
        number(line.commit),
        number(line.applied),
        line.state_hash.empty() ? "?" : line.state_hash);
  }

  void judge_leader(const TraceLine& line) {
    const std::uint32_t leader = line.role == "leader" ? line.node : line.leader;
    if (!line.term.has_value() || leader == 0) {
      return;
    }
    ++election_.judged;
    judge(election_, history_of(line).on_leader({Term{*line.term}, NodeId{leader}}), line);
  }

  void judge_vote(const TraceLine& line) {
    if (!line.term.has_value() || line.vote == 0) {
      return;
    }
    ++votes_.judged;
    judge(votes_,
          history_of(line).on_vote(
              {NodeId{line.node}, Incarnation{line.memory}, Term{*line.term}, NodeId{line.vote}}),
          line);
  }

  void judge_hashes(const TraceLine& line) {
    if (line.applied.has_value() && !line.state_hash.empty()) {
      ++state_.judged;
      judge(state_,
            history_of(line).on_apply(
                NodeId{line.node}, LogIndex{*line.applied}, states_.of(line.state_hash)),
            line);
    }
    if (line.commit.has_value() && !line.log_hash.empty()) {
      ++log_.judged;
      judge(log_,
            history_of(line).on_log({LogIndex{*line.commit}, Term{}}, logs_.of(line.log_hash)),
            line);
    }
  }

  // Against the line before of the same life.
  void judge_life(const TraceLine& line) {
    ++monotone_.judged;
    const auto [known, first] =
        newest_.emplace(std::tuple{line.file, line.node, line.shard}, &line);
    const RaftState now = state_of(line);
    for (const RaftBreach& breach : RaftHistory::on_state(NodeId{line.node}, now)) {
      violate(monotone_, breach, nullptr, &line);
    }
    if (first) {
      return;
    }
    const Line before = std::exchange(known->second, &line);
    for (const RaftBreach& breach :
         RaftHistory::on_progress(NodeId{line.node}, state_of(*before), now)) {
      violate(monotone_, breach, before, &line);
    }
    if (before->role == "leader" && line.role == "leader" && before->term == line.term) {
      judge_append(*before, line);
    }
  }

  // Of two lines of one leadership.
  void judge_append(const TraceLine& before, const TraceLine& line) {
    if (!line.last.has_value() || !before.last.has_value()) {
      return;
    }
    ++append_.judged;
    const auto breach =
        RaftHistory::on_leading_on({.leader = {Term{line.term.value_or(0)}, NodeId{line.node}},
                                    .last_before = LogIndex{*before.last},
                                    .last_now = LogIndex{*line.last}});
    if (breach.has_value()) {
      violate(append_, *breach, &before, &line);
    }
  }

  void note_committed(const TraceLine& line) {
    if (line.term.has_value() && line.commit.has_value()) {
      history_of(line).on_commit(Term{*line.term}, LogIndex{*line.commit});
    }
  }

  // Of the first line of each leadership: what it was elected with.
  void judge_completeness(const TraceLine& line) {
    if (line.role != "leader" || !line.term.has_value() || !line.last.has_value() ||
        !elected_.emplace(line.shard, *line.term).second) {
      return;
    }
    ++completeness_.judged;
    judge(completeness_,
          history_of(line).on_elected_log({Term{*line.term}, NodeId{line.node}},
                                          LogIndex{*line.last}),
          line);
  }

  const Trace& trace_;
  CheckReport election_, votes_, append_, log_, completeness_, state_, monotone_;
  std::unordered_map<std::uint32_t, RaftHistory> histories_;  // By shard.
  ContentNumbers states_;
  ContentNumbers logs_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Line> newest_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> elected_;  // Shard and term.
};

}  // namespace

std::vector<CheckReport> check_raft(const Trace& trace) {
  return RaftJudge(trace).run();
}

}  // namespace gcoord::chaos
