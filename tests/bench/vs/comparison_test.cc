#include "bench/vs/comparison.h"

#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <map>

namespace gcoord::bench {
namespace {

// What peers were asked, in order: "start a", "one a 0", "stop a".
using Calls = std::vector<std::string>;

struct Script {
  std::string name;
  std::vector<double> pairs_per_s = {100};  // Of each way.
  std::vector<double> pair_ms = {1};        // The same; with 0 the way fails.
  std::string absent;                       // Why it cannot run.
  std::uint32_t broken_start = 0;           // The start that fails, from 1.
};

class FakePeer final : public Peer {
 public:
  FakePeer(Script script, Calls& calls) : script_(std::move(script)), calls_(calls) {}

  std::string name() const override { return script_.name; }

  Result<PeerFacts> describe() override {
    if (!script_.absent.empty()) {
      return Status{StatusCode::NotFound, script_.absent};
    }
    return PeerFacts{.name = script_.name,
                     .version = "1.2",
                     .acknowledged = "in memory",
                     .settings = {"--fast"},
                     .promises = {{"Fencing token", "none"}}};
  }

  std::size_t way_count(Shape) const override { return script_.pair_ms.size(); }

  std::string way_text(Shape, std::size_t way) const override {
    return "way " + std::to_string(way);
  }

  Status start(const std::filesystem::path& directory) override {
    calls_.push_back("start " + script_.name);
    EXPECT_TRUE(std::filesystem::is_empty(directory));
    return ++starts_ == script_.broken_start ? Status{StatusCode::Unavailable, "no leader"}
                                             : Status{};
  }

  Result<LoadResult> run(std::size_t way, const PeerLoad& load) override {
    EXPECT_TRUE(prefixes_.emplace(load.name_prefix, 1).second) << "names were taken before";
    if (load.name_prefix.starts_with("bench")) {
      calls_.push_back(std::string{shape_name(load.shape)} + " " + script_.name + " " +
                       std::to_string(way));
    }
    if (script_.pair_ms[way] == 0) {
      return Status{StatusCode::Aborted, "connection lost"};
    }
    LoadResult result;
    result.seconds = 1;
    result.pairs = static_cast<std::uint64_t>(script_.pairs_per_s[way]);
    const auto pair = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double, std::milli>(script_.pair_ms[way]));
    result.pair.add(pair);
    result.lock.add(pair / 2);
    return result;
  }

  void stop() override { calls_.push_back("stop " + script_.name); }

 private:
  Script script_;
  Calls& calls_;
  std::uint32_t starts_ = 0;
  std::map<std::string, int> prefixes_;
};

class ComparisonTest : public testing::Test {
 protected:
  Json compare_all(std::vector<Script> scripts, std::uint32_t rounds = 1) {
    std::vector<std::unique_ptr<Peer>> peers;
    for (Script& each : scripts) {
      peers.push_back(std::make_unique<FakePeer>(std::move(each), calls_));
    }
    const auto result = compare(peers, {.directory = folder_.path(), .rounds = rounds});
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? result.value() : Json{};
  }

  std::vector<std::string> starts() const {
    std::vector<std::string> list;
    for (const std::string& call : calls_) {
      if (call.starts_with("start ")) {
        list.push_back(call.substr(6));
      }
    }
    return list;
  }

  ScratchFolder folder_;
  Calls calls_;
};

TEST_F(ComparisonTest, PeersAlternateAndEachRunHasAFreshCluster) {
  const Json result = compare_all({{.name = "a"}, {.name = "b"}}, 2);
  // First the ways of both, then the rounds.
  EXPECT_EQ(starts(), (std::vector<std::string>{"a", "b", "a", "b", "a", "b"}));
  EXPECT_EQ(result["runs"].size(), 4u);
  EXPECT_EQ(calls_.back(), "stop b");
}

TEST_F(ComparisonTest, TheBestWayIsTheShortestMedianForOneClientAndElseTheHighestRate) {
  const Json result =
      compare_all({{.name = "a", .pairs_per_s = {100, 300, 200}, .pair_ms = {3, 2, 1}}});
  const Json& ways = result["peers"][0]["ways"];
  EXPECT_EQ(ways["one"]["best"].text(), "way 2");
  EXPECT_EQ(ways["many"]["best"].text(), "way 1");
  EXPECT_EQ(ways["pipelined"]["best"].text(), "way 1");
  EXPECT_EQ(ways["many"]["tried"].size(), 3u);
  const Calls round{calls_.end() - 4, calls_.end()};
  EXPECT_EQ(round, (Calls{"one a 2", "many a 1", "pipelined a 1", "stop a"}));
}

TEST_F(ComparisonTest, AWayThatFailsIsShownAndNotTaken) {
  const Json result = compare_all({{.name = "a", .pairs_per_s = {900, 100}, .pair_ms = {0, 1}}});
  const Json& many = result["peers"][0]["ways"]["many"];
  EXPECT_EQ(many["best"].text(), "way 1");
  EXPECT_EQ(many["tried"][0]["failed"].text(), "connection lost");
}

TEST_F(ComparisonTest, APeerThatCannotRunIsNamedWithItsReason) {
  const Json result = compare_all({{.name = "a", .absent = "no such program"}, {.name = "b"}});
  EXPECT_EQ(result["not_run"][0]["name"].text(), "a");
  EXPECT_EQ(result["not_run"][0]["reason"].text(), "no such program");
  EXPECT_EQ(result["peers"].size(), 1u);
  EXPECT_EQ(result["runs"].size(), 1u);
}

TEST_F(ComparisonTest, ARunThatFailsCountsAsFailedAndTheOthersGoOn) {
  const Json result = compare_all({{.name = "a", .broken_start = 2}, {.name = "b"}}, 2);
  EXPECT_EQ(result["runs"][0]["many"]["failed"].text(), "no leader");
  const Json& many = result["summary"]["a"]["many"];
  EXPECT_EQ(unsigned_of(many["failed_runs"]), 1u);
  EXPECT_EQ(number_of(many["pairs_per_s"]["median"]), 100);
  EXPECT_EQ(unsigned_of(result["summary"]["b"]["many"]["failed_runs"]), 0u);
}

TEST_F(ComparisonTest, APeerThatCanBeDrivenInNoWayEndsTheComparison) {
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(std::make_unique<FakePeer>(Script{.name = "a", .pair_ms = {0}}, calls_));
  const auto result = compare(peers, {.directory = folder_.path()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::Aborted);
  EXPECT_EQ(calls_.back(), "stop a");
}

TEST_F(ComparisonTest, VersionSettingsAndPromisesOfAPeerAreInTheResult) {
  const Json result = compare_all({{.name = "a"}});
  const Json& peer = result["peers"][0];
  EXPECT_EQ(peer["version"].text(), "1.2");
  EXPECT_EQ(peer["settings"][0].text(), "--fast");
  EXPECT_EQ(peer["acknowledged"].text(), "in memory");
  EXPECT_EQ(peer["promises"]["Fencing token"].text(), "none");
}

}  // namespace
}  // namespace gcoord::bench
