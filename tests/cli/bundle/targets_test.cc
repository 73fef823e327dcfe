// Where the pages of a node are, and which nodes there are.
#include "cli/bundle/targets.h"

#include "common/json/text.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string url(const std::string& endpoint, const std::string& report) {
  const auto address = http_address_of(endpoint, parse_json(report));
  return address.ok() ? url_of(address.value()) : address.status().message();
}

client::NodeView node(std::uint32_t id, const std::string& address) {
  client::NodeView view;
  view.node_id = id;
  view.address = address;
  return view;
}

// A report sends nobody to a host that its user has not named.
TEST(BundleTargets, ANodeTellsThePortOfItsPagesAndTheUserTheHost) {
  for (const char* host :
       {"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "10.9.0.1", "169.254.169.254"}) {
    EXPECT_EQ(url("node-1.example:7400", R"({"metrics":")" + std::string{host} + R"(:9000"})"),
              "http://node-1.example:9000")
        << host;
  }
}

TEST(BundleTargets, WithoutAWordTheyAre200AboveTheClientPort) {
  EXPECT_EQ(url("10.0.0.1:7400", "{}"), "http://10.0.0.1:7600");
  EXPECT_EQ(url("[::1]:7420", ""), "http://[::1]:7620");
  EXPECT_THAT(url("10.0.0.1:65400", "{}"), HasSubstr("give --metrics"));
}

TEST(BundleTargets, WhatIsNoAddressCountsAsNotTold) {
  for (const char* told : {"7", "[]", R"("nonsense")", R"("a b:1")", R"("h:0")", R"("h:70000")"}) {
    EXPECT_EQ(url("10.0.0.1:7400", R"({"metrics":)" + std::string{told} + "}"),
              "http://10.0.0.1:7600")
        << told;
  }
}

TEST(BundleTargets, PagesThatAreOffAreNotLookedFor) {
  EXPECT_THAT(url("10.0.0.1:7400", R"({"metrics":""})"), HasSubstr("--listen-metrics"));
}

TEST(BundleTargets, AUserGivesAnAddressOrAUrl) {
  const auto read = [](const std::string& text) {
    const auto address = parse_metrics_address(text);
    return address.ok() ? url_of(address.value()) : "no: " + address.status().message();
  };
  EXPECT_EQ(read("10.0.0.1:7600"), "http://10.0.0.1:7600");
  EXPECT_EQ(read("http://[::1]:7600"), "http://[::1]:7600");
  EXPECT_EQ(read("http://proxy:80/node-1/"), "http://proxy:80/node-1");
  EXPECT_EQ(read("https://h:1"), "https://h:1");
  for (const char* wrong : {"", "host", "https://h", "ftp://h:1", "http://h", "h:0", "h:x"}) {
    EXPECT_THAT(read(wrong), testing::StartsWith("no: ")) << wrong;
  }
}

BundleTarget told(BundleTarget target, const NodeIdentity& identity) {
  target.identity = identity;
  return target;
}

BundleTarget pages(const std::string& host) {
  return {.http = HttpAddress{.host = host, .port = "1", .prefix = ""}};
}

TEST(BundleTargets, NodesComeByTheirIdsAndTheUnknownLast) {
  std::vector<BundleTarget> targets =
      targets_of({node(0, "x:1"), node(3, "c:1"), node(1, "a:1"), node(0, "y:1")}, {"a:1"}, {});
  targets.push_back(told(pages("m"), {77, 3}));
  targets.push_back(told(pages("n"), {77, 9}));
  targets.push_back(pages("o"));
  targets = merge_names(std::move(targets), 77);
  EXPECT_THAT(folders_of(targets),
              ElementsAre("node-1", "node-3", "node-9", "address-1", "address-2", "address-3"));
  EXPECT_FALSE(targets[0].http.has_value());
  EXPECT_EQ(targets[1].http->host, "m");
  EXPECT_EQ(targets[1].view.address, "c:1");
  EXPECT_THAT(targets[1].also_at, ElementsAre());
}

TEST(BundleTargets, TwoNamesOfOneNodeAreOneTarget) {
  std::vector<BundleTarget> targets = targets_of({}, {"localhost:7400", "127.0.0.1:7400"}, {});
  for (BundleTarget& target : targets) {
    target.identity = NodeIdentity{77, 3, 5};
  }
  targets.push_back(told(pages("m"), {77, 3, 5}));
  targets.push_back(told(pages("n"), {77, 3}));
  targets = merge_names(std::move(targets), 0);
  EXPECT_THAT(folders_of(targets), ElementsAre("node-3"));
  EXPECT_EQ(targets[0].view.address, "localhost:7400");
  EXPECT_EQ(targets[0].http->host, "m");
  EXPECT_THAT(targets[0].also_at, ElementsAre("127.0.0.1:7400", "http://n:1"));
}

TEST(BundleTargets, AnotherLifeOrClusterIsAnotherNode) {
  std::vector<BundleTarget> targets = {told(pages("a"), {77, 3, 5}),
                                       told(pages("b"), {77, 3, 6}),
                                       told(pages("c"), {78, 3, 5}),
                                       told(pages("d"), {78, 3, 5})};
  targets = merge_names(std::move(targets), 0);
  EXPECT_THAT(folders_of(targets), ElementsAre("node-3", "address-1", "address-2"));
  EXPECT_THAT(targets[2].also_at, ElementsAre("http://d:1"));
  EXPECT_THAT(folders_of(merge_names({{.view = node(3, "x:1")}, told(pages("c"), {78, 3})}, 77)),
              ElementsAre("node-3", "address-1"));
}

TEST(BundleTargets, APageTellsClusterNodeAndIncarnationOrNothing) {
  const auto read = [](const std::string& page) {
    const auto identity = identity_of(page);
    return identity.has_value() ? name_of(*identity) + " " + std::to_string(identity->incarnation)
                                : "";
  };
  EXPECT_EQ(read(R"({"node":3,"cluster_id":"77","incarnation":2})"), "node 3 of cluster 77 2");
  EXPECT_EQ(read(R"({"node":3,"cluster_id":"18446744073709551615"})"),
            "node 3 of cluster 18446744073709551615 0");
  for (const char* page : {"",
                           "[]",
                           "{}",
                           R"({"node":3})",
                           R"({"node":-1,"cluster_id":"7"})",
                           R"({"node":4294967296,"cluster_id":"7"})",
                           R"({"node":[],"cluster_id":"7"})",
                           R"({"node":3,"cluster_id":"x"})"}) {
    EXPECT_EQ(read(page), "") << page;
  }
}

TEST(BundleTargets, WithoutAViewTheEndpointsOfTheUserAreLeft) {
  const auto targets = targets_of({}, {"a:1", "srv:_gcoord._tcp.example.org", "b:1"}, {});
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[1].view.address, "b:1");
}

}  // namespace
}  // namespace gcoord::cli
