// Many elections of real processes at once: what `./gcoord bench elections` measures, and that it
// ends. How long it takes is a figure, not a test (docs/reference/performance.md).
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

namespace gcoord::cli {
namespace {

class MassElections : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, MassElections, both_turns(), turn_name);

TEST_P(MassElections, E10AllNamesHaveLeadersAgainAfterAKilledClientAndAKilledNode) {
  const ScratchFolder directory;
  std::vector<std::string> words = {"elections",
                                    "--names",
                                    "3000",
                                    "--shards",
                                    "64",
                                    "--runs",
                                    "1",
                                    "--json",
                                    "--no-keep",
                                    "--directory",
                                    directory.path().string()};
  const std::vector<std::string> flags = turn_flags(GetParam());
  words.insert(words.end(), flags.begin(), flags.end());
  const Finished ended = run("gcoord-bench", words);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto result = nlohmann::json::parse(ended.out, nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << ended.out;
  const nlohmann::json& only = result["runs"].at(0);
  EXPECT_EQ(only["client_killed"]["count"], 1000) << "elections that the killed process led";
  EXPECT_EQ(only["node_killed"]["count"], 2000) << "leaders that were left to ask";
}

}  // namespace
}  // namespace gcoord::cli
