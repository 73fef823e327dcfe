// The upgrade test itself, short, at both turns: real nodes whose previous release is this build
// behind a script, which refuses the directory of one node the second time; and restarts of one
// release.
#include "common/host/child_process.h"
#include "common/json/text.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

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

// The result of a short run.
Json run_upgrade(const ScratchFolder& scratch, const std::vector<std::string>& more) {
  ChildOptions options;
  options.arguments = {built("gcoord-chaos").string(),
                       "upgrade",
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
  options.arguments.insert(options.arguments.end(), more.begin(), more.end());
  options.capture_output = true;
  auto chaos = ChildProcess::start(options);
  if (!chaos.ok()) {
    ADD_FAILURE() << chaos.status().to_string();
    return {};
  }
  std::string all;
  std::string last;
  while (const auto line = chaos.value().read_line(kPatience)) {
    all += *line + "\n";
    last = *line;
  }
  EXPECT_EQ(chaos.value().wait_for(kPatience), 0) << all;
  return ::testing::Test::HasFailure() ? Json{} : parse_json(last);
}

// Seed 3 and a previous release that refuses one directory.
void expect_a_refusal_of_node_two(const Json& result) {
  ASSERT_EQ(result["moves"].size(), 8u) << "node 2 was at the top already";
  int refused = 0;
  for (const Json& move : result["moves"]) {
    refused += move.contains("refused") ? 1 : 0;
    EXPECT_TRUE(!move.contains("refused") || unsigned_of(move["node"]) == 2) << result.dump();
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(unsigned_of(result["violations"]), 0u);
  EXPECT_GT(unsigned_of(result["acknowledged"]), 0u);
}

class Upgrade : public ::testing::Test {
 protected:
  std::string previous() const {
    const std::filesystem::path folder = scratch_.path() / "previous";
    std::filesystem::create_directory(folder);
    write_refusing_program(folder / "gcoordd");
    return folder.string();
  }

  const ScratchFolder scratch_;
};

TEST_F(Upgrade, NodesChangeTheirProgramUnderLoadAndStayWithTheNewOneWhereTheOldRefuses) {
  const Json result = run_upgrade(scratch_, {"--previous", previous()});
  ASSERT_FALSE(HasFailure());
  expect_a_refusal_of_node_two(result);
}

TEST_F(Upgrade, ResidentNodesDoTheSame) {
  const Json result = run_upgrade(scratch_, {"--resident", "--previous", previous()});
  ASSERT_FALSE(HasFailure());
  expect_a_refusal_of_node_two(result);
}

TEST_F(Upgrade, ResidentNodesInMemoryModeAreRestartedOneByOneAndLoseNothing) {
  const Json result =
      run_upgrade(scratch_, {"--resident", "--previous", "this", "--durability", "memory"});
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(result["moves"].size(), 9u);
  EXPECT_EQ(unsigned_of(result["violations"]), 0u);
  EXPECT_GT(unsigned_of(result["acknowledged"]), 0u);
  EXPECT_GT(unsigned_of(result["checks"]["trace_lines"]), 0u) << "what hosts saw was judged, too";
}

}  // namespace
}  // namespace gcoord::chaos
