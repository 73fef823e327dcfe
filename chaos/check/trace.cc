#include "chaos/check/trace.h"

#include "chaos/check/json_members.h"

#include <fstream>
#include <utility>

namespace gcoord::chaos {

namespace {

std::optional<std::uint64_t> optional_number(JsonMembers& members, const char* name) {
  const auto value = members.number<std::uint64_t>(name);
  return members.has(name) ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<TraceLine> parse_trace_line(std::string_view line) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
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

Status read_trace(const std::filesystem::path& file, Trace& trace) {
  std::ifstream in{file};
  if (!in || std::filesystem::is_directory(file)) {
    return Status{StatusCode::NotFound, "no trace in " + file.string()};
  }
  const auto file_number = static_cast<std::uint32_t>(trace.files.size());
  trace.files.push_back(file.string());
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (in.eof()) {
      trace.torn_files.push_back(file.string());  // No newline: cut short.
      break;
    }
    auto parsed = parse_trace_line(line);
    if (parsed.ok()) {
      TraceLine& added = trace.lines.emplace_back(std::move(parsed).value());
      added.file = file_number;
      added.line = number;
    } else if (++trace.bad_line_count <= kBadLinesMax) {
      trace.bad_lines.push_back({file.string(), number, parsed.status().message()});
    }
  }
  return Status{};
}

}  // namespace gcoord::chaos
