// Figures of a run's cost at the nodes, of reports that are written here.
#include "cli/bench/node_cost.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::cli {
namespace {

const std::string kReport = R"({"node": 1, "client_io": {
  "calls": {"wait": "5", "loop": "40", "receive": "10", "send": "10", "wake": "5"},
  "copied_bytes": {"receive": "1000", "decrypt": "0", "frame": "1000", "slot": "640", "reply": "700",
                   "assemble": "760", "join": "0", "encrypt": "0", "send": "760"},
  "processor_us": "2000", "requests": "100", "replies": "50", "frames_in": "10", "frames_out": "5"}})";

TEST(NodeCostTest, FiguresAreByRequestFrameAndPair) {
  const Json cost = cost_json(counts_of(kReport), 50);
  EXPECT_EQ(cost["requests"].text(), "100");
  EXPECT_EQ(cost["requests_per_frame"].dump(), "10.0");
  EXPECT_EQ(cost["replies_per_frame"].dump(), "10.0");
  EXPECT_EQ(cost["socket_calls_per_request"].dump(), "0.3");
  EXPECT_EQ(cost["loop_waits_per_request"].dump(), "0.4");
  EXPECT_EQ(cost["bytes_copied_per_request"].dump(), "26.4");
  EXPECT_EQ(cost["bytes_copied_per_reply"].dump(), "44.4");
  EXPECT_EQ(cost["copies_in"].dump(), "2.64");
  EXPECT_EQ(cost["copies_out"].dump(), "2.921");
  EXPECT_EQ(cost["processor_us_per_pair"].dump(), "40.0");
  EXPECT_EQ(cost_sentence(cost),
            "At the nodes: 10.0 requests in a frame; for each request 0.3 system calls of sockets "
            "and 26.4 bytes copied; 40.0 us of processor time for each operation.");
}

TEST(NodeCostTest, NothingIsSaidOfWhatWasNotCounted) {
  EXPECT_TRUE(counts_of("no report").empty());
  EXPECT_TRUE(counts_of(R"({"node": 1})").empty());
  const NodeCounts odd =
      counts_of(R"({"client_io": {"requests": "7x", "replies": 3, "calls": {}}})");
  EXPECT_TRUE(odd.empty());
  const Json cost = cost_json({{"requests", 0}}, 0);
  EXPECT_TRUE(cost["socket_calls_per_request"].is_null());
  EXPECT_TRUE(cost["processor_us_per_pair"].is_null());
}

}  // namespace
}  // namespace gcoord::cli
