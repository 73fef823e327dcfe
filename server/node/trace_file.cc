#include "server/node/trace_file.h"

#include "protocol/error_codes.h"
#include "server/node/reports.h"
#include "server/platform/operator_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace gcoord::server {

namespace {

// Traces are for looking at a node for a while; who has so many should remove some.
constexpr std::uint32_t kLivesMax = 10'000;

std::string_view cause_name(consensus::Cause cause) {
  switch (cause) {
    case consensus::Cause::None:
      return "none";
    case consensus::Cause::Timeout:
      return "timeout";
    case consensus::Cause::HigherTerm:
      return "higher-term";
    case consensus::Cause::Elected:
      return "elected";
    case consensus::Cause::CheckQuorum:
      return "check-quorum";
    case consensus::Cause::Transfer:
      return "transfer";
    case consensus::Cause::Removed:
      return "removed";
    case consensus::Cause::LeaderKnown:
      return "leader-known";
    case consensus::Cause::Resigned:
      return "resigned";
    case consensus::Cause::VoteLost:
      return "vote-lost";
  }
  return "unknown";
}

}  // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::open(const std::string& path) {
  std::string own = path;
  std::FILE* file = std::fopen(own.c_str(), "wxe");
  for (std::uint32_t life = 2; file == nullptr && errno == EEXIST && life <= kLivesMax; ++life) {
    own = path + "." + std::to_string(life);
    file = std::fopen(own.c_str(), "wxe");
  }
  if (file == nullptr) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                "--trace " + own + ": " + std::strerror(errno));
  }
  return std::unique_ptr<TraceFile>(new TraceFile(file, own));
}

TraceFile::~TraceFile() {
  std::fclose(file_);
}

void TraceFile::write(const ShardTransition& t) {
  put(fmt::format(
      R"({{"tick":"{}","node":{},"shard":{},"term":"{}","vote":{},"role":"{}","leader":{},)"
      R"("last":"{}","commit":"{}","applied":"{}","durable":"{}","cause":"{}","state_hash":"{:016x}"}})"
      "\n",
      t.tick.value,
      t.node.value,
      t.shard.value,
      t.term.value,
      t.vote.value,
      role_name(t.role),
      t.leader.value,
      t.last.value,
      t.commit.value,
      t.applied.value,
      t.durable.value,
      cause_name(t.cause),
      t.state_hash));
}

void TraceFile::write(const TurnSighting& s) {
  std::string line = fmt::format(
      R"({{"tick":"{}","node":{},"shard":{})", s.tick.value, s.node.value, s.shard.value);
  if (s.term != Term{}) {
    line += fmt::format(R"(,"term":"{}")", s.term.value);
  }
  if (s.vote != NodeId{}) {
    line += fmt::format(R"(,"vote":{})", s.vote.value);
  }
  if (s.applied != LogIndex{}) {
    line += fmt::format(R"(,"applied":"{}")", s.applied.value);
  }
  line += fmt::format(R"(,"role":"{}","leader":{},"cause":"{}")",
                      role_name(s.role),
                      s.leader.value,
                      sighting_cause_name(s.cause));
  if (s.state_hash.has_value()) {
    line += fmt::format(R"(,"state_hash":"{:016x}")", *s.state_hash);
  }
  put(line + "}\n");
}

void TraceFile::put(const std::string& line) {
  if (failed_) {
    return;
  }
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) {
    failed_ = true;
    log_error(LogComponent::Consensus, "the trace ends here: {}", std::strerror(errno));
  }
}

}  // namespace gcoord::server
