// The HTTP server behind TLS, over real sockets: pages, plain text, renewals, and clients that take
// their time.
#include "common/host/child_process.h"
#include "server/http/listen_socket.h"
#include "server/http/server.h"
#include "server/http/tls_front.h"
#include "tests/security/tls_pair.h"
#include "tests/server/http/raw_http.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using security::loaded;
using security::TlsSession;
using security::TlsSide;
using testing::HasSubstr;
using testing::StartsWith;

class HttpTlsTest : public testing::Test {
 protected:
  void open(TlsMode mode, HttpServerLimits limits = {}) {
    set_mode(mode);
    auto opened = HttpServer::open({.port_name = "test",
                                    .option = "listen-test",
                                    .listen = {"127.0.0.1", 0},
                                    .limits = limits,
                                    .tls = &port_},
                                   page,
                                   metrics_);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    server_ = std::move(opened).value();
  }

  void set_mode(TlsMode mode, bool demand_certificate = false) {
    port_.set(
        {mode,
         loaded(
             TlsSide::Server, files_.server_files(), {.demand_certificate = demand_certificate})});
  }

  static HttpAnswer page(const HttpRequest& request) {
    if (request.path == "/large") {
      return {.body = std::string(kLargeBytes, 'x')};
    }
    if (request.path == "/near") {
      return {.body = request.loopback ? "near" : "far"};
    }
    return request.path == "/page" ? HttpAnswer{.body = "the page\n"} : not_found();
  }

  TlsSession session() {
    return TlsSession(loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}), "127.0.0.1");
  }

  static void send_output(TlsSession& session, RawHttp& client) {
    std::vector<std::byte> wire;
    session.take_output(wire);
    client.send({reinterpret_cast<const char*>(wire.data()), wire.size()});
  }

  // What comes until the text has come, the other side has shut, or the socket has ended.
  static std::string read(TlsSession& session, RawHttp& client, std::string_view end) {
    std::string text;
    std::array<std::byte, 20'000> piece;
    while (!session.ended() && (end.empty() || text.find(end) == std::string::npos)) {
      const ssize_t count = ::recv(client.socket(), piece.data(), piece.size(), 0);
      if (count <= 0) {
        break;
      }
      static_cast<void>(session.receive(std::span{piece}.first(static_cast<std::size_t>(count))));
      send_output(session, client);
      text += security::read_all(session);
    }
    return text;
  }

  // One request on a connection of its own.
  std::string answer(const std::string& request) {
    RawHttp client(server_->port());
    TlsSession tls = session();
    const std::string text = request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    EXPECT_TRUE(tls.send(security::bytes_of(text)).ok());
    send_output(tls, client);
    std::string all = read(tls, client, "");
    failure_ = tls.failure();
    shut_in_order_ = tls.ended() && failure_.ok();
    return all;
  }

  std::uint64_t counted(const std::string& name, const std::string& label, const char* value) {
    return metrics_.counter({"gcoord_server_http_" + name, "", label, value}).value();
  }

  static constexpr std::size_t kLargeBytes = 3'000'000;

  security::TlsTestFiles files_;
  PortTls port_;
  MetricsRegistry metrics_;
  std::unique_ptr<HttpServer> server_;
  Status failure_;
  bool shut_in_order_ = false;
};

TEST_F(HttpTlsTest, PagesComeThroughTls) {
  open(TlsMode::Required);
  const std::string text = answer("GET /page");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(text, HasSubstr("the page\n"));
  EXPECT_TRUE(shut_in_order_);
  EXPECT_THAT(answer("GET /other"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(answer("GET /near"), HasSubstr("\r\n\r\nnear")) << "its client is on this host";
  EXPECT_EQ(counted("tls_handshakes_total", "result", "full"), 3u);
}

TEST_F(HttpTlsTest, ALargePageComesWhole) {
  open(TlsMode::Required);
  const std::string text = answer("GET /large");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(text.size() - text.find("\r\n\r\n") - 4, kLargeBytes);
  EXPECT_TRUE(shut_in_order_);
}

TEST_F(HttpTlsTest, AConnectionIsKeptForMoreRequests) {
  open(TlsMode::Required);
  RawHttp client(server_->port());
  TlsSession tls = session();
  for (int k = 0; k < 3; ++k) {
    ASSERT_TRUE(tls.send(security::bytes_of("GET /page HTTP/1.1\r\nHost: x\r\n\r\n")).ok());
    send_output(tls, client);
    EXPECT_THAT(read(tls, client, "the page\n"), HasSubstr("the page\n"));
  }
}

TEST_F(HttpTlsTest, ModesChangeWhileThePortIsOpen) {
  open(TlsMode::Off);
  EXPECT_THAT(http_answer(server_->port(), "GET /page"), HasSubstr("the page"));
  set_mode(TlsMode::Permissive);
  EXPECT_THAT(http_answer(server_->port(), "GET /page"), HasSubstr("the page"));
  EXPECT_THAT(answer("GET /page"), HasSubstr("the page"));
  set_mode(TlsMode::Required);
  EXPECT_THAT(answer("GET /page"), HasSubstr("the page"));
  const std::string refused = http_answer(server_->port(), "GET /page");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(refused, HasSubstr("this port speaks HTTPS only"));
  EXPECT_EQ(counted("plaintext_connections_total", "from", "loopback"), 2u);
}

TEST_F(HttpTlsTest, WhoShowsNoCertificateIsRefusedWhereOneIsDemanded) {
  open(TlsMode::Required);
  set_mode(TlsMode::Required, true);
  EXPECT_EQ(answer("GET /page"), "");
  EXPECT_EQ(failure_.detail(), 3108u);
  // The server counts it behind what the client saw. The tries only bound a failure.
  for (int k = 0; k < 500 && counted("tls_handshakes_total", "result", "failed") == 0; ++k) {
    static_cast<void>(::poll(nullptr, 0, 10));
  }
  EXPECT_EQ(counted("tls_handshakes_total", "result", "failed"), 1u);
}

// Nothing more is served on a connection that a new list revokes; one without a certificate stays.
TEST_F(HttpTlsTest, ANewRevocationListCutsItsConnectionsAndNoOther) {
  open(TlsMode::Required);
  RawHttp client(server_->port());
  TlsSession tls(loaded(TlsSide::Client, files_.client_files()), "127.0.0.1");
  RawHttp other(server_->port());
  TlsSession other_tls = session();
  const auto request = [&](TlsSession& by, RawHttp& at) {
    EXPECT_TRUE(by.send(security::bytes_of("GET /page HTTP/1.1\r\nHost: x\r\n\r\n")).ok());
    send_output(by, at);
    return read(by, at, "the page\n");
  };
  EXPECT_THAT(request(tls, client), HasSubstr("the page"));
  EXPECT_THAT(request(other_tls, other), HasSubstr("the page"));
  security::TlsFiles files = files_.server_files();
  files.revoked = files_.path("list.pem");
  write_private(files.revoked, files_.authority.revoke({files_.client.serial}));
  port_.set({TlsMode::Required, loaded(TlsSide::Server, files)});
  EXPECT_EQ(request(tls, client), "");
  EXPECT_THAT(request(other_tls, other), HasSubstr("the page"));
  EXPECT_EQ(metrics_.counter({"gcoord_server_http_tls_revoked_total", "", "", ""}).value(), 1u);
}

TEST_F(HttpTlsTest, AHandshakeThatDoesNotEndIsCutInTime) {
  open(TlsMode::Required, {.header_time = std::chrono::milliseconds(50)});
  RawHttp client(server_->port());
  client.send("\x16\x03\x01");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpTlsTest, MoreHandshakesThanConnectionsPushOutTheOldest) {
  open(TlsMode::Required, {.connections = 4});
  std::vector<RawHttp> idle;
  for (int k = 0; k < 6; ++k) {
    idle.emplace_back(server_->port());
    idle.back().send("\x16");
  }
  EXPECT_EQ(idle[0].read_to_end(), "");
  EXPECT_EQ(idle[1].read_to_end(), "");
  EXPECT_THAT(answer("GET /page"), HasSubstr("the page"));
}

// An implementation of TLS that is not driven by this repository's code.
TEST_F(HttpTlsTest, OtherProgramsReadPagesByTls13AndByNothingOlder) {
  open(TlsMode::Required);
  const std::string address = "127.0.0.1:" + std::to_string(server_->port());
  const auto status = [&](const std::string& line) {
    ChildOptions options;
    options.arguments = {"/bin/sh", "-c", line};
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    return child.value().wait();
  };
  const std::string connect = "openssl s_client -connect " + address + " -CAfile " +
                              files_.path("ca.crt") + " -verify_return_error </dev/null >" +
                              files_.path("seen") + " 2>&1 ";
  EXPECT_EQ(status(connect + "-tls1_3 -verify_ip 127.0.0.1"), 0);
  EXPECT_NE(status(connect + "-tls1_3 -verify_ip 127.0.0.2"), 0);
  for (const char* old : {"-tls1_2", "-tls1_1", "-tls1"}) {
    EXPECT_NE(status(connect + old), 0) << old;
  }
  const std::string request =
      "printf 'GET /page HTTP/1.1\\r\\nHost: x\\r\\n"
      "Connection: close\\r\\n\\r\\n' | openssl s_client -quiet -connect " +
      address + " -CAfile " + files_.path("ca.crt") + " -ign_eof 2>/dev/null | grep -q 'the page'";
  EXPECT_EQ(status(request), 0);
}

// gnutls-cli does so at the end of its input, and once got no answer.
TEST_F(HttpTlsTest, AClientThatHasShutItsHalfGetsItsAnswerWhole) {
  open(TlsMode::Required);
  for (const bool ends_tcp : {false, true}) {
    RawHttp client(server_->port());
    TlsSession tls = session();
    ASSERT_TRUE(tls.send(security::bytes_of("GET /page HTTP/1.1\r\nHost: x\r\n\r\n")).ok());
    send_output(tls, client);
    read(tls, client, "the page\n");
    ASSERT_TRUE(tls.send(security::bytes_of("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")).ok());
    tls.shut();
    send_output(tls, client);
    if (ends_tcp) {
      ::shutdown(client.socket(), SHUT_WR);
    }
    const std::string text = read(tls, client, "");
    EXPECT_THAT(text, StartsWith("HTTP/1.1 200")) << ends_tcp;
    EXPECT_EQ(text.size() - text.find("\r\n\r\n") - 4, kLargeBytes) << ends_tcp;
    EXPECT_TRUE(tls.ended() && tls.failure().ok()) << ends_tcp;
  }
}

TEST_F(HttpTlsTest, AClientThatHasShutAndIsOwedNothingIsShutAtOnce) {
  open(TlsMode::Required, {.idle_time = std::chrono::hours{1}});
  RawHttp client(server_->port());
  TlsSession tls = session();
  ASSERT_TRUE(tls.send(security::bytes_of("GET /page HTTP/1.1\r\nHost: x\r\n\r\n")).ok());
  send_output(tls, client);
  EXPECT_THAT(read(tls, client, "the page\n"), HasSubstr("the page\n"));
  tls.shut();
  send_output(tls, client);
  read(tls, client, "");
  EXPECT_TRUE(tls.ended() && tls.failure().ok());
}

TEST_F(HttpTlsTest, GarbageEndsItsConnectionAlone) {
  open(TlsMode::Required);
  RawHttp client(server_->port());
  client.send("\x16\x03\x01\xff\xff and nothing of that length");
  client.read_to_end();
  EXPECT_THAT(answer("GET /page"), HasSubstr("the page"));
}

// Clients that read nothing of their answers, before the library, whose part the test plays.
class HttpTlsFrontTest : public HttpTlsTest {
 protected:
  void open(HttpServerLimits limits) {
    set_mode(TlsMode::Required);
    const auto listening = open_listen_socket("listen-test", {"127.0.0.1", 0});
    ASSERT_TRUE(listening.ok());
    port_number_ = listening.value().port;
    front_ = std::make_unique<TlsFront>(TlsFront::Options{.listening = listening.value().socket,
                                                          .port_name = "test",
                                                          .limits = limits,
                                                          .tls = port_,
                                                          .metrics = metrics_});
  }

  void advance(std::uint64_t now_ms = 0) {
    std::vector<pollfd> polled;
    front_->want(polled);
    ::poll(polled.data(), polled.size(), 0);
    front_->advance(polled, now_ms, [&](const HttpArrival& client) { served_ = client.socket; });
  }

  // One whose answer the library has written, and ended, while the client took all it could.
  void add_silent() {
    RawHttp& client = silent_.emplace_back(port_number_);
    TlsSession tls = session();
    send_output(tls, client);
    for (served_ = -1; served_ < 0; advance()) {
      const std::string wire = client.read_some();
      static_cast<void>(tls.receive(std::as_bytes(std::span{wire})));
      send_output(tls, client);
    }
    const std::string piece(16'000, 'x');
    for (int idle = 0; idle < 10; advance()) {
      const ssize_t count =
          ::send(served_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      idle = count > 0 ? 0 : idle + 1;
    }
    ::close(served_);
    advance();
  }

  // Which a client finds out without reading.
  static bool is_reset(const RawHttp& client) {
    pollfd end{client.socket(), 0, 0};
    return ::poll(&end, 1, 0) == 1 && (end.revents & (POLLHUP | POLLERR)) != 0;
  }

  std::uint16_t port_number_ = 0;
  std::unique_ptr<TlsFront> front_;
  int served_ = -1;
  std::vector<RawHttp> silent_;
};

TEST_F(HttpTlsFrontTest, WhoReadsNothingIsCutInTimeThoughTheLibraryHasEnded) {
  ASSERT_NO_FATAL_FAILURE(open({.request_time = std::chrono::milliseconds(500)}));
  add_silent();
  advance(499);
  EXPECT_FALSE(is_reset(silent_[0]));
  EXPECT_EQ(front_->until_late_ms(499, 1000), 1u);
  advance(500);
  EXPECT_TRUE(is_reset(silent_[0]));
}

TEST_F(HttpTlsFrontTest, MoreThatReadNothingThanConnectionsPushOutTheOldest) {
  ASSERT_NO_FATAL_FAILURE(open({.connections = 2}));
  add_silent();
  add_silent();
  EXPECT_FALSE(is_reset(silent_[0]));
  add_silent();
  EXPECT_TRUE(is_reset(silent_[0]));
  EXPECT_FALSE(is_reset(silent_[1]));
}

}  // namespace
}  // namespace gcoord::server
