#include "chaos/check/raft_invariants.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace gcoord::chaos {

namespace {

using Index = std::uint64_t;

class RaftJudge {
 public:
  explicit RaftJudge(const Trace& trace) : trace_(trace) {
    const auto name = [](CheckReport& report, const char* checker, const char* invariants) {
      report.checker = checker;
      report.invariants = invariants;
    };
    name(election_, "election safety", "I1");
    name(votes_, "one vote", "I2");
    name(append_, "leader append-only", "I3");
    name(log_, "log matching", "I4");
    name(completeness_, "leader completeness", "I5");
    name(state_, "state machine safety", "I6");
    name(monotone_, "monotone", "I7");
  }

  std::vector<CheckReport> run() {
    for (const TraceLine& line : trace_.lines) {
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
  using ShardTerm = std::pair<std::uint32_t, std::uint64_t>;

  void violate(CheckReport& report, std::string what, Line first, Line second) const {
    Finding finding{.invariant = report.invariants,
                    .key = fmt::format("shard {}", second->shard),
                    .what = std::move(what)};
    for (const Line line : {first, second}) {
      if (line != nullptr) {
        finding.evidence.push_back(describe(*line));
      }
    }
    report.violate(std::move(finding));
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
    const auto [known, added] =
        leaders_.emplace(ShardTerm{line.shard, *line.term}, std::pair{leader, &line});
    if (!added && known->second.first != leader) {
      violate(
          election_,
          fmt::format(
              "two leaders in term {}: nodes {} and {}", *line.term, known->second.first, leader),
          known->second.second,
          &line);
    }
  }

  void judge_vote(const TraceLine& line) {
    if (!line.term.has_value() || line.vote == 0) {
      return;
    }
    ++votes_.judged;
    const auto [known, added] =
        voted_.emplace(std::tuple{line.shard, line.node, line.memory, *line.term}, &line);
    if (!added && known->second->vote != line.vote) {
      violate(votes_,
              fmt::format("node {} voted for two candidates in term {}", line.node, *line.term),
              known->second,
              &line);
    }
  }

  void judge_hashes(const TraceLine& line) {
    if (line.applied.has_value() && !line.state_hash.empty()) {
      judge_equal(state_,
                  states_.emplace(ShardTerm{line.shard, *line.applied}, &line),
                  &TraceLine::state_hash,
                  line,
                  "two states at one applied index");
    }
    if (line.commit.has_value() && !line.log_hash.empty()) {
      judge_equal(log_,
                  logs_.emplace(ShardTerm{line.shard, *line.commit}, &line),
                  &TraceLine::log_hash,
                  line,
                  "two logs up to one commit index");
    }
  }

  template <typename Emplaced>
  void judge_equal(CheckReport& report,
                   const Emplaced& emplaced,
                   std::string TraceLine::*hash,
                   const TraceLine& line,
                   const char* what) {
    ++report.judged;
    const TraceLine& known = *emplaced.first->second;
    if (known.*hash != line.*hash) {
      violate(report, what, &known, &line);
    }
  }

  // Against the line before of the same life.
  void judge_life(const TraceLine& line) {
    ++monotone_.judged;
    const auto [known, first] =
        newest_.emplace(std::tuple{line.file, line.node, line.shard}, &line);
    if (line.applied > line.commit && line.commit.has_value()) {
      violate(monotone_, "applied what is not committed", nullptr, &line);
    }
    if (line.commit > line.last && line.last.has_value()) {
      violate(monotone_, "the commit index is beyond the log", nullptr, &line);
    }
    if (first) {
      return;
    }
    const Line before = std::exchange(known->second, &line);
    judge_not_falling(&TraceLine::term, "the term fell", before, line);
    judge_not_falling(&TraceLine::commit, "the commit index fell", before, line);
    judge_not_falling(&TraceLine::applied, "the applied index fell", before, line);
    if (before->role == "leader" && line.role == "leader" && before->term == line.term) {
      ++append_.judged;
      if (line.last.has_value() && line.last < before->last) {
        violate(append_, "a leader's log became shorter", before, &line);
      }
    }
  }

  void judge_not_falling(std::optional<Index> TraceLine::*index,
                         const char* what,
                         Line before,
                         const TraceLine& line) {
    if ((line.*index).has_value() && line.*index < before->*index) {
      violate(monotone_, what, before, &line);
    }
  }

  void note_committed(const TraceLine& line) {
    if (line.term.has_value() && line.commit.has_value()) {
      Line& known = committed_[line.shard][*line.term];
      if (known == nullptr || known->commit < line.commit) {
        known = &line;
      }
    }
  }

  // Of the first line of each leadership: what it was elected with.
  void judge_completeness(const TraceLine& line) {
    if (line.role != "leader" || !line.term.has_value() || !line.last.has_value() ||
        !elected_.emplace(ShardTerm{line.shard, *line.term}, &line).second) {
      return;
    }
    ++completeness_.judged;
    for (const auto& [term, known] : committed_[line.shard]) {
      if (term < *line.term && known->commit > line.last) {
        violate(completeness_,
                fmt::format(
                    "the leader of term {} lacks what was committed in term {}", *line.term, term),
                known,
                &line);
        return;
      }
    }
  }

  const Trace& trace_;
  CheckReport election_, votes_, append_, log_, completeness_, state_, monotone_;
  std::map<ShardTerm, std::pair<std::uint32_t, Line>> leaders_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>, Line> voted_;
  std::map<ShardTerm, Line> states_;
  std::map<ShardTerm, Line> logs_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Line> newest_;
  std::unordered_map<std::uint32_t, std::map<std::uint64_t, Line>> committed_;
  std::map<ShardTerm, Line> elected_;
};

}  // namespace

std::vector<CheckReport> check_raft(const Trace& trace) {
  return RaftJudge(trace).run();
}

}  // namespace gcoord::chaos
