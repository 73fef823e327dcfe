#include "cli/top/samples/model.h"

#include "cli/top/samples/series.h"
#include "tests/cli/top/story.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace gcoord::cli::top {
namespace {

// One node that counts; `at_ms` and what it says.
struct Said {
  std::uint64_t at_ms = 0;
  std::uint64_t incarnation = 1;
  std::uint64_t requests = 0;
  std::uint64_t hashed = 0;
};

Sample sample_of(const Said& said) {
  NodeReading reading{.node = 1, .endpoint = "a:1", .at_ms = said.at_ms};
  reading.report = {{"incarnation", said.incarnation},
                    {"leaders", 5},
                    {"ledger", {{"hashed", std::to_string(said.hashed)}}}};
  reading.page =
      MetricsPage::parse("gcoord_server_requests_total " + std::to_string(said.requests) + "\n");
  Sample sample{.at_ms = said.at_ms};
  sample.nodes.push_back(std::move(reading));
  return sample;
}

std::optional<double> latest(const Model& model, const char* id) {
  return model.node(1)->latest(series_index(id));
}

TEST(Model, ARateIsTheGrowthOverTheTimeThatPassed) {
  Model model;
  model.add(sample_of({.at_ms = 1000, .requests = 100, .hashed = 10}));
  EXPECT_EQ(latest(model, "requests"), std::nullopt) << "one reading is no rate";
  EXPECT_EQ(latest(model, "leaders"), 5);
  model.add(sample_of({.at_ms = 1500, .requests = 160, .hashed = 11}));
  EXPECT_EQ(latest(model, "requests"), 120);
  EXPECT_EQ(latest(model, "entries"), 2);
  EXPECT_EQ(model.totals().requests.latest(), 120);
  EXPECT_EQ(model.seconds(), 0.5);
}

TEST(Model, CountersThatBeginAgainAfterARestartMakeNoRate) {
  Model model;
  model.add(sample_of({.at_ms = 1000, .requests = 100, .hashed = 10}));
  model.add(sample_of({.at_ms = 2000, .requests = 200, .hashed = 20}));
  // Another life, which has counted further than the one before.
  model.add(sample_of({.at_ms = 3000, .incarnation = 2, .requests = 900, .hashed = 25}));
  EXPECT_EQ(latest(model, "requests"), std::nullopt);
  EXPECT_EQ(latest(model, "entries"), std::nullopt);
  EXPECT_EQ(latest(model, "leaders"), 5);
  model.add(sample_of({.at_ms = 4000, .incarnation = 2, .requests = 950, .hashed = 26}));
  EXPECT_EQ(latest(model, "requests"), 50);
  EXPECT_EQ(model.node(1)->history[series_index("requests")].max(), 100);
}

TEST(Model, ACounterThatFellMakesNoRate) {
  Model model;
  model.add(sample_of({.at_ms = 1000, .requests = 100, .hashed = 10}));
  model.add(sample_of({.at_ms = 2000, .requests = 99, .hashed = 20}));
  EXPECT_EQ(latest(model, "requests"), std::nullopt);
  EXPECT_EQ(latest(model, "entries"), 10);
}

TEST(Model, ANodeThatFallsSilentStaysWithItsAgeAndGoesOnWhereItWas) {
  Model model;
  model.add(sample_of({.at_ms = 1000, .requests = 100}));
  Sample silent{.at_ms = 2000};
  silent.nodes.push_back({.node = 1, .endpoint = "a:1", .error = "refused"});
  model.add(std::move(silent));
  ASSERT_NE(model.node(1), nullptr);
  EXPECT_FALSE(model.node(1)->answers());
  EXPECT_EQ(model.node(1)->answered_ms, 1000u);
  EXPECT_EQ(latest(model, "leaders"), std::nullopt);
  EXPECT_EQ(model.answering(), 0u);
  model.add(sample_of({.at_ms = 5000, .requests = 500}));
  EXPECT_EQ(latest(model, "requests"), 100) << "over the four seconds since it answered last";
  EXPECT_EQ(model.node(1)->history[series_index("leaders")].size(), 3u);
}

TEST(Model, ANodeThatLeftTheClusterIsNoRow) {
  Model model;
  model.add(sample_of({.at_ms = 1000}));
  model.add({.at_ms = 2000});
  EXPECT_TRUE(model.nodes().empty());
}

TEST(Model, WhatANodeDoesNotTellOrTellsWronglyIsNotKnown) {
  Model model;
  NodeReading reading{.node = 1, .at_ms = 1};
  reading.report = {{"leaders", "many"}, {"locks", -3}, {"ledger", "none"}, {"disk", {1, 2}}};
  Sample sample{.at_ms = 1};
  sample.nodes.push_back(std::move(reading));
  model.add(std::move(sample));
  for (const History& each : model.node(1)->history) {
    EXPECT_EQ(each.latest(), std::nullopt);
  }
}

TEST(Model, NoNumberIsBeyondWhatCanBeCounted) {
  const auto sample = [](std::uint64_t at_ms, const std::string& leaders, const std::string& page) {
    Sample all{.at_ms = at_ms};
    all.nodes.push_back({.node = 1,
                         .at_ms = at_ms,
                         .report = {{"leaders", leaders}, {"locks", "7"}},
                         .page = MetricsPage::parse(page)});
    return all;
  };
  Model model;
  const std::string requests = "gcoord_server_requests_total";
  const std::string memory = "process_resident_memory_bytes";
  model.add(sample(1000, "1e30", requests + " -1.7e308\n" + memory + " 5\n"));
  EXPECT_EQ(latest(model, "leaders"), std::nullopt);
  EXPECT_EQ(latest(model, "locks"), 7);
  EXPECT_EQ(latest(model, "memory"), 5);
  model.add(sample(
      2000,
      "3",
      requests + " 1.7e308\n" + memory + "{a=\"1\"} 1.7e308\n" + memory + "{a=\"2\"} 1.7e308\n"));
  EXPECT_EQ(latest(model, "leaders"), 3);
  EXPECT_EQ(latest(model, "requests"), std::nullopt) << "as the difference, infinity";
  EXPECT_EQ(latest(model, "memory"), std::nullopt) << "as the sum, infinity";
  model.add(sample(3000, "3", memory + " -1\ngcoord_gpu_temperature_celsius -20\n"));
  EXPECT_EQ(latest(model, "memory"), std::nullopt);
  EXPECT_EQ(latest(model, "gpu_temperature"), -20);
  EXPECT_EQ(model.totals().requests.latest(), std::nullopt);
}

TEST(Model, HistogramsTellTheirMeanAndPercentileOfTheIntervalAlone) {
  const auto page = [](std::uint64_t at_ms, const std::string& text) {
    Sample sample{.at_ms = at_ms};
    sample.nodes.push_back(
        {.node = 1, .at_ms = at_ms, .report = Json::object(), .page = MetricsPage::parse(text)});
    return sample;
  };
  const std::string name = "gcoord_ledger_wal_sync_seconds";
  Model model;
  model.add(page(0,
                 name + "_count 1000\n" + name + "_sum 900\n" + name + "_bucket{le=\"0.001\"} 0\n" +
                     name + "_bucket{le=\"1\"} 1000\n" + name + "_bucket{le=\"+Inf\"} 1000\n"));
  model.add(page(2000,
                 name + "_count 1100\n" + name + "_sum 900.05\n" + name +
                     "_bucket{le=\"0.001\"} 99\n" + name + "_bucket{le=\"1\"} 1100\n" + name +
                     "_bucket{le=\"+Inf\"} 1100\n"));
  EXPECT_EQ(latest(model, "syncs"), 50);
  EXPECT_NEAR(*latest(model, "sync_mean"), 0.0005, 1e-9);
  EXPECT_EQ(latest(model, "sync_p99"), 0.001);
}

TEST(Model, HistoryKeepsTheLastSixtySamples) {
  History history;
  for (int k = 0; k < 100; ++k) {
    history.add(k);
  }
  history.add(std::nullopt);
  EXPECT_EQ(history.size(), kHistorySamples);
  EXPECT_EQ(history.at(0), 41);
  EXPECT_EQ(history.latest(), std::nullopt);
  EXPECT_EQ(history.min(), 41);
  EXPECT_EQ(history.max(), 99);
  EXPECT_EQ(history.forgotten(), 41u);
}

TEST(Model, NamesStayWhileTheyWereHotWithinTheHistory) {
  Model model;
  const auto add = [&](std::uint64_t second, std::vector<HotNames::Name> names) {
    model.add({.at_ms = second * 1000, .names = {.grants = 1, .hottest = std::move(names)}});
  };
  add(0, {{.name = "before", .grants = 9}});
  EXPECT_TRUE(model.names().empty()) << "nobody knows since when that was counted";
  add(1, {{.name = "a", .shard = 3, .grants = 4, .waits = 2}});
  add(2, {{.name = "b", .grants = 2}});
  ASSERT_EQ(model.names().size(), 2u);
  EXPECT_EQ(model.names()[0].name, "b");
  EXPECT_EQ(model.name("a")->grants.latest(), 0);
  EXPECT_EQ(model.name("a")->waits.max(), 2);
  EXPECT_EQ(model.name("a")->shard, 3u);
  for (std::uint64_t second = 3; second < 3 + kHistorySamples; ++second) {
    add(second, {});
  }
  EXPECT_TRUE(model.names().empty());
}

TEST(Model, ThereAreNeverMoreNamesThanAreFollowed) {
  Model model;
  for (std::uint64_t second = 0; second < 5; ++second) {
    HotNames::Sample names;
    for (std::size_t k = 0; k < kNamesFollowedMax; ++k) {
      names.hottest.push_back(
          {.name = std::to_string(second) + "/" + std::to_string(k), .grants = second + 1});
    }
    model.add({.at_ms = second * 1000, .names = std::move(names)});
  }
  EXPECT_EQ(model.names().size(), kNamesFollowedMax);
  EXPECT_EQ(model.names()[0].name.substr(0, 2), "4/");
}

TEST(HotNames, CountsGrantsAndWaitsOfEachNameBetweenTwoTakes) {
  HotNames names;
  names.count({.shard = 7,
               .revision = 1,
               .events = {{.kind = client::EventKind::Granted, .name = "a"},
                          {.kind = client::EventKind::Waiting, .name = "a"},
                          {.kind = client::EventKind::Expired, .name = "b"}}});
  const HotNames::Sample sample = names.take(10);
  EXPECT_EQ(sample.grants, 1u);
  EXPECT_EQ(sample.expiries, 1u);
  ASSERT_EQ(sample.hottest.size(), 1u);
  EXPECT_EQ(sample.hottest[0].shard, 7u);
  EXPECT_EQ(sample.hottest[0].waits, 1u);
  EXPECT_TRUE(names.take(10).hottest.empty());
}

client::WatchBatch batch_of(const std::string& name, std::uint64_t revision) {
  return {.shard = 1,
          .revision = revision,
          .events = {{.kind = client::EventKind::Granted, .name = name, .token = revision}}};
}

TEST(RecentChanges, AChosenNameHasThoseOfBeforeAndOfAfter) {
  RecentChanges changes;
  changes.note(batch_of("a", 1), 10);
  changes.note(batch_of("b", 2), 20);
  EXPECT_TRUE(changes.followed().empty());
  changes.follow("a");
  changes.note(batch_of("a", 3), 30);
  const auto found = changes.followed();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].revision, 3u);
  EXPECT_EQ(found[1].at_ms, 10u);
}

TEST(RecentChanges, AreBounded) {
  RecentChanges changes;
  changes.follow("a");
  for (std::uint64_t k = 0; k < kChangesOfAllMax + 9; ++k) {
    changes.note(batch_of("a", k), k);
  }
  EXPECT_EQ(changes.followed().size(), kChangesOfOneMax);
  changes.follow("b");
  EXPECT_TRUE(changes.followed().empty());
}

}  // namespace
}  // namespace gcoord::cli::top
