#include "server/http/server.h"

#include "tests/server/http/raw_http.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <stop_token>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The value of a counter or gauge of port "test".
double value_of(const MetricsRegistry& metrics, const std::string& name) {
  double value = -1;
  const auto take = [&](const auto& row) {
    if (row.name.name == name) {
      value = static_cast<double>(row.metric.value());
    }
  };
  metrics.visit(take, take, [](const auto&) {});
  return value;
}

class HttpServerTest : public testing::Test {
 protected:
  void open(HttpServerLimits limits, HttpHandler handler = page, HttpAnswerAtOnce at_once = {}) {
    auto opened = HttpServer::open({.port_name = "test",
                                    .option = "listen-test",
                                    .listen = {"127.0.0.1", 0},
                                    .limits = limits,
                                    .at_once = std::move(at_once)},
                                   std::move(handler),
                                   metrics_);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    server_ = std::move(opened).value();
  }

  static HttpAnswer page(const HttpRequest& request) {
    return request.path == "/page" ? HttpAnswer{.body = "the page\n"} : not_found();
  }

  std::vector<RawHttp> half_requests(std::size_t count) {
    std::vector<RawHttp> clients;
    for (std::size_t i = 0; i < count; ++i) {
      clients.emplace_back(server_->port());
      clients.back().send(kHalfRequest);
    }
    return clients;
  }

  // Until the metric has the value; a minute only bounds a failure.
  void wait_for(const std::string& metric, double value) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (value_of(metrics_, metric) != value && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(value_of(metrics_, metric), value) << metric;
  }

  MetricsRegistry metrics_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, ArgumentsHaveTheirValues) {
  open({}, [](const HttpRequest& request) {
    const std::string* seconds = request.find("seconds");
    return HttpAnswer{.body = std::to_string(request.arguments.size()) +
                              (request.has("verbose") ? " verbose " : " ") +
                              (seconds == nullptr ? "nothing" : "[" + *seconds + "]")};
  });
  const auto answer = [this](const std::string& query) {
    const std::string whole = http_answer(server_->port(), "GET /page" + query);
    return whole.substr(whole.find("\r\n\r\n") + 4);
  };
  EXPECT_EQ(answer(""), "0 nothing");
  EXPECT_EQ(answer("?seconds=5&verbose"), "2 verbose [5]");
  EXPECT_EQ(answer("?seconds&seconds=5"), "2 []");
  EXPECT_EQ(answer("?second=5"), "1 nothing");
  EXPECT_EQ(answer("?seconds=%35"), "1 [%35]");  // Nothing is decoded.
}

TEST_F(HttpServerTest, ARequestSaysWhetherItsClientIsOnThisHost) {
  open({}, [](const HttpRequest& request) {
    return HttpAnswer{.body = request.loopback ? "near" : "far"};
  });
  EXPECT_THAT(http_answer(server_->port(), "GET /page"), HasSubstr("\r\n\r\nnear"));
}

TEST_F(HttpServerTest, PagesAreAnsweredAndNothingElse) {
  open({});
  const std::uint16_t port = server_->port();
  EXPECT_THAT(http_answer(port, "GET /page"),
              testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\n\r\nthe page\n")));
  EXPECT_THAT(http_answer(port, "HEAD /page"),
              testing::AllOf(HasSubstr("Content-Length: 9\r\n"), Not(HasSubstr("the page"))));
  EXPECT_THAT(http_answer(port, "GET /%70age"), StartsWith("HTTP/1.1 404"));  // Nothing is decoded.
  EXPECT_THAT(http_answer(port, "POST /page", "Content-Length: 0\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD")));
  EXPECT_THAT(http_answer(port, "GET /page", "Content-Length: 1000000\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(http_answer(port, "GET /page", "Transfer-Encoding: chunked\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(http_answer(port, "GET /page", "X: " + std::string(10'000, 'x') + "\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(http_answer(port, "GET /" + std::string(10'000, 'x')), StartsWith("HTTP/1.1 414"));
}

TEST_F(HttpServerTest, AConnectionCarriesManyRequests) {
  open({});
  RawHttp client(server_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string answer = client.read_until("the page\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(answer, Not(HasSubstr("close")));
  }
  EXPECT_EQ(value_of(metrics_, "gcoord_http_requests_total"), 3);
  EXPECT_EQ(value_of(metrics_, "gcoord_http_connections"), 1);
}

TEST_F(HttpServerTest, ArgumentsOfTheQueryAreNamed) {
  open({}, [](const HttpRequest& request) {
    return HttpAnswer{.body = request.path + (request.has("verbose") ? " verbose" : " short")};
  });
  EXPECT_THAT(http_answer(server_->port(), "GET /a?verbose"), HasSubstr("\r\n\r\n/a verbose"));
  EXPECT_THAT(http_answer(server_->port(), "GET /a?x=1&verbose=1"),
              HasSubstr("\r\n\r\n/a verbose"));
  EXPECT_THAT(http_answer(server_->port(), "GET /a?x=verbose"), HasSubstr("\r\n\r\n/a short"));
}

// Issue 23, A15: 64 of them stopped the ledger's port, and three the metrics.
TEST_F(HttpServerTest, HalfRequestsStopNobody) {
  open({});
  std::vector<RawHttp> halves = half_requests(100);
  EXPECT_THAT(http_answer(server_->port(), "GET /page"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(value_of(metrics_, "gcoord_http_crowded_connections_total"), 0);
  for (RawHttp& half : halves) {  // They were open all the time.
    ASSERT_TRUE(half.send(kOtherHalf));
    EXPECT_THAT(half.read_to_end(), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(HttpServerTest, AtTheLimitOfConnectionsHalfRequestsMakeRoom) {
  open({.connections = 4, .connections_per_source = 4});
  const std::vector<RawHttp> halves = half_requests(10);
  EXPECT_THAT(http_answer(server_->port(), "GET /page"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(value_of(metrics_, "gcoord_http_crowded_connections_total"), 7);
}

TEST_F(HttpServerTest, AByteNowAndThenExtendsNothing) {
  open({.header_time = milliseconds{200}});
  RawHttp client(server_->port());
  client.send(kHalfRequest);
  pollfd event{client.socket(), POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (::poll(&event, 1, 5) == 0 && std::chrono::steady_clock::now() < deadline) {
    client.send("x");
  }
  EXPECT_EQ(client.read_to_end(), "");
  wait_for("gcoord_http_slow_connections_total", 1);
  wait_for("gcoord_http_connections", 0);
}

TEST_F(HttpServerTest, WhoDoesNotReadItsAnswerIsCut) {
  constexpr std::size_t kBytes = 32 << 20;  // More than sockets hold.
  open({.request_time = milliseconds{200}},
       [](const HttpRequest&) { return HttpAnswer{.body = std::string(kBytes, 'x')}; });
  RawHttp client(server_->port());
  client.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
  wait_for("gcoord_http_slow_connections_total", 1);
  wait_for("gcoord_http_connections", 0);
  EXPECT_LT(client.read_to_end().size(), kBytes);
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosed) {
  open({.idle_time = milliseconds{50}});
  RawHttp client(server_->port());
  client.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), HasSubstr("the page\n"));
  EXPECT_EQ(value_of(metrics_, "gcoord_http_slow_connections_total"), 0);
}

TEST_F(HttpServerTest, AClientThatSendsNoMoreIsNotWaitedFor) {
  constexpr milliseconds kLong{3'600'000};
  open({.header_time = kLong, .idle_time = kLong});
  RawHttp whole(server_->port());
  whole.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
  RawHttp half(server_->port());
  half.send(kHalfRequest);
  EXPECT_THAT(whole.read_until("the page\n"), StartsWith("HTTP/1.1 200"));
  for (RawHttp* client : {&whole, &half}) {
    ::shutdown(client->socket(), SHUT_WR);
  }
  EXPECT_EQ(whole.read_to_end(), "");
  EXPECT_EQ(half.read_to_end(), "");
  wait_for("gcoord_http_connections", 0);
}

TEST_F(HttpServerTest, AHandlerThatWaitsHoldsUpNoOther) {
  std::latch begun(1);
  std::latch go_on(1);
  open({.threads = 2}, [&](const HttpRequest& request) {
    if (request.path == "/slow") {
      begun.count_down();
      go_on.wait();
    }
    return HttpAnswer{.body = request.path};
  });
  RawHttp slow(server_->port());
  slow.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  begun.wait();
  EXPECT_THAT(http_answer(server_->port(), "GET /fast"), HasSubstr("\r\n\r\n/fast"));
  go_on.count_down();
  EXPECT_THAT(slow.read_to_end(), HasSubstr("\r\n\r\n/slow"));
}

// Such a page worked for nobody until its time was over.
TEST_F(HttpServerTest, AHandlerHearsThatItsClientHasGone) {
  std::latch begun(1);
  std::promise<bool> heard;
  open({.threads = 1}, [&](const HttpRequest& request) {
    std::promise<void> gone;
    const std::stop_callback on_gone(request.gone, [&gone] { gone.set_value(); });
    begun.count_down();
    heard.set_value(gone.get_future().wait_for(std::chrono::minutes{1}) ==
                    std::future_status::ready);
    return HttpAnswer{};
  });
  {
    RawHttp client(server_->port());
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n");  // Not all of it is read.
    begun.wait();
  }
  EXPECT_TRUE(heard.get_future().get());
  wait_for("gcoord_http_connections", 0);
}

TEST_F(HttpServerTest, AHandlerKnowsAHeadAndMayRefuseIt) {
  open({}, [](const HttpRequest& request) {
    return request.head ? HttpAnswer{.status = 405, .body = "no"} : HttpAnswer{.body = "yes"};
  });
  EXPECT_THAT(http_answer(server_->port(), "HEAD /page"),
              testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET\r\n")));
  EXPECT_THAT(http_answer(server_->port(), "GET /page"), HasSubstr("\r\n\r\nyes"));
}

TEST_F(HttpServerTest, PagesAtOnceAreAnsweredWhileEveryHandlerWaits) {
  std::latch begun(1);
  std::latch go_on(1);
  open(
      {.threads = 1},
      [&](const HttpRequest&) {
        begun.count_down();
        go_on.wait();
        return HttpAnswer{.body = "handled"};
      },
      [](const HttpRequest& request) {
        return request.path == "/health"
                   ? std::optional{HttpAnswer{.body = request.has("verbose") ? "long" : "short"}}
                   : std::nullopt;
      });
  RawHttp slow(server_->port());
  slow.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  begun.wait();
  EXPECT_THAT(http_answer(server_->port(), "GET /health"), HasSubstr("\r\n\r\nshort"));
  EXPECT_THAT(http_answer(server_->port(), "GET /health?verbose"), HasSubstr("\r\n\r\nlong"));
  RawHttp client(server_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_THAT(client.read_until("short"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(value_of(metrics_, "gcoord_http_requests_total"), 6);
  go_on.count_down();
  EXPECT_THAT(slow.read_to_end(), HasSubstr("\r\n\r\nhandled"));
}

// A probe from a host whose other requests were as many as it may have was refused.
TEST_F(HttpServerTest, PagesAtOnceComeBesideAsManySlowRequestsAsASourceMayHave) {
  std::latch go_on(1);
  open(
      {.threads = 1, .connections = 4, .connections_per_source = 2},
      [&](const HttpRequest&) {
        go_on.wait();
        return HttpAnswer{.body = "handled"};
      },
      [](const HttpRequest& request) {
        return request.path == "/health" ? std::optional{HttpAnswer{.body = "well"}} : std::nullopt;
      });
  std::vector<RawHttp> slow;
  for (int i = 0; i < 2; ++i) {
    slow.emplace_back(server_->port());
    slow.back().send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  wait_for("gcoord_http_requests_total", 2);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(http_answer(server_->port(), "GET /health"), HasSubstr("\r\n\r\nwell"));
  }
  EXPECT_EQ(value_of(metrics_, "gcoord_http_crowded_connections_total"), 0);
  EXPECT_THAT(http_answer(server_->port(), "GET /slow"), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(value_of(metrics_, "gcoord_http_crowded_connections_total"), 1);
  go_on.count_down();
  for (RawHttp& client : slow) {
    EXPECT_THAT(client.read_to_end(), HasSubstr("handled"));
  }
  wait_for("gcoord_http_connections", 0);
  EXPECT_THAT(http_answer(server_->port(), "GET /slow"), HasSubstr("handled"));
}

// What is under way is answered, what waits for a thread is at least told, and nobody hangs.
TEST_F(HttpServerTest, ItEndsWithRequestsOfEveryKindOpen) {
  std::latch begun(1);
  std::latch go_on(1);
  open({.threads = 1}, [&, first = true](const HttpRequest&) mutable {
    if (std::exchange(first, false)) {
      begun.count_down();
      go_on.wait();
    }
    return HttpAnswer{.body = "done"};
  });
  const std::vector<RawHttp> halves = half_requests(3);
  RawHttp under_way(server_->port());
  under_way.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.wait();
  RawHttp waiting(server_->port());
  waiting.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  wait_for("gcoord_http_requests_total", 2);
  std::thread ends([this] { server_.reset(); });
  go_on.count_down();
  ends.join();
  EXPECT_THAT(under_way.read_to_end(), HasSubstr("\r\n\r\ndone"));
  EXPECT_THAT(waiting.read_to_end(), StartsWith("HTTP/1.1 "));
}

// A request that became whole while the port ended was suspended for ever, and the library ended
// the process.
TEST_F(HttpServerTest, ARequestBehindTheOneThatIsAnsweredLastIsRefused) {
  std::latch begun(1);
  std::latch go_on(1);
  open({.threads = 1}, [&](const HttpRequest&) {
    begun.count_down();
    go_on.wait();
    return HttpAnswer{.body = "done"};
  });
  RawHttp client(server_->port());
  client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.wait();
  std::thread ends([this] { server_.reset(); });
  go_on.count_down();
  ends.join();
  EXPECT_THAT(client.read_to_end(), HasSubstr("\r\n\r\ndone"));
}

TEST_F(HttpServerTest, ATakenPortNamesTheOption) {
  open({});
  const auto again = HttpServer::open({.port_name = "other",
                                       .option = "listen-other",
                                       .listen = {"localhost", server_->port()},
                                       .limits = {}},
                                      page,
                                      metrics_);
  EXPECT_EQ(again.status().code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(again.status().to_string(),
              HasSubstr("--listen-other localhost:" + std::to_string(server_->port()) +
                        ": Address already in use"));
}

}  // namespace
}  // namespace gcoord::server
