// The whole way: a real cluster, a load with a history, traces, a kill -9 in the middle, and the
// judge's program over everything that was written.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class CheckedBenchTest : public testing::Test {
 protected:
  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 64;
    options.trace = true;
    auto planned = chaos::LocalCluster::plan(std::move(options));
    ASSERT_TRUE(planned.ok());
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    ASSERT_TRUE(started.ok()) << started.to_string();
  }

  std::string endpoints() const { return comma_list(cluster_->endpoints()); }

  std::string history(const std::string& names) const {
    return (directory_.path() / (names + ".jsonl")).string();
  }

  ChildProcess start_load(const std::string& names) const {
    return Ctl(endpoints())
        .start({"bench",
                "lock",
                "--clients",
                "8",
                "--names",
                names,
                "--seconds",
                "4",
                "--history",
                history(names)});
  }

  // What every replica says of some shards, as lines of a trace
  // (docs/reference/machine_interfaces.md).
  std::string write_states() const {
    const std::string file = (directory_.path() / "states.trace").string();
    std::ofstream out(file);
    for (std::uint32_t shard = 0; shard < 16; ++shard) {
      const auto shown = Ctl(endpoints()).json({"shard", "show", std::to_string(shard)});
      for (nlohmann::json replica : shown["replicas"]) {
        replica["shard"] = shard;
        out << replica.dump() << "\n";
      }
    }
    return file;
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

TEST_F(CheckedBenchTest, AHistoryAndTracesThroughAKillAreRight) {
  ChildProcess shared = start_load("shared");
  ChildProcess distinct = start_load("distinct");
  EXPECT_FALSE(shared.wait_for(std::chrono::milliseconds{1500}).has_value()) << "it ended early";
  cluster_->kill(1);
  EXPECT_FALSE(distinct.wait_for(std::chrono::milliseconds{500}).has_value()) << "it ended early";
  ASSERT_TRUE(cluster_->spawn(1).ok());
  ASSERT_TRUE(cluster_->wait_ready(1, kPatience).ok());
  EXPECT_TRUE(shared.wait_for(kPatience).has_value());
  EXPECT_TRUE(distinct.wait_for(kPatience).has_value());
  const std::string states = write_states();
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);

  std::vector<std::string> arguments = {
      history("shared"), history("distinct"), "--json", "--trace"};
  for (const auto& trace : cluster_->trace_files()) {
    arguments.push_back(trace.file.string());
  }
  arguments.push_back(states);
  ASSERT_EQ(cluster_->trace_files().size(), 4u) << "three nodes, one of them lived twice";
  const Finished checked = run("gcoord-check", arguments);
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const auto last = checked.out.substr(checked.out.rfind('\n', checked.out.size() - 2) + 1);
  const auto verdict = nlohmann::json::parse(last, nullptr, false);
  ASSERT_TRUE(verdict.is_object()) << checked.out;
  EXPECT_EQ(verdict["verdict"], "ok");
  EXPECT_GT(verdict["operations"].get<int>(), 100);
  EXPECT_GT(verdict["trace_lines"].get<int>(), 100);
  for (const auto& checker : verdict["checkers"]) {
    // A bench asks about no token, and traces hold no log hashes.
    const bool idle = checker["invariants"] == "I8" || checker["invariants"] == "I4";
    EXPECT_EQ(checker["verdict"], idle ? "nothing to judge" : "ok") << checker.dump(2);
  }
}

TEST(GcoordCheckTest, ExitCodesSayOkBrokenAndWrongUsage) {
  const std::string histories = in_sources("tests/chaos/histories/");
  EXPECT_EQ(run("gcoord-check", {histories + "legal/one_hold_after_another.jsonl"}).code, 0);
  const Finished broken =
      run("gcoord-check", {histories + "illegal/two_hold_it_at_once__I9_I11.jsonl", "--json"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.out, HasSubstr("two held it at once"));
  EXPECT_THAT(broken.out, HasSubstr("\"verdict\":\"violation\""));
  const Finished unread =
      run("gcoord-check", {histories + "undecided/a_line_that_cannot_be_read.jsonl"});
  EXPECT_EQ(unread.code, 1);
  EXPECT_THAT(unread.out, HasSubstr("a_line_that_cannot_be_read.jsonl:2: "));
  EXPECT_EQ(run("gcoord-check", {}).code, 2);
  EXPECT_EQ(run("gcoord-check", {"no/such/file"}).code, 2);
  EXPECT_EQ(run("gcoord-check", {"--model", "sandwich", "x"}).code, 2);
  EXPECT_EQ(run("gcoord-check", {"--help"}).code, 0);
}

TEST(GcoordCheckTest, AModelThatIsNamedIsTheOneThatJudges) {
  // A refused write is nothing to a register, and wrong of a store that has seen no higher token.
  const std::string file =
      in_sources("tests/chaos/histories/illegal/guarded_store_refuses_the_holder__I11_I9.jsonl");
  EXPECT_EQ(run("gcoord-check", {file, "--model", "guarded"}).code, 1);
  EXPECT_EQ(run("gcoord-check", {file, "--model", "register"}).code, 0);
}

}  // namespace
}  // namespace gcoord::cli
