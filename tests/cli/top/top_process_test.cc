// gcoordctl top in a pseudo terminal and through a pipe, with three real nodes.
#include "cli/top/scraper.h"
#include "common/http/client.h"
#include "tests/cli/process_cluster.h"
#include "tests/cli/top/top_terminal.h"

#include <gmock/gmock.h>

#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {
namespace {

class TopTest : public ProcessCluster {
 protected:
  TopTest() : ProcessCluster(16) {}

  void SetUp() override {
    ProcessCluster::SetUp();
    load_ = std::jthread([this](const std::stop_token& stop) {
      client::Client client = connect(7);
      client::Session session = open(client);
      while (!stop.stop_requested()) {
        auto lock = session.acquire("jobs/train");
        EXPECT_TRUE(lock.ok()) << lock.status().to_string();
        if (!lock.ok() || !lock.value().release().ok()) {
          return;
        }
      }
    });
  }

  void TearDown() override {
    load_.request_stop();
    load_.join();
  }

  std::vector<std::string> top(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"top", "--interval", "200ms"};
    words.insert(words.end(), more.begin(), more.end());
    return ctl().with_endpoints(words);
  }

  std::jthread load_;  // Takes one lock and gives it back, again and again.
};

TEST_F(TopTest, KeysLeadThroughAllPagesAndTheTerminalIsGivenBack) {
  TopTerminal terminal(top({}), {.ws_row = 70, .ws_col = 100});
  ASSERT_TRUE(terminal.shows("3 of 3 nodes answer"));
  ASSERT_TRUE(terminal.shows("jobs/train"));
  EXPECT_FALSE(terminal.cooked());
  terminal.type("R");
  ASSERT_TRUE(terminal.shows("REQUESTS/S\u2193"));
  terminal.type("r");
  ASSERT_TRUE(terminal.shows("REQUESTS/S\u2191"));

  terminal.type("N\x1b[A\x1b[A\x1b[A\x1b[B\r");  // By id again; to the first; down; open.
  ASSERT_TRUE(terminal.shows("node 2 at "));
  ASSERT_TRUE(terminal.shows("turns with work")) << "of its page of metrics";
  terminal.type("\x1b");
  ASSERT_TRUE(terminal.shows("3 of 3 nodes answer"));

  terminal.type("\t\r");
  ASSERT_TRUE(terminal.shows("lock jobs/train"));
  ASSERT_TRUE(terminal.shows("granted"));
  ASSERT_TRUE(terminal.shows("led by node"));
  terminal.type("\x7f?");
  ASSERT_TRUE(terminal.shows("Any key leaves this page."));
  terminal.type("x+");
  ASSERT_TRUE(terminal.shows("every 0.5 s"));
  terminal.type(" ");
  ASSERT_TRUE(terminal.shows("PAUSED"));
  terminal.type(" -");
  ASSERT_TRUE(terminal.shows("every 0.2 s"));

  terminal.resize({.ws_row = 10, .ws_col = 40});
  ASSERT_TRUE(terminal.fits(40, 10));
  terminal.type("\x1a");  // Ctrl-Z.
  ASSERT_TRUE(WIFSTOPPED(terminal.wait_for_change()));
  EXPECT_TRUE(terminal.cooked());
  ASSERT_TRUE(terminal.takes_the_screen(false));
  terminal.foreground();
  ASSERT_TRUE(terminal.takes_the_screen(true));
  EXPECT_FALSE(terminal.cooked());
  terminal.resize({.ws_row = 30, .ws_col = 100});
  ASSERT_TRUE(terminal.shows("ENDPOINT"));

  terminal.type("q");
  const int status = terminal.wait_for_change();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(terminal.cooked());
  EXPECT_TRUE(terminal.takes_the_screen(false));
}

TEST_F(TopTest, ANodeThatHangsOrDiesStaysAsARowAndNobodyWaitsForIt) {
  // With such a time limit a question to the node that hangs would never end.
  TopTerminal terminal(top({"--timeout", "1h"}), {.ws_row = 30, .ws_col = 100});
  ASSERT_TRUE(terminal.shows("3 of 3 nodes answer"));
  cluster_->signal(3, SIGSTOP);
  ASSERT_TRUE(terminal.shows("2 of 3 nodes answer"));
  ASSERT_TRUE(terminal.shows("node 3: no answer for "));
  ASSERT_TRUE(terminal.shows("silent "));
  terminal.signal(SIGTERM);
  const int status = terminal.wait_for_change();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(terminal.cooked());
  EXPECT_TRUE(terminal.takes_the_screen(false));

  TopTerminal later(top({}), {.ws_row = 30, .ws_col = 100});
  ASSERT_TRUE(later.shows("2 of 3 nodes answer"));
  cluster_->signal(3, SIGCONT);
  ASSERT_TRUE(later.shows("3 of 3 nodes answer"));
  cluster_->kill(3);
  ASSERT_TRUE(later.shows("2 of 3 nodes answer"));
  later.type("q");
  EXPECT_TRUE(WIFEXITED(later.wait_for_change()));
}

TEST_F(TopTest, AFatalSignalGivesTheTerminalBackToo) {
  TopTerminal terminal(top({}), {.ws_row = 24, .ws_col = 80});
  ASSERT_TRUE(terminal.shows("3 of 3 nodes answer"));
  terminal.signal(SIGABRT);
  const int status = terminal.wait_for_change();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  EXPECT_TRUE(terminal.cooked());
  EXPECT_TRUE(terminal.takes_the_screen(false));
}

TEST_F(TopTest, ThroughAPipeOneSampleFollowsTheOther) {
  const Finished plain =
      ctl()({"top", "--interval", "200ms", "--count", "2", "--sort", "requests", "--reverse"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  const std::size_t first = plain.out.find("3 of 3 nodes answer");
  ASSERT_NE(first, std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("3 of 3 nodes answer", first + 1), std::string::npos);
  EXPECT_THAT(plain.out, testing::HasSubstr("jobs/train"));
  EXPECT_THAT(plain.out, testing::Not(testing::HasSubstr("\x1b")));

  const Finished json = ctl()({"-o", "json", "top", "--interval", "200ms", "--count", "2"});
  EXPECT_EQ(json.code, 0) << json.err;
  std::istringstream lines(json.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto sample = nlohmann::json::parse(line);
    ASSERT_EQ(sample["nodes"].size(), 3u) << line;
    for (const auto& node : sample["nodes"]) {
      EXPECT_EQ(node["metrics_error"], "") << line;
      EXPECT_GT(node["numbers"]["memory"], 0) << line;
      EXPECT_TRUE(node["numbers"].contains("cpu")) << line;
    }
    EXPECT_GT(sample["grants_per_s"], 0) << line;
  }
  EXPECT_EQ(count, 2);
}

TEST(TopLoad, ARoundIsOneStatusRequestAndOneScrapeOfEachNode) {
  const DevNode node{{"--listen-metrics", "127.0.0.1:0"}};
  const Finished shown = node.ctl()({"top", "--interval", "100ms", "--count", "4"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  const auto origin = top::metrics_origin(node.metrics(), node.endpoint());
  ASSERT_TRUE(origin.ok());
  HttpClient http{origin.value()};
  const auto page = http.get("/metrics", {.timeout = kPatience, .body_bytes_max = 1 << 20});
  ASSERT_TRUE(page.ok()) << page.status().to_string();
  const auto metrics = top::MetricsPage::parse(page.value().body);
  // Five rounds: the first sample is what the second is compared with.
  const double status_requests = metrics.sum("gcoord_server_dear_requests_total").value_or(0);
  EXPECT_GE(status_requests, 1);
  EXPECT_LE(status_requests, 5);
  const double scrapes = metrics.sum("gcoord_http_requests_total").value_or(0);
  EXPECT_GE(scrapes, 1);
  EXPECT_LE(scrapes, 5 + 1) << "and our own";
}

TEST(TopOptions, WhatMakesNoSenseIsRefused) {
  const Ctl ctl{"127.0.0.1:1"};
  EXPECT_EQ(ctl.json({"top", "--count", "0"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl.json({"top", "--sort", "colour"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl.json({"top", "--interval", "10ms"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl.json({"top", "--once", "--count", "3"}, 2)["error"]["code"], "GC1001");
}

}  // namespace
}  // namespace gcoord::cli
