// The operators' port of a node beside a GPU whose driver hangs.
#include "server/node/http_endpoints.h"

#include "tests/scratch_folder.h"
#include "tests/server/http/raw_http.h"

#include <gmock/gmock.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpEndpointsTest : public testing::Test {
 protected:
  HttpEndpointsTest() {
    auto opened = NodeLedger::open({.cluster = ClusterId{7},
                                    .node = NodeId{1},
                                    .nodes = {NodeId{1}},
                                    .shard_count = 4,
                                    .data_directory = folder_.path().string(),
                                    .silent_for = kWitnessPublishesNothing},
                                   metrics_);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    ledger_ = std::move(opened).value();
    options_.listen_metrics = {"127.0.0.1", 0};
  }

  void open(GpuSource gpus) {
    sampler_ = gpus ? std::make_unique<GpuSampler>(std::move(gpus)) : nullptr;
    endpoints_.emplace(ProcessTexts{}, metrics_);
    const Status opened = endpoints_->open(options_, {health_, *ledger_, metrics_, sampler_.get()});
    ASSERT_TRUE(opened.ok()) << opened.to_string();
  }

  std::string get(const std::string& page) const {
    return http_answer(endpoints_->metrics_port(), "GET " + page);
  }

  const ScratchFolder folder_;
  MetricsRegistry metrics_;
  std::unique_ptr<NodeLedger> ledger_;
  NodeHealth health_;
  NodeOptions options_;
  std::unique_ptr<GpuSampler> sampler_;
  std::optional<HttpEndpoints> endpoints_;
};

// It took every thread of the port: no scrape, no health, and no end of the node.
TEST_F(HttpEndpointsTest, ADriverThatHangsDelaysNeitherAPageNorTheEndOfTheNode) {
  std::promise<void> called;
  auto go_on = std::make_shared<std::promise<void>>();
  // The thread that is left alone keeps what it waits for.
  open([&called, wait = go_on->get_future().share()]() -> Result<std::vector<GpuReading>> {
    called.set_value();
    wait.wait();
    return std::vector<GpuReading>{};
  });
  called.get_future().wait();
  const std::uint16_t port = endpoints_->metrics_port();
  std::vector<RawHttp> scrapes;
  for (std::uint32_t i = 0; i < 2 * HttpServerLimits{}.threads; ++i) {
    scrapes.emplace_back(port);
    scrapes.back().send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  EXPECT_THAT(get("/livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/readyz"), HasSubstr("\r\n\r\nstarting\n"));
  for (RawHttp& scrape : scrapes) {
    EXPECT_THAT(scrape.read_to_end(), StartsWith("HTTP/1.1 200"));
  }
  endpoints_.reset();
  sampler_.reset();
  go_on->set_value();
}

TEST_F(HttpEndpointsTest, AScrapeShowsTheNewestSampleWithItsAge) {
  std::promise<void> called;
  open([&called, first = true]() mutable -> Result<std::vector<GpuReading>> {
    if (std::exchange(first, false)) {
      called.set_value();
    }
    return std::vector<GpuReading>{{.uuid = "GPU-a", .facts = {.power_mw = 300'500}}};
  });
  called.get_future().wait();
  std::string page = get("/metrics");
  for (int i = 0; i < 10'000 && page.find("gcoord_gpu_") == std::string::npos; ++i) {
    page = get("/metrics");
  }
  EXPECT_THAT(page, HasSubstr("gcoord_gpu_power_watts{gpu=\"GPU-a\"} 300.5\n"));
  EXPECT_THAT(page, HasSubstr("\ngcoord_gpu_sample_age_seconds "));
  EXPECT_THAT(page, Not(HasSubstr("gcoord_gpu_energy")));
}

TEST_F(HttpEndpointsTest, ANodeWithoutAGpuShowsNone) {
  open({});
  EXPECT_THAT(get("/metrics"), Not(HasSubstr("gcoord_gpu_")));
}

}  // namespace
}  // namespace gcoord::server
