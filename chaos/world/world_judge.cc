#include "chaos/world/world_judge.h"

#include "common/crc32c.h"
#include "common/random.h"

#include <fmt/format.h>

#include <span>
#include <utility>

namespace gcoord::chaos {
namespace {

// The word of the trace door.
const char* word_of(consensus::Role role) {
  return role == consensus::Role::Leader ? "leader" : "other";
}

}  // namespace

void WorldJudge::take(Operation operation) {
  const std::string line = to_json_line(operation);
  digest_ = mix64(digest_ ^ crc32c(std::as_bytes(std::span{line.data(), line.size()})));
  history_.operations.push_back(std::move(operation));
}

void WorldJudge::take(const WeakRead& read) {
  for (const std::uint64_t word : {static_cast<std::uint64_t>(read.consistency),
                                   read.index.value,
                                   std::uint64_t{read.age_ms},
                                   static_cast<std::uint64_t>(read.verdict)}) {
    digest_ = mix64(digest_ ^ word);
  }
  if (const std::string wrong = weak_reads_.take(read); !wrong.empty()) {
    report(wrong);
  }
}

void WorldJudge::take(const server::ShardTransition& t, std::uint32_t life) {
  const std::pair key(t.node.value, life);
  const auto [file, added] = files_.emplace(key, static_cast<std::uint32_t>(trace_.files.size()));
  if (added) {
    trace_.files.push_back(fmt::format("node {}, life {}", t.node.value, life));
  }
  for (const std::uint64_t word :
       {t.tick.value, t.term.value, t.commit.value, t.applied.value, t.state_hash}) {
    digest_ = mix64(digest_ ^ word);
  }
  if (t.role == consensus::Role::Leader) {
    note_vote(t.shard, {t.node, Incarnation{life}, t.term, t.node});
  }
  TraceLine line;
  line.node = t.node.value;
  line.shard = t.shard.value;
  line.term = t.term.value;
  line.last = t.last.value;
  line.commit = t.commit.value;
  line.applied = t.applied.value;
  line.durable = t.durable.value;
  line.leader = t.leader.value;
  line.role = word_of(t.role);
  line.state_hash = fmt::format("{:016x}", t.state_hash);
  line.file = file->second;
  line.line = trace_.lines.size() + 1;
  trace_.lines.push_back(std::move(line));
}

void WorldJudge::take(const consensus::Message& message, std::uint32_t life) {
  if (message.kind == consensus::MessageKind::VoteReply &&
      (message.flags & consensus::kFlagReject) == 0) {
    note_vote(message.shard, {message.from, Incarnation{life}, message.term, message.to});
  }
}

void WorldJudge::note_vote(ShardId shard, consensus::scenario::RaftVote vote) {
  vote.life = lives_apart_ ? vote.life : Incarnation{};
  if (const auto breach = votes_[shard].on_vote(vote)) {
    report(fmt::format(
        "{}: {} of shard {}", number_of(breach->invariant), breach->sentence, shard.value));
  }
}

void WorldJudge::report(const std::string& what) {
  if (reported_.empty()) {
    reported_ = what;
  }
}

std::string WorldJudge::verdict() {
  const CheckSummary summary = check_run(history_, trace_, LinearOptions{});
  for (const CheckReport& report : summary.reports) {
    if (report.invariants.find("I8") != std::string::npos) {
      lost_ += report.violations;
    }
  }
  undecided_ = reported_.empty() && summary.verdict == Verdict::Undecided;
  if (!reported_.empty()) {
    return reported_;
  }
  if (summary.verdict == Verdict::Ok) {
    return {};
  }
  std::string text = summary.first_finding();
  for (const CheckReport& report : summary.reports) {
    text += report.verdict == Verdict::Undecided ? "undecided: " + report.undecided_reason : "";
    for (const Finding& finding : report.findings) {
      for (const std::string& evidence : finding.evidence) {
        text += "\n      " + evidence;
      }
    }
  }
  return text;
}

}  // namespace gcoord::chaos
