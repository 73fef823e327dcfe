// Certificates and bytes that must not pass, each with its own number.
#include "security/tls/errors.h"
#include "security/tls/session.h"
#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

namespace gcoord::security {
namespace {

class TlsRefuses : public testing::Test {
 protected:
  // A client that shows this certificate to a server that demands one.
  TlsPair with_client(const MadeCertificate& made, const std::string& revoked = {}) {
    write_certificate(files_.folder(), "client", made);
    TlsFiles server = files_.server_files();
    server.revoked = revoked;
    TlsPair pair(loaded(TlsSide::Server, server, {.demand_certificate = true}),
                 loaded(TlsSide::Client, files_.client_files()));
    pair.settle();
    EXPECT_FALSE(pair.server.open());
    EXPECT_EQ(pair.server.peer(), nullptr);
    EXPECT_TRUE(pair.server.ended());
    told_ = pair.client_failure.detail();
    told_text_ = pair.client_failure.message();
    return pair;
  }

  // A server that shows this certificate.
  TlsPair with_server(const MadeCertificate& made, const std::string& name = "localhost") {
    write_certificate(files_.folder(), "server", made);
    TlsPair pair(loaded(TlsSide::Server, files_.server_files()),
                 loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}),
                 name);
    pair.settle();
    EXPECT_FALSE(pair.client.open());
    told_ = pair.server_failure.detail();
    return pair;
  }

  TlsTestFiles files_;
  std::uint32_t told_ = 0;  // What the one that is refused hears.
  std::string told_text_;
};

TEST_F(TlsRefuses, AClientOfAnotherAuthority) {
  TestAuthority other("test authority");
  EXPECT_EQ(with_client(other.issue()).server_failure.detail(), kTlsUntrusted);
}

TEST_F(TlsRefuses, AnExpiredClient) {
  const auto made = files_.authority.issue({.begins_in_s = -7200, .ends_in_s = -60});
  EXPECT_EQ(with_client(made).server_failure.detail(), kTlsExpired);
  EXPECT_EQ(told_, kTlsOwnExpired);
}

TEST_F(TlsRefuses, AClientWhoseTimeHasNotCome) {
  const auto made = files_.authority.issue({.begins_in_s = 600, .ends_in_s = 3600});
  EXPECT_EQ(with_client(made).server_failure.detail(), kTlsExpired);
  EXPECT_EQ(told_, kTlsRefused);
}

TEST_F(TlsRefuses, ARevokedClientAndNoOther) {
  const auto made = files_.authority.issue();
  const std::string list = files_.path("crl.pem");
  write_private(list, files_.authority.revoke({made.serial, 999}));
  EXPECT_EQ(with_client(made, list).server_failure.detail(), kTlsRevoked);
  EXPECT_EQ(told_, kTlsOwnRevoked);
  write_certificate(files_.folder(), "client", files_.client);
  TlsFiles server = files_.server_files();
  server.revoked = list;
  TlsPair good(loaded(TlsSide::Server, server, {.demand_certificate = true}),
               loaded(TlsSide::Client, files_.client_files()));
  good.settle();
  EXPECT_TRUE(good.server.open()) << good.server_failure.to_string();
}

// Who keeps a list from being renewed must not undo revocations by it. Neither side hears that the
// certificate were to blame.
TEST_F(TlsRefuses, EveryClientOnceTheListIsTooOld) {
  const std::string list = files_.path("crl.pem");
  write_private(list, files_.authority.revoke({}, -60));
  const Status failure = with_client(files_.client, list).server_failure;
  EXPECT_EQ(failure.detail(), kTlsListExpired);
  EXPECT_NE(failure.message().find("the revocation list has expired"), std::string::npos)
      << failure.to_string();
  EXPECT_EQ(told_, kTlsUnjudged);
  EXPECT_NE(told_text_.find("names no cause"), std::string::npos)
      << "the alert is all that the client has: " << told_text_;
}

TEST_F(TlsRefuses, EveryClientOfAnAuthorityWithoutAList) {
  TestAuthority below("below", files_.authority);
  MadeCertificate made = below.issue({.common_name = "bob"});
  made.certificate += below.certificate();
  const std::string list = files_.path("crl.pem");
  write_private(list, files_.authority.revoke({}));
  EXPECT_EQ(with_client(made, list).server_failure.detail(), kTlsUntrusted);
  EXPECT_EQ(told_, kTlsUnjudged);
}

TEST_F(TlsRefuses, AClientWithoutACertificateWhereOneIsDemanded) {
  TlsPair pair(loaded(TlsSide::Server, files_.server_files(), {.demand_certificate = true}),
               loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}));
  pair.settle();
  EXPECT_EQ(pair.server_failure.detail(), kTlsNoCertificate);
  EXPECT_EQ(pair.client_failure.detail(), kTlsRefused);
  EXPECT_TRUE(pair.client.ended());
}

TEST_F(TlsRefuses, AServerOfAnotherAuthority) {
  TestAuthority other("test authority");
  EXPECT_EQ(with_server(other.issue()).client_failure.detail(), kTlsUntrusted);
  EXPECT_EQ(told_, kTlsRefused);  // It has the trusted one's name, and not its signature.
  TestAuthority stranger("a stranger");
  EXPECT_EQ(with_server(stranger.issue()).client_failure.detail(), kTlsUntrusted);
  EXPECT_EQ(told_, kTlsOwnUntrusted);
}

TEST_F(TlsRefuses, AServerOfAnotherName) {
  const auto made = files_.authority.issue({.names = {"DNS:elsewhere.example"}});
  EXPECT_EQ(with_server(made).client_failure.detail(), kTlsName);
  EXPECT_EQ(with_server(made, "127.0.0.1").client_failure.detail(), kTlsName);
}

// RFC 9525 6.3: the common name is no name of a host.
TEST_F(TlsRefuses, AServerWhoseNameIsOnlyItsCommonName) {
  const auto made = files_.authority.issue({.common_name = "localhost", .names = {}});
  EXPECT_EQ(with_server(made).client_failure.detail(), kTlsName);
}

TEST_F(TlsRefuses, BytesThatAreNotTls) {
  for (const std::string_view text : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                      "gcoord is not TLS, whoever says so",
                                      "\x16\x03\x01\xff\xff and nothing of that length"}) {
    TlsSession server(loaded(TlsSide::Server, files_.server_files()));
    const Status status = server.receive(bytes_of(text));
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_TRUE(server.ended());
    EXPECT_FALSE(server.open());
    EXPECT_EQ(server.receive(bytes_of(text)).detail(), status.detail());
  }
}

TEST_F(TlsRefuses, ARecordThatWasChangedOrSentTwice) {
  for (const bool twice : {false, true}) {
    TlsPair pair(loaded(TlsSide::Server, files_.server_files()),
                 loaded(TlsSide::Client, files_.client_files()));
    pair.settle();
    ASSERT_TRUE(pair.client.send(bytes_of("transfer")).ok());
    std::vector<std::byte> wire;
    pair.client.take_output(wire);
    if (twice) {
      ASSERT_TRUE(pair.server.receive(wire).ok());
      EXPECT_EQ(read_all(pair.server), "transfer");
    } else {
      wire.back() ^= std::byte{1};
    }
    EXPECT_EQ(pair.server.receive(wire).detail(), kTlsRecord);
    EXPECT_EQ(read_all(pair.server), "");
    EXPECT_TRUE(pair.server.has_output());  // The alert.
  }
}

TEST_F(TlsRefuses, AClientThatHasOnlyTls12) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  SSL* const old = SSL_new(context);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(old, in, out);
  SSL_set_connect_state(old);
  SSL_do_handshake(old);
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(out, &bytes);
  TlsSession server(loaded(TlsSide::Server, files_.server_files()));
  const Status status = server.receive(bytes_of({bytes, static_cast<std::size_t>(count)}));
  EXPECT_EQ(status.detail(), kTlsVersion) << status.to_string();
  SSL_free(old);
  SSL_CTX_free(context);
}

TEST_F(TlsRefuses, ANameThatNoCertificateCanHave) {
  TlsSession client(loaded(TlsSide::Client, files_.client_files()), std::string("local\0host", 10));
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.failure().detail(), kTlsName);
  EXPECT_FALSE(client.has_output());
}

}  // namespace
}  // namespace gcoord::security
