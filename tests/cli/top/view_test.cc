// The screens of top against files of text in testdata. A wrong one is written beside the right
// one, as NAME.txt.new, when GCOORD_WRITE_SCREENS is set.
#include "cli/top/view.h"

#include "cli/top/figures.h"
#include "cli/top/paint.h"
#include "cli/top/report.h"
#include "common/text/cells.h"
#include "common/text/printable.h"
#include "tests/cli/top/story.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace gcoord::cli::top {
namespace {

constexpr std::chrono::seconds kInterval{2};

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Without blanks at the ends of lines, which nobody sees.
std::string seen(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& each : lines) {
    text += each.text.substr(0, each.text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

// Somebody who types at a screen of this size.
struct User {
  const Model& model;
  Frame frame{};
  Navigation navigation{kInterval};

  void press(std::string keys) {
    for (const KeyPress& key : take_keys(keys, true)) {
      const PageText page = page_text(model, navigation, frame);
      navigation.act(key, targets_of(page), body_rows(page, frame));
    }
  }

  std::vector<Line> screen() const { return screen_of(model, navigation, frame); }
};

std::vector<Line> screen_after(const std::string& keys, User user) {
  user.press(keys);
  return user.screen();
}

void expect_screen(const std::string& name, const std::vector<Line>& lines) {
  const std::string path = in_sources(("tests/cli/top/testdata/" + name + ".txt").c_str());
  if (std::getenv("GCOORD_WRITE_SCREENS") != nullptr) {
    std::ofstream(path + ".new") << seen(lines);
  }
  EXPECT_EQ(seen(lines), text_of_file(path)) << name;
}

Model story_with_a_lock() {
  Model model = story();
  client::LockDescription lock{.name = "jobs/train",
                               .shard = 1,
                               .holder_session = 281'474'976'710'657,
                               .token = 4711,
                               .acquired_index = 90'210,
                               .ttl_left = std::chrono::milliseconds{8123},
                               .waiter_count = 2,
                               .waiters = {{281'474'976'710'658, 1, std::chrono::seconds{3}},
                                           {281'474'976'710'659, 4, std::chrono::seconds{1}}},
                               .note = "host-7\x1b[2J"};
  model.learn(LockReading{.name = "jobs/train", .error = {}, .lock = lock});
  model.learn(std::vector<Change>{{.at_ms = 137'000,
                                   .kind = client::EventKind::Granted,
                                   .name = "jobs/train",
                                   .token = 4711,
                                   .session_id = 281'474'976'710'657,
                                   .shard = 1,
                                   .revision = 90'210},
                                  {.at_ms = 137'000,
                                   .kind = client::EventKind::Released,
                                   .name = "jobs/train",
                                   .token = 4710,
                                   .session_id = 281'474'976'710'650,
                                   .shard = 1,
                                   .revision = 90'209},
                                  {.at_ms = 130'000,
                                   .kind = client::EventKind::Waiting,
                                   .name = "jobs/train",
                                   .session_id = 281'474'976'710'658,
                                   .shard = 1,
                                   .revision = 90'001}});
  return model;
}

TEST(View, EveryPageAtThreeSizes) {
  const Model model = story_with_a_lock();
  for (const auto& [columns, rows] : {std::pair{80, 24}, std::pair{120, 40}, std::pair{40, 10}}) {
    const Frame frame{.columns = static_cast<std::size_t>(columns),
                      .rows = static_cast<std::size_t>(rows)};
    const std::string size = "_" + std::to_string(columns) + "x" + std::to_string(rows);
    expect_screen("overview" + size, screen_after("", {model, frame}));
    expect_screen("node" + size, screen_after("j\r", {model, frame}));
    expect_screen("name" + size, screen_after("\t\r", {model, frame}));
    expect_screen("help" + size, screen_after("?", {model, frame}));
  }
}

TEST(View, ASilentNodeSaysWhyAndAPausedScreenSaysSo) {
  const Model model = story();
  User user{model};
  user.press(" jj\r");
  expect_screen("silent_node_80x24", user.screen());
  user.press("\x1b");
  user.press("O");
  expect_screen("paused_by_locks_80x24", user.screen());
}

TEST(View, AWideScreenHasTheHistoryOfTheSortedColumn) {
  const Model model = story();
  expect_screen("overview_180x24", screen_after("R", {model, {.columns = 180, .rows = 24}}));
}

TEST(View, TheDocumentShowsTheScreenAsItIs) {
  const std::string page = text_of_file(in_sources("docs/how-to/top.md"));
  for (const char* name : {"overview_80x24", "name_80x24"}) {
    const std::string path =
        in_sources((std::string{"tests/cli/top/testdata/"} + name + ".txt").c_str());
    EXPECT_THAT(page, testing::HasSubstr("```text\n" + text_of_file(path) + "```\n")) << name;
  }
}

TEST(View, TheDocumentHasEveryColumn) {
  const std::string page = text_of_file(in_sources("docs/how-to/top.md"));
  for (const Column& each : node_columns()) {
    EXPECT_THAT(page,
                testing::HasSubstr("| " + std::string{each.heading} + " | " + std::string{each.id} +
                                   " | " + each.key + " |"));
  }
}

TEST(View, NothingIsWiderOrHigherThanTheScreen) {
  const Model model = story_with_a_lock();
  for (std::size_t columns = 1; columns < 200; columns += 7) {
    for (std::size_t rows = 1; rows < 50; rows += 3) {
      const Frame frame{.columns = columns, .rows = rows, .ascii = columns % 2 == 0};
      for (const char* keys : {"", "\r", "\t\r", "?", "\tjj\r", "jj\r\x1b[6~", "R", "\tA"}) {
        const std::vector<Line> lines = screen_after(keys, {model, frame});
        EXPECT_LE(lines.size(), rows);
        for (const Line& each : lines) {
          EXPECT_LE(cells_of(each.text), columns) << keys << ": " << each.text;
        }
      }
    }
  }
}

TEST(View, TheSelectedRowIsAlwaysOnTheScreen) {
  const Model model = story_with_a_lock();
  for (const char* open : {"", "\r", "\t\r"}) {
    for (const std::size_t rows : {8u, 10u, 24u}) {
      const Frame frame{.columns = 80, .rows = rows};
      User user{model, frame};
      user.press(open);
      for (int step = 0; step < 60; ++step) {
        const std::vector<Line> lines = user.screen();
        EXPECT_EQ(std::ranges::count(lines, Style::Selected, &Line::style), 1) << open << step;
        user.press("j");
      }
    }
  }
}

// Nodes and names as a hostile cluster would have them.
Model hostile_story() {
  const std::string words = "\x1b]0;owned\a\u009b2J\u202e\nx\xff\u00db2J\u65e5\u0301";
  Model model;
  for (std::uint64_t sample = 0; sample < 4; ++sample) {
    NodeReading reading{.node = 1, .endpoint = words, .at_ms = sample * 1000 + 1};
    const std::string huge = std::to_string(sample) + "e308";
    reading.report = {{"leaders", huge}, {"locks", "-1e300"}, {"sessions", "1e19"}};
    std::string page;
    for (const char* metric : {"process_resident_memory_bytes",
                               "process_cpu_seconds_total",
                               "gcoord_server_requests_total",
                               "gcoord_server_turn_duration_seconds_sum",
                               "gcoord_server_turn_duration_seconds_count",
                               "gcoord_gpu_busy_ratio"}) {
      const std::string name = metric;
      page += name + "{a=\"1\"} 1.1e308\n" + name + "{a=\"2\"} 1.1e308\n";
    }
    page += "gcoord_netcore_peer_up -1e308\ngcoord_gpu_power_watts " +
            std::string(sample % 2 == 0 ? "-" : "") + "1e308\n";
    reading.page = MetricsPage::parse(page);
    reading.metrics_error = words;
    Sample all{.at_ms = sample * 1000 + 1, .nodes = {}, .names_error = words};
    all.nodes.push_back(std::move(reading));
    all.nodes.push_back({.node = 2, .endpoint = words, .error = words});
    all.names.hottest = {{.name = words, .grants = ~std::uint64_t{0}},
                         {.name = std::string(200, '\xff'), .grants = 1},
                         {.name = "", .waits = 1}};
    model.add(std::move(all));
  }
  return model;
}

TEST(View, NothingThatANodeSendsReachesTheTerminalAsItIs) {
  const Model model = hostile_story();
  for (const std::size_t columns : {1u, 2u, 3u, 7u, 20u, 40u, 80u, 200u, 1000u}) {
    for (const std::size_t rows : {1u, 2u, 8u, 16u, 40u}) {
      for (const char* keys : {"", "\r", "j\r", "\t\r", "\tj\r", "M", "L", "\r\x1b[6~"}) {
        const Frame frame{.columns = columns, .rows = rows};
        for (const Line& each : screen_after(keys, {model, frame})) {
          EXPECT_LE(cells_of(each.text), columns) << each.text;
          EXPECT_TRUE(is_printable(each.text)) << each.text;
        }
      }
    }
  }
}

TEST(View, ATerminalWithoutUtf8GetsNoByteOfIt) {
  for (const Model& model : {story_with_a_lock(), hostile_story()}) {
    for (const char* keys : {"", "\r", "\t\r", "\tj\r", "\tjj\r", "?"}) {
      const Frame frame{.columns = 120, .rows = 40, .ascii = true};
      for (const Line& each : screen_after(keys, {model, frame})) {
        EXPECT_LE(cells_of(each.text), 120u) << each.text;
        EXPECT_TRUE(std::ranges::all_of(each.text, [](char byte) {
          return byte >= 0x20 && byte < 0x7f;
        })) << each.text;
      }
    }
  }
}

TEST(View, OfAVeryLongQueueThePageHasTheBeginning) {
  Model model = story();
  client::LockDescription lock{.name = "jobs/train", .waiter_count = 50'000};
  lock.waiters.assign(50'000, {281'474'976'710'658, 1, std::chrono::seconds{3}});
  model.learn(LockReading{.name = "jobs/train", .error = {}, .lock = lock});
  User user{model};
  user.press("\t\r");
  const PageText page = page_text(model, user.navigation, user.frame);
  EXPECT_LT(page.body.size(), 2000u);
  EXPECT_TRUE(std::ranges::any_of(
      page.body, [](const BodyRow& each) { return each.line.text == "and 49000 more"; }));
}

TEST(View, AClusterOfWhichNothingIsKnownIsAScreenToo) {
  Model model;
  EXPECT_THAT(seen(screen_after("", {model})), testing::HasSubstr("0 of 0 nodes answer"));
  EXPECT_FALSE(screen_after("j\rk\x1b?", {model}).empty());
  model.add({.at_ms = 5, .names_error = "no majority\x1b[2J"});
  EXPECT_THAT(seen(screen_after("", {model})),
              testing::HasSubstr("changes are not told: no majority\\u{1b}[2J"));
}

TEST(Paint, WithoutColorsThereAreNone) {
  const std::vector<Line> lines = {{"a"},
                                   {"b", Style::Heading},
                                   {"c", Style::Alarm},
                                   {"d", Style::Selected},
                                   {"e", Style::Faint}};
  for (const std::string& each : painted(lines, Paint::Attributes)) {
    EXPECT_THAT(each, testing::Not(testing::ContainsRegex("\x1b\\[[0-9;]*3[0-9]m")));
  }
  EXPECT_EQ(painted(lines, Paint::Attributes)[3], "\x1b[7md\x1b[0m");
  EXPECT_EQ(painted(lines, Paint::Colors)[2], "\x1b[1;31mc\x1b[0m");
  EXPECT_EQ(painted(lines, Paint::Colors)[0], "a");
}

TEST(Figures, AreShort) {
  EXPECT_EQ(figure(std::nullopt, Unit::Count), "-");
  EXPECT_EQ(figure(65'536, Unit::Count), "65536");
  EXPECT_EQ(figure(1'234'567, Unit::Count), "1.23M");
  EXPECT_EQ(figure(0.25, Unit::PerSecond), "0.2");
  EXPECT_EQ(figure(123'456.7, Unit::PerSecond), "123457");
  EXPECT_EQ(figure(25e-6, Unit::Seconds), "25 us");
  EXPECT_EQ(figure(1.5e-3, Unit::Seconds), "1.50 ms");
  EXPECT_EQ(figure(12, Unit::Seconds), "12.0 s");
  EXPECT_EQ(figure(1023, Unit::Bytes), "1023 B");
  EXPECT_EQ(figure(1.5 * 1024 * 1024, Unit::BytesPerSecond), "1.50 MiB");
  EXPECT_EQ(figure(0.256, Unit::Ratio), "26 %");
  EXPECT_LE(figure(1e300, Unit::Count).size(), 16u);
  EXPECT_LE(figure(1e300, Unit::Bytes).size(), 16u);
  EXPECT_LE(figure(1e300, Unit::Seconds).size(), 16u);
}

TEST(Figures, AHistoryIsDrawnFromZeroToItsHighest) {
  History history;
  for (const double each : {0.0, 7.0, 14.0}) {
    history.add(each);
  }
  history.add(std::nullopt);
  EXPECT_EQ(sparkline(history, 60, false).substr(56), "\u2581\u2585\u2588 ");
  EXPECT_EQ(sparkline(history, 60, true).substr(56), "_=# ");
  EXPECT_EQ(cells_of(sparkline(history, 60, false)), 60u);
}

TEST(Figures, InFewCellsEachStandsForSeveralSamples) {
  History history;
  for (int k = 0; k < 60; ++k) {
    history.add(k == 0 ? 8 : 0);
  }
  EXPECT_EQ(sparkline(history, 30, true), "#" + std::string(29, '_'));
  EXPECT_EQ(sparkline(history, 3, true), "#__");
  EXPECT_EQ(sparkline(history, 0, true), "");
}

TEST(Report, EveryNumberIsThereByItsId) {
  const Json json = sample_json(story(), {});
  EXPECT_EQ(json["nodes"].size(), 3u);
  EXPECT_EQ(json["nodes"][0]["leaders"].dump(), "22");
  EXPECT_EQ(json["nodes"][0]["numbers"]["memory"].dump(), "157286400.0");
  EXPECT_EQ(json["nodes"][2]["reachable"].dump(), "false");
  EXPECT_EQ(json["nodes"][2]["leaders"].dump(), "null");
  EXPECT_EQ(json["nodes"][2]["silent_ms"].dump(), "10000");
  EXPECT_EQ(json["nodes"][2]["numbers"].size(), 0u);
  EXPECT_EQ(json["hottest"][0]["name"].text(), "jobs/train");
  EXPECT_EQ(json["grants_per_s"].dump(), "450.0");
}

}  // namespace
}  // namespace gcoord::cli::top
