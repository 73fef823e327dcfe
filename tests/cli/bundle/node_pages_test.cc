// Pages of nodes that are well, that are older, that are silent, and that want to be expensive.
#include "cli/bundle/node_pages.h"

#include "cli/bundle/manifest.h"
#include "common/host/metrics.h"
#include "common/json/text.h"
#include "server/debug/pages.h"
#include "server/http/server.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using server::HttpAnswer;
using server::HttpRequest;
using testing::ElementsAre;
using testing::HasSubstr;

// A node's pages as a test wants them.
class FakeNode {
 public:
  explicit FakeNode(server::HttpHandler handler) {
    auto opened = server::HttpServer::open(
        {.port_name = "test", .option = "listen-test", .listen = {"127.0.0.1", 0}, .limits = {}},
        std::move(handler),
        metrics_);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    server_ = std::move(opened).value();
  }

  HttpAddress address() const {
    return {.host = "127.0.0.1", .port = std::to_string(server_->port()), .prefix = ""};
  }

 private:
  MetricsRegistry metrics_;
  std::unique_ptr<server::HttpServer> server_;
};

constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;

struct Reading {
  explicit Reading(const HttpAddress& address) { reading.address = address; }

  BundleContent read() {
    reading.folder = "node-1";
    reading.node = 1;
    reading.deadline = &deadline;
    reading.budget = &budget;
    return read_pages(reading);
  }

  PageReading reading;
  Deadline deadline{std::chrono::minutes{1}};
  ByteBudget budget{kMuch};
};

std::vector<std::string> names_of(const BundleContent& content) {
  std::vector<std::string> names;
  for (const BundleFile& file : content.files) {
    names.push_back(file.name.substr(file.name.find('/') + 1) + (file.cut ? " (cut)" : ""));
  }
  std::ranges::sort(names);
  return names;
}

// "log.txt: why", of each gap.
std::vector<std::string> gaps_of(const BundleContent& content) {
  std::vector<std::string> gaps;
  for (const BundleGap& gap : content.gaps) {
    gaps.push_back(gap.name.substr(gap.name.find('/') + 1) + ": " + gap.why);
  }
  return gaps;
}

HttpAnswer well(const HttpRequest& request) {
  const std::string* seconds = request.find("seconds");
  return {.body = request.path + (seconds == nullptr ? "" : " " + *seconds)};
}

TEST(NodePages, AllAreReadAndSamplesTakeTheTimeThatIsWanted) {
  FakeNode node(well);
  Reading reading(node.address());
  reading.reading.sample = std::chrono::seconds{3};
  const BundleContent content = reading.read();
  EXPECT_THAT(gaps_of(content), ElementsAre());
  EXPECT_THAT(names_of(content),
              ElementsAre("build.json",
                          "config.toml",
                          "cpu.pprof",
                          "livez.json",
                          "log.txt",
                          "metrics-1.txt",
                          "metrics-2.txt",
                          "readyz.json",
                          "threads.json"));
  EXPECT_EQ(content.files.back().content, "/debug/profile 3");
  EXPECT_THAT(content.files.back().source, HasSubstr("/debug/profile?seconds=3"));
}

TEST(NodePages, ShortTimesMakeShortSamples) {
  FakeNode node(well);
  Reading reading(node.address());
  reading.deadline = Deadline{std::chrono::seconds{10}};
  reading.reading.sample = std::chrono::seconds{30};
  EXPECT_THAT(reading.read().files.back().content,
              testing::AnyOf("/debug/profile 3", "/debug/profile 2", "/debug/profile 1"));
}

TEST(NodePages, ANodeThatIsNotWellAnswersForItsHealthAllTheSame) {
  FakeNode node([](const HttpRequest&) { return HttpAnswer{.status = 503, .body = "starting\n"}; });
  Reading reading(node.address());
  reading.deadline = Deadline{std::chrono::milliseconds{500}};  // It may be busy with a sample.
  reading.reading.busy_pause = std::chrono::milliseconds{10};
  const BundleContent content = reading.read();
  EXPECT_THAT(names_of(content), ElementsAre("livez.json", "readyz.json"));
  EXPECT_THAT(gaps_of(content), testing::Contains("log.txt: HTTP 503 starting"));
}

TEST(NodePages, AnOlderNodeHasNoneOfTheNewPages) {
  FakeNode node([](const HttpRequest& request) {
    return request.path.starts_with("/debug/") ? server::not_found() : well(request);
  });
  const BundleContent content = Reading(node.address()).read();
  EXPECT_EQ(names_of(content).size(), 4u);
  EXPECT_THAT(gaps_of(content),
              testing::Contains("config.toml: HTTP 404: its release has no such page"));
}

TEST(NodePages, AProfileThatIsNotAllowedIsNoFailure) {
  FakeNode node([](const HttpRequest& request) {
    return request.path == "/debug/profile" ? HttpAnswer{.status = 403, .body = "off\nmore"}
                                            : well(request);
  });
  const BundleContent content = Reading(node.address()).read();
  ASSERT_EQ(content.gaps.size(), 1u);
  EXPECT_EQ(content.gaps[0].why, "HTTP 403 off");
  EXPECT_FALSE(content.gaps[0].failed);
}

TEST(NodePages, NobodyThereIsAskedOnce) {
  HttpAddress address;
  { address = FakeNode(well).address(); }
  const BundleContent content = Reading(address).read();
  EXPECT_THAT(names_of(content), ElementsAre());
  ASSERT_EQ(content.gaps.size(), 9u);
  EXPECT_THAT(content.gaps[0].why, Not(HasSubstr("not tried")));
  for (std::size_t gap = 1; gap < content.gaps.size(); ++gap) {
    EXPECT_EQ(content.gaps[gap].why, "not tried: " + content.gaps[0].why);
  }
}

TEST(NodePages, NothingIsReadAfterTheDeadline) {
  FakeNode node(well);
  Reading reading(node.address());
  reading.deadline = Deadline{std::chrono::milliseconds{0}};
  const BundleContent content = reading.read();
  EXPECT_THAT(names_of(content), ElementsAre());
  EXPECT_THAT(gaps_of(content), testing::Each(HasSubstr("the time is over (--timeout)")));
}

TEST(NodePages, APageThatIsTooLongIsCutAndSaidSo) {
  FakeNode node([](const HttpRequest& request) {
    return request.path == "/metrics" ? HttpAnswer{.body = std::string((4 << 20) + 1, 'x')}
                                      : well(request);
  });
  const BundleContent content = Reading(node.address()).read();
  EXPECT_THAT(names_of(content), testing::Contains("metrics-1.txt (cut)"));
  for (const BundleFile& file : content.files) {
    EXPECT_LE(file.content.size(), std::size_t{4} << 20);
  }
}

TEST(NodePages, AllOfThemTogetherHaveASize) {
  FakeNode node([](const HttpRequest&) { return HttpAnswer{.body = std::string(1000, 'x')}; });
  Reading reading(node.address());
  ByteBudget small{3500};
  reading.deadline = Deadline{std::chrono::minutes{1}};
  reading.reading.folder = "node-1";
  reading.reading.deadline = &reading.deadline;
  reading.reading.budget = &small;
  const BundleContent content = read_pages(reading.reading);
  EXPECT_EQ(content.files.size(), 3u);
  EXPECT_THAT(gaps_of(content), testing::Each(HasSubstr("as large as it may be")));
}

// Somebody else sampled, and the page was a gap.
TEST(NodePages, ANodeThatSamplesForSomebodyElseIsAskedAgain) {
  std::atomic<int> refused{0};
  FakeNode node([&](const HttpRequest& request) {
    const bool busy = request.has("seconds") && refused.fetch_add(1) % 3 != 2;
    return busy ? HttpAnswer{.status = 503, .body = "one at a time\n"} : well(request);
  });
  Reading reading(node.address());
  reading.reading.busy_pause = std::chrono::milliseconds{0};
  const BundleContent content = reading.read();
  EXPECT_THAT(gaps_of(content), ElementsAre());
  EXPECT_EQ(refused, 6);
}

TEST(NodePages, OneThatNeverStopsSamplingIsAGapInTime) {
  FakeNode node([](const HttpRequest& request) {
    return request.has("seconds") ? HttpAnswer{.status = 503, .body = "busy\n"} : well(request);
  });
  Reading reading(node.address());
  reading.reading.busy_pause = std::chrono::milliseconds{10};
  reading.deadline = Deadline{std::chrono::milliseconds{500}};
  const BundleContent content = reading.read();
  EXPECT_THAT(gaps_of(content), testing::Contains("threads.json: HTTP 503 busy"));
}

TEST(NodePages, ThePagesOfAnotherNodeAreNotTakenForThoseThatWereMeant) {
  FakeNode node([](const HttpRequest& request) {
    return request.path == "/debug/build" ? HttpAnswer{.body = R"({"node":4,"cluster_id":"77"})"}
                                          : well(request);
  });
  Reading reading(node.address());
  reading.reading.expected = {.cluster = 77, .node = 4};
  EXPECT_THAT(gaps_of(reading.read()), ElementsAre());
  reading.reading.expected = {.cluster = 77, .node = 3};
  const BundleContent content = reading.read();
  EXPECT_THAT(names_of(content), ElementsAre());
  EXPECT_EQ(gaps_of(content)[0],
            "build.json: these are the pages of node 4 of cluster 77, not of node 3 of cluster 77; "
            "give --metrics");
  EXPECT_THAT(gaps_of(content)[1], HasSubstr("livez.json: not tried: these are"));
}

TEST(NodePages, ANodeSaysWhichOneItIs) {
  FakeNode node([](const HttpRequest& request) {
    return request.path == "/debug/build" ? HttpAnswer{.body = R"({"node":3,"cluster_id":"7"})"}
                                          : server::not_found();
  });
  const auto identity = identity_at(node.address(), std::chrono::minutes{1});
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->node, 3u);
  FakeNode older([](const HttpRequest&) { return server::not_found(); });
  EXPECT_FALSE(identity_at(older.address(), std::chrono::minutes{1}).has_value());
}

// Each name was a node: two samplers, of which the node refused one.
TEST(BundleCollection, TwoNamesOfOneNodeAreReadOnce) {
  server::DebugPages debug(
      {.node = NodeId{3},
       .cluster = ClusterId{77},
       .incarnation = Incarnation{2},
       .texts = {.configuration = [] { return ""; }, .recent_log = [] { return ""; }}});
  std::atomic<int> samples{0};
  FakeNode node([&](const HttpRequest& request) {
    samples += request.path == "/debug/threads" ? 1 : 0;
    return request.path.starts_with("/debug/") ? debug.answer(request) : well(request);
  });
  // Nobody listens at the client ports, so that only the pages can tell.
  const std::string port = std::to_string(std::stoul(node.address().port) - 200);
  CollectionRequest request;
  request.client_error = "nobody is there";
  request.endpoints = {"127.0.0.1:" + port, "localhost:" + port};
  request.metrics = {node.address()};
  request.sample = std::chrono::seconds{1};
  const Collection found = collect(request);
  ASSERT_EQ(found.nodes.size(), 1u);
  EXPECT_EQ(found.nodes[0].folder, "node-3");
  EXPECT_EQ(samples, 1);
  const Json manifest = manifest_of(found);
  const Json& told = manifest["nodes"][std::size_t{0}];
  EXPECT_EQ(told.value("endpoint", std::string{}), "127.0.0.1:" + port);
  EXPECT_EQ(told["also_at"].dump(), R"(["localhost:)" + port + R"("])");
}

TEST(BundleManifest, SaysWhatIsThereAndWhatIsMissing) {
  Collection collection;
  collection.begun_ms = 1'790'000'000'000;
  CollectedNode node{.target = {.view = {}, .http = {}}, .folder = "node-1", .url = "http://h:1"};
  node.target.view.node_id = 1;
  node.facts = {.node = 1, .report = parse_json(R"({"version":"9","wall_ms":"1030"})")};
  node.facts.asked_ms = 1000;
  node.facts.answered_ms = 1020;
  collection.nodes.push_back(node);
  collection.content.files.push_back({.name = "node-1/log.txt", .content = "abc"});
  EXPECT_TRUE(collection.complete());
  collection.content.gaps.push_back({.name = "x", .why = "off", .failed = false});
  EXPECT_TRUE(collection.complete());
  collection.content.gaps.push_back({.name = "y", .node = 1, .why = "gone"});
  EXPECT_FALSE(collection.complete());
  const auto files = archived_files(collection);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "gcoord-debug/manifest.json");
  EXPECT_EQ(files[1].name, "gcoord-debug/node-1/log.txt");
  const Json manifest = parse_json(files[0].content);
  EXPECT_EQ(manifest["nodes"][std::size_t{0}]["clock"].dump(), R"({"ahead_ms":20,"error_ms":11})");
  EXPECT_EQ(manifest["nodes"][std::size_t{0}].value("version", std::string{}), "9");
  const Json& file = manifest["files"][std::size_t{0}];
  EXPECT_EQ(file.value("bytes", std::string{}), "3");
  EXPECT_EQ(file.value("sha256", std::string{}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(manifest["gaps"].size(), 2u);
  EXPECT_FALSE(manifest.value("complete", true));
}

}  // namespace
}  // namespace gcoord::cli
