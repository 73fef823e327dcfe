// The upgrade test itself, short: real nodes whose previous release is this build behind a script,
// which refuses the directory of one node the second time.
#include "common/host/child_process.h"
#include "common/json/text.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace gcoord::chaos {
namespace {

constexpr std::chrono::seconds kPatience{240};

std::filesystem::path built(const char* program) {
  return std::filesystem::path{GCOORD_BUILD_DIR} / "bin" / program;
}

// Node 2 of this release ends with GC2007 where it finds a directory.
void write_refusing_program(const std::filesystem::path& file) {
  std::ofstream{file} << "#!/bin/sh\n"
                         "case \"$*\" in\n"
                         "  *'--node-id 2 '*) if [ -d \"$(dirname \"$0\")/seen\" ]; then\n"
                         "      echo 'written by a newer release (GC2007)' >&2; exit 2\n"
                         "    fi\n"
                         "    mkdir \"$(dirname \"$0\")/seen\" ;;\n"
                         "esac\n"
                         "exec "
                      << built("gcoordd") << " \"$@\"\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

TEST(Upgrade, NodesChangeTheirProgramUnderLoadAndStayWithTheNewOneWhereTheOldRefuses) {
  const ScratchFolder scratch;
  std::filesystem::create_directory(scratch.path() / "previous");
  write_refusing_program(scratch.path() / "previous" / "gcoordd");
  ChildOptions options;
  options.arguments = {built("gcoord-chaos").string(),
                       "upgrade",
                       "--previous",
                       (scratch.path() / "previous").string(),
                       "--seconds",
                       "15",
                       "--shards",
                       "16",
                       "--clients",
                       "1",
                       "--rate",
                       "200",
                       "--seed",
                       "3",
                       "--directory",
                       scratch.path().string(),
                       "--json"};
  options.capture_output = true;
  auto chaos = ChildProcess::start(options);
  ASSERT_TRUE(chaos.ok());
  std::string all;
  std::string last;
  while (const auto line = chaos.value().read_line(kPatience)) {
    all += *line + "\n";
    last = *line;
  }
  ASSERT_EQ(chaos.value().wait_for(kPatience), 0) << all;
  const Json result = parse_json(last);
  ASSERT_EQ(result["moves"].size(), 8u) << "node 2 was at the top already";
  int refused = 0;
  for (const Json& move : result["moves"]) {
    refused += move.contains("refused") ? 1 : 0;
    EXPECT_TRUE(!move.contains("refused") || unsigned_of(move["node"]) == 2) << all;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(unsigned_of(result["violations"]), 0u);
  EXPECT_GT(unsigned_of(result["acknowledged"]), 0u);
}

}  // namespace
}  // namespace gcoord::chaos
