#include "chaos/check/trace.h"

#include "common/json/members.h"
#include "common/json/text.h"

#include <utility>

namespace gcoord::chaos {

namespace {

std::optional<std::uint64_t> optional_number(JsonMembers& members, const char* name) {
  const auto value = members.number<std::uint64_t>(name);
  return members.has(name) ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<TraceLine> parse_trace_line(std::string_view line) {
  const auto object = parse_json(line);
  if (!object.is_object()) {
    return Status{StatusCode::InvalidArgument, "not a line of a trace: no JSON object"};
  }
  JsonMembers members(object);
  members.require("node");
  members.require("shard");
  TraceLine parsed;
  parsed.node = members.number<std::uint32_t>("node");
  parsed.shard = members.number<std::uint32_t>("shard");
  parsed.term = optional_number(members, "term");
  parsed.last = optional_number(members, "last");
  parsed.commit = optional_number(members, "commit");
  parsed.applied = optional_number(members, "applied");
  parsed.durable = optional_number(members, "durable");
  parsed.vote = members.number<std::uint32_t>("vote");
  parsed.leader = members.number<std::uint32_t>("leader");
  parsed.role = members.text("role");
  parsed.state_hash = members.text("state_hash");
  parsed.log_hash = members.text("log_hash");
  if (!members.first_wrong().empty()) {
    return Status{StatusCode::InvalidArgument, "not a line of a trace: " + members.first_wrong()};
  }
  return parsed;
}

Status read_trace(const std::filesystem::path& file, Trace& trace, std::uint32_t memory) {
  const auto file_number = static_cast<std::uint32_t>(trace.files.size());
  const auto take = [&](const std::string& line, std::uint64_t number) {
    GCOORD_TRY(auto parsed, parse_trace_line(line));
    parsed.file = file_number;
    parsed.memory = memory;
    parsed.line = number;
    trace.lines.push_back(std::move(parsed));
    return Status{};
  };
  GCOORD_TRY_STATUS(read_lines(file, "trace", trace, take));
  trace.files.push_back(file.string());
  return Status{};
}

}  // namespace gcoord::chaos
