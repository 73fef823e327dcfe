// The trace door as files: every transition of every shard, one JSON line each
// (server/node/trace_file.h).
//
//   {"tick","node","shard","term","vote","role","leader","last","commit","applied","durable",
//    "cause","state_hash"}
//
// Lines that another tool wrote may leave out what it does not know, all but node and shard; what
// is left out is not judged. A file is one life of one node. Blocking.
#pragma once

#include "chaos/check/line_file.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

struct TraceLine {
  std::uint32_t node = 0;
  std::uint32_t shard = 0;
  std::optional<std::uint64_t> term;
  std::optional<std::uint64_t> last;
  std::optional<std::uint64_t> commit;
  std::optional<std::uint64_t> applied;
  std::optional<std::uint64_t> durable;
  std::uint32_t vote = 0;    // 0: none.
  std::uint32_t leader = 0;  // 0: none known.
  std::string role;
  std::string state_hash;    // Of the state at `applied`.
  std::string log_hash;      // Of the log up to `commit`.
  std::uint32_t file = 0;    // Which of the files that were read.
  std::uint32_t memory = 1;  // Which of its node's memories wrote it; see read_trace.
  std::uint64_t line = 0;
};

struct Trace : LineFaults {
  std::vector<std::string> files;
  std::vector<TraceLine> lines;  // File by file, each in the order it was written.
};

// InvalidArgument, with the member that is wrong.
Result<TraceLine> parse_trace_line(std::string_view line);

// Appends a file's lines. Fails only when the file cannot be read. Lives of a node that remember
// what it promised share a number of `memory`; after its disk was lost another one begins, which
// votes for itself (docs/adr/0025).
Status read_trace(const std::filesystem::path& file, Trace& trace, std::uint32_t memory = 1);

}  // namespace gcoord::chaos
