// What the log says of requests and connections that a port refuses.
#include "server/http/port_lines.h"

#include "server/http/server.h"
#include "server/log_levels/present.h"
#include "tests/server/http/raw_http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HttpPortLinesTest : public testing::Test {
 protected:
  HttpPortLinesTest() {
    const auto logger = std::make_shared<spdlog::logger>(
        "node", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l %n: %v");
    spdlog::set_default_logger(logger);
    set_log_levels(LogLevels::all(LogLevel::Plain));
    newcomer_.sin_family = AF_INET;
    newcomer_.sin_port = htons(4711);
    ::inet_pton(AF_INET, "10.0.0.9", &newcomer_.sin_addr);
  }

  ~HttpPortLinesTest() override {
    spdlog::set_default_logger(logger_before_);
    set_log_levels(levels_before_);
  }

  const sockaddr* newcomer() const { return reinterpret_cast<const sockaddr*>(&newcomer_); }

  void open(HttpServerLimits limits) {
    auto opened = HttpServer::open(
        {.port_name = "test", .option = "listen", .listen = {"127.0.0.1", 0}, .limits = limits},
        [](const HttpRequest&) { return not_found(); },
        metrics_);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    server_ = std::move(opened).value();
  }

  std::ptrdiff_t line_count() const {
    const std::string text = text_.str();
    return std::count(text.begin(), text.end(), '\n');
  }

  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
  const LogLevels levels_before_ = log_levels();
  std::ostringstream text_;
  sockaddr_in newcomer_{};
  MetricsRegistry metrics_;
  std::unique_ptr<HttpServer> server_;
  HttpPortLines lines_{"metrics"};
};

TEST_F(HttpPortLinesTest, ARefusedRequestIsNamedWithItsClientAndStatus) {
  lines_.on_refused({.line = "GET /x\" of 10.0.0.1", .from = newcomer(), .status = 404});
  EXPECT_EQ(text_.str(),
            "info http: port metrics: \"GET /x\\\" of 10.0.0.1\" of 10.0.0.9:4711 is refused with "
            "404\n");
}

TEST_F(HttpPortLinesTest, ALongRequestIsCut) {
  lines_.on_refused({.line = "GET /" + std::string(5000, 'x'), .from = newcomer(), .status = 404});
  EXPECT_LT(text_.str().size(), 300u);
  EXPECT_THAT(text_.str(), HasSubstr("xxx\"... of 10.0.0.9:4711"));
}

TEST_F(HttpPortLinesTest, LinesOfEachKindAreBounded) {
  for (int i = 0; i < 1000; ++i) {
    lines_.on_refused({.line = "GET /x", .from = newcomer(), .status = 404});
  }
  EXPECT_LE(line_count(), LogRateLimit::kAtOnce + 1);  // A pause may have ended meanwhile.
  lines_.on_crowded(newcomer(), false, 136);
  lines_.on_slow(3);
  lines_.on_slow(0);
  EXPECT_THAT(text_.str(),
              AllOf(HasSubstr("warning http: port metrics: 136 connections are open, too many in "
                              "all or of one address: there is no place for 10.0.0.9:4711\n"),
                    HasSubstr("info http: port metrics: closes 3 connections that took too long")));
}

TEST_F(HttpPortLinesTest, WithoutTheLevelThereAreNone) {
  set_log_levels(LogLevels::all(LogLevel::Error));
  lines_.on_refused({.line = "GET /x", .from = newcomer(), .status = 404});
  lines_.on_crowded(newcomer(), true, 256);
  lines_.on_slow(1);
  EXPECT_EQ(text_.str(), "");
}

TEST_F(HttpPortLinesTest, AddressesOfEveryFamilyHaveAText) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(80);
  ::inet_pton(AF_INET6, "2001:db8::1", &address.sin6_addr);
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr*>(&address)), "[2001:db8::1]:80");
  EXPECT_EQ(address_text(nullptr), "an unknown address");
}

TEST_F(HttpPortLinesTest, APortWritesThem) {
  open({.connections = 2, .connections_per_source = 2});
  http_answer(server_->port(), "DELETE /a");
  http_answer(server_->port(), "GET /b?seconds=5");
  std::vector<RawHttp> halves;
  for (int i = 0; i < 4; ++i) {
    halves.emplace_back(server_->port());
    halves.back().send(kHalfRequest);
  }
  http_answer(server_->port(), "GET /c");
  server_.reset();
  EXPECT_THAT(text_.str(),
              AllOf(HasSubstr("port test: \"DELETE /a\" of 127.0.0.1:"),
                    HasSubstr(" is refused with 405\n"),
                    HasSubstr("port test: \"GET /b\" of 127.0.0.1:"),
                    HasSubstr(" is refused with 404\n"),
                    HasSubstr("the one that waited longest is closed for 127.0.0.1:")));
}

}  // namespace
}  // namespace gcoord::server
