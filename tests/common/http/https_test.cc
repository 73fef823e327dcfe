// The HTTP client by https, against a real TLS server.
#include "common/http/client.h"
#include "tests/client/net/tls_front.h"
#include "tests/common/http/scripted_server.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

namespace gcoord {
namespace {

constexpr HttpLimits kLimits{.timeout = std::chrono::seconds{30}, .body_bytes_max = 64};
constexpr const char* kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

class HttpsTest : public testing::Test {
 protected:
  HttpsTest() {
    write_private(path("ca.crt"), authority_.certificate());
    write_private(path("other-ca.crt"), TestAuthority{"another authority"}.certificate());
    write_certificate(
        scratch_.path().string(), "server", authority_.issue({.names = {"IP:127.0.0.1"}}));
    write_certificate(scratch_.path().string(), "alice", authority_.issue({.names = {"DNS:a"}}));
  }

  std::string path(const std::string& name) const { return scratch_.path(name); }

  void serve(const std::string& answer, bool demand_certificate = false) {
    server_ = std::make_unique<ScriptedServer>(ScriptedServer::Connections{{{answer}}});
    front_ = std::make_unique<client::TlsFront>(
        security::TlsFiles{.certificate = path("server.crt"),
                           .key = path("server.key"),
                           .authority = path("ca.crt"),
                           .revoked = {}},
        security::TlsPolicy{.demand_certificate = demand_certificate},
        client::TlsFront::Ends{"127.0.0.1:" + server_->origin().port});
  }

  // At the front, by the host that the certificate names or another one.
  Result<HttpResponse> get(const HttpTls& tls, const std::string& host = "127.0.0.1") {
    const std::string endpoint = front_->endpoint(host);
    HttpClient client({.host = host, .port = endpoint.substr(endpoint.rfind(':') + 1)},
                      {.tls = tls});
    return client.get("/", kLimits);
  }

  // Whatever was refused, the connection behind the front has to come to its end.
  void TearDown() override { front_.reset(); }

  HttpTls of_ca() const { return {.enabled = true, .cacert = path("ca.crt")}; }

  ScratchFolder scratch_;
  TestAuthority authority_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<client::TlsFront> front_;
};

TEST_F(HttpsTest, AnAnswerComesThroughTls) {
  serve(kHello);
  const auto answer = get(of_ca());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer.value().body, "hello");
}

TEST_F(HttpsTest, AServerOfAnotherCaIsNotBelieved) {
  serve(kHello);
  EXPECT_EQ(get({.enabled = true, .cacert = path("other-ca.crt")}).status().code(),
            StatusCode::Unauthenticated);
  EXPECT_EQ(get({.enabled = true}).status().code(), StatusCode::Unauthenticated);
}

TEST_F(HttpsTest, TheCertificateNamesTheHost) {
  serve(kHello);
  EXPECT_EQ(get(of_ca(), "localhost").status().code(), StatusCode::Unauthenticated);
}

TEST_F(HttpsTest, AClientShowsItsCertificate) {
  serve(kHello, true);
  HttpTls tls = of_ca();
  tls.cert = path("alice.crt");
  tls.key = path("alice.key");
  const auto answer = get(tls);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer.value().body, "hello");
}

TEST_F(HttpsTest, WithoutOneADemandingServerRefuses) {
  serve(kHello, true);
  EXPECT_EQ(get(of_ca()).status().code(), StatusCode::Unavailable);
}

TEST_F(HttpsTest, AKeyThatOthersMayReadIsNotUsed) {
  std::filesystem::permissions(path("alice.key"), std::filesystem::perms{0644});
  HttpTls tls = of_ca();
  tls.cert = path("alice.crt");
  tls.key = path("alice.key");
  HttpClient client({.host = "127.0.0.1", .port = "1"}, {.tls = tls});
  EXPECT_EQ(client.get("/", kLimits).status().code(), StatusCode::PermissionDenied);
}

TEST_F(HttpsTest, ARedirectDoesNotLeaveTls) {
  serve("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  const std::string endpoint = front_->endpoint();
  HttpClient client({.host = "127.0.0.1", .port = endpoint.substr(endpoint.rfind(':') + 1)},
                    {.redirects_max = 3, .tls = of_ca()});
  EXPECT_FALSE(client.get("/", kLimits).ok());
}

}  // namespace
}  // namespace gcoord
