#include "common/http/client.h"

#include "tests/common/http/scripted_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace gcoord {
namespace {

constexpr HttpLimits kLimits{.timeout = std::chrono::seconds{30}, .body_bytes_max = 64};
constexpr const char* kEmpty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

HttpResponse answer_of(const std::string& bytes) {
  const ScriptedServer server({{bytes}});
  return HttpClient(server.origin()).get("/", kLimits).value();
}

HttpOptions kept() {
  return {.connection = HttpConnection::Kept};
}

TEST(HttpClient, AKeptConnectionCarriesRequestAfterRequest) {
  ScriptedServer server({{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
                          "HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "2\r\nth\r\n3;x\r\nree\r\n0\r\n\r\n"}});
  HttpClient client(server.origin(), kept());
  const auto first = client.post("/a", {.type = "text/plain", .body = "question"}, kLimits).value();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.extent, HttpBody::Whole);
  EXPECT_EQ(first.body, "one");
  EXPECT_EQ(client.get("/b", kLimits).value().status, 404);
  EXPECT_EQ(client.get("/c?x=%20", kLimits).value().body, "three");
  const auto& requests = server.end();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_TRUE(requests[0].starts_with("POST /a HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_TRUE(requests[0].ends_with("\r\n\r\nquestion"));
  EXPECT_TRUE(requests[1].starts_with("GET /b HTTP/1.1\r\n"));
  EXPECT_TRUE(requests[2].starts_with("GET /c?x=%20 HTTP/1.1\r\n"));
}

TEST(HttpClient, ATokenGoesInPlainTextBeyondLoopbackOnlyWhereThatIsAllowed) {
  ScriptedServer server({{kEmpty}, {kEmpty}, {kEmpty}});
  const HttpOrigin own = server.origin();
  // The same server by an address that the client does not take for loopback.
  const HttpOrigin other{"::ffff:127.0.0.1", own.port};
  const HttpTls token{.bearer = "t"};
  const HttpTls allowed{.bearer = "t", .bearer_in_plain = true};
  EXPECT_TRUE(HttpClient(own, {.tls = token}).get("/", kLimits).ok());
  EXPECT_TRUE(HttpClient(other, {.tls = token}).get("/", kLimits).ok());
  EXPECT_TRUE(HttpClient(other, {.tls = allowed}).get("/", kLimits).ok());
  const auto& requests = server.end();
  ASSERT_EQ(requests.size(), 3u);
  const auto shows = [&](std::size_t at) {
    return requests[at].find("Authorization: Bearer t") != std::string::npos;
  };
  EXPECT_TRUE(shows(0));
  EXPECT_FALSE(shows(1));
  EXPECT_TRUE(shows(2));
}

TEST(HttpClient, AConnectionThatEndedIsOpenedAgain) {
  ScriptedServer server({{kEmpty}, {kEmpty}});
  HttpClient client(server.origin(), kept());
  EXPECT_TRUE(client.get("/1", kLimits).ok());
  EXPECT_TRUE(client.get("/2", kLimits).ok());
  EXPECT_EQ(server.end().size(), 2u);
}

// The server takes the second request and goes: it may have acted on it. libcurl would connect
// again, which is the second connection, and ask again.
TEST(HttpClient, APostGoesOutOnceAtMost) {
  ScriptedServer server({{kEmpty, ""}, {kEmpty}, {kEmpty}});
  HttpClient client(server.origin(), kept());
  const HttpContent content{.type = "text/plain", .body = "once"};
  EXPECT_TRUE(client.post("/1", content, kLimits).ok());
  EXPECT_EQ(client.post("/2", content, kLimits).status().code(), StatusCode::Unavailable);
  EXPECT_TRUE(client.get("/3", kLimits).ok());
  const auto& requests = server.end();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_TRUE(requests[1].starts_with("POST /2"));
  EXPECT_TRUE(requests[2].starts_with("GET /3"));
}

TEST(HttpClient, TheExtentOfABodyIsKnown) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(answer_of(head + "Content-Length: 2\r\n\r\nab").extent, HttpBody::Whole);
  EXPECT_EQ(answer_of(head + "Content-Length: 2\r\n\r\na").extent, HttpBody::Cut);
  EXPECT_EQ(answer_of(head + "\r\nab").extent, HttpBody::Unsized);
  EXPECT_EQ(answer_of("HTTP/1.1 204 No Content\r\n\r\n").extent, HttpBody::Whole);
  EXPECT_EQ(answer_of(head + "Content-Length: 65\r\n\r\na").extent, HttpBody::TooLong);
  EXPECT_EQ(answer_of(head + "\r\n" + std::string(1000, 'a')).extent, HttpBody::TooLong);
  EXPECT_EQ(answer_of(chunked + "1\r\na\r\n0\r\n\r\n").extent, HttpBody::Whole);
  for (const char* cut : {"",
                          "1",
                          "1\r\n",
                          "1\r\na",
                          "1\r\na\r\n",
                          "1\r\na\r\n0\r\n",
                          "x\r\na\r\n0\r\n\r\n",
                          "ffffffffffffffff\r\na\r\n0\r\n\r\n"}) {
    EXPECT_EQ(answer_of(chunked + cut).extent, HttpBody::Cut) << cut;
  }
  // What stands behind the announced bytes is no part of the answer (RFC 9112, 6.3).
  EXPECT_EQ(answer_of(head + "Content-Length: 2\r\n\r\nabc").body, "ab");
}

TEST(HttpClient, AServerThatSpeaksSomethingElseIsDataLoss) {
  for (const char* bytes : {"220 mail ready\r\n\r\n",
                            "HTTP/1.1\r\n\r\n",
                            "HTTP/1.1 x00 OK\r\n\r\n",
                            "HTTP/2 200 OK\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nContent-Le",
                            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"}) {
    const ScriptedServer server({{bytes}});
    const auto answer = HttpClient(server.origin()).get("/", kLimits);
    EXPECT_EQ(answer.status().code(), StatusCode::DataLoss) << bytes;
  }
}

TEST(HttpClient, NobodyAtThePortIsUnavailable) {
  HttpOrigin origin;
  {
    const ScriptedServer server({});
    origin = server.origin();
  }
  EXPECT_EQ(HttpClient(origin).get("/", kLimits).status().code(), StatusCode::Unavailable);
  for (const char* bytes : {"", "HT"}) {
    const ScriptedServer mute({{bytes}});
    EXPECT_EQ(HttpClient(mute.origin()).get("/", kLimits).status().code(), StatusCode::Unavailable);
  }
}

TEST(HttpClient, WhatNoRequestCanNameIsRefused) {
  const auto refused = [](const HttpOrigin& origin, const std::string& path) {
    return HttpClient(origin).get(path, kLimits).status().code() == StatusCode::InvalidArgument;
  };
  EXPECT_TRUE(refused({.host = "", .port = "1"}, "/"));
  EXPECT_TRUE(refused({.host = "user@127.0.0.1", .port = "1"}, "/"));
  EXPECT_TRUE(refused({.host = "127.0.0.1/x", .port = "1"}, "/"));
  EXPECT_TRUE(refused({.host = "127.0.0.1", .port = "1x"}, "/"));
  EXPECT_TRUE(refused({.host = "127.0.0.1", .port = "1"}, ""));
  EXPECT_TRUE(refused({.host = "127.0.0.1", .port = "1"}, "/ HTTP/1.1\r\nX: y\r\n"));
}

TEST(HttpClient, AnAddressMayBeOfIpVersion6) {
  ScriptedServer server({{kEmpty}}, AF_INET6);
  if (!server.bound()) {
    GTEST_SKIP() << "this machine has no ::1";
  }
  EXPECT_TRUE(HttpClient(server.origin()).get("/", kLimits).ok());
  EXPECT_NE(server.end().at(0).find("Host: [::1]:"), std::string::npos);
}

TEST(HttpClient, RedirectsAreAnswersUnlessTheyAreAskedFor) {
  ScriptedServer target({{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere"}});
  const auto to = [](const std::string& url) {
    return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + url + "\r\n\r\n";
  };
  ScriptedServer server({{to(target.url("/new"))},
                         {to(target.url("/new"))},
                         {to("file:///etc/hostname")},
                         {to("/again")},
                         {to("/again")}});
  HttpClient plain(server.origin());
  EXPECT_EQ(plain.get("/", kLimits).value().status, 302);
  HttpClient follows(server.origin(), {.redirects_max = 1});
  EXPECT_EQ(follows.get("/", kLimits).value().body, "here");
  EXPECT_FALSE(follows.get("/", kLimits).ok()) << "a file of this machine is no page";
  EXPECT_FALSE(follows.get("/", kLimits).ok()) << "a ring of redirects ends";
  EXPECT_EQ(server.end().size(), 5u);
}

TEST(HttpClient, NoProxyStandsBetweenProgramsOfOneMachine) {
  ScriptedServer proxy({{kEmpty}});
  ScriptedServer server({{kEmpty}});
  ::unsetenv("no_proxy");
  ::unsetenv("NO_PROXY");
  ::setenv("http_proxy", proxy.url("").c_str(), 1);
  EXPECT_TRUE(HttpClient(server.origin()).get("/direct", kLimits).ok());
  EXPECT_TRUE(HttpClient(server.origin(), {.proxy = HttpProxy::Environment})
                  .get("/by-proxy", kLimits)
                  .ok());
  ::unsetenv("http_proxy");
  EXPECT_TRUE(server.end().at(0).starts_with("GET /direct "));
  EXPECT_TRUE(proxy.end().at(0).starts_with("GET " + server.url("/by-proxy") + " "));
}

TEST(HttpClient, ClientsOfManyThreadsShareNothing) {
  constexpr std::size_t kThreads = 8;
  ScriptedServer server(ScriptedServer::Connections(kThreads, {kEmpty}));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back(
        [&server] { EXPECT_TRUE(HttpClient(server.origin()).get("/", kLimits).ok()); });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(server.end().size(), kThreads);
}

// A child that inherited a connection would keep it open.
TEST(HttpClient, SocketsDoNotPassToChildren) {
  ScriptedServer server({{kEmpty}});
  HttpClient client(server.origin(), kept());
  ASSERT_TRUE(client.get("/", kLimits).ok());
  server.end();
  int sockets = 0;
  DIR* open = ::opendir("/proc/self/fd");
  for (const dirent* each = ::readdir(open); each != nullptr; each = ::readdir(open)) {
    const int descriptor = std::atoi(each->d_name);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
        address.ss_family == AF_INET) {
      ++sockets;
      EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
    }
  }
  ::closedir(open);
  EXPECT_GE(sockets, 1);
}

}  // namespace
}  // namespace gcoord
