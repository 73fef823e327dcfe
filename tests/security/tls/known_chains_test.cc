// A chain that was verified once is known afterwards, and nothing that would have refused it before
// lets it pass since.
#include "security/tls/context_inner.h"
#include "security/tls/errors.h"
#include "security/tls/source.h"
#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

#include <ctime>

namespace gcoord::security {
namespace {

using Context = std::shared_ptr<const TlsContext>;

class KnownChain : public testing::Test {
 protected:
  KnownChain() { write_private(list_, files_.authority.revoke({}, 1800)); }

  TlsFiles with_list() const {
    TlsFiles files = files_.server_files();
    files.revoked = list_;
    return files;
  }

  // A handshake of the client of the files; the number of the server's failure.
  std::uint32_t refusal_of(const Context& server) const {
    TlsPair pair(server, client_);
    pair.settle();
    EXPECT_EQ(pair.server.open(), pair.server_failure.ok());
    EXPECT_EQ(pair.server.peer() != nullptr, pair.server_failure.ok());
    return pair.server_failure.detail();
  }

  // Seconds from now on that the context's clock says.
  static void set_clock(const Context& context, std::int64_t ahead_s) {
    context->inner().now_s = [ahead_s] { return std::time(nullptr) + ahead_s; };
  }

  static std::uint64_t hits(const Context& context) {
    return context->inner().verified_chains.hits();
  }

  TlsTestFiles files_;
  const std::string list_ = files_.path("list.pem");
  const Context client_ = loaded(TlsSide::Client, files_.client_files());
  static constexpr TlsPolicy kDemands{.demand_certificate = true};
};

TEST_F(KnownChain, IsVerifiedOnceAndItsOwnerIsNamedEachTime) {
  const Context server = loaded(TlsSide::Server, with_list(), kDemands);
  for (std::uint64_t k = 0; k < 3; ++k) {
    TlsPair pair(server, client_);
    pair.settle();
    ASSERT_NE(pair.server.peer(), nullptr);
    EXPECT_EQ(pair.server.peer()->uris, std::vector<std::string>{"gcoord://c1/user/alice"});
    EXPECT_FALSE(pair.server.resumed());
    EXPECT_EQ(hits(server), k);
    EXPECT_EQ(hits(client_), k);
  }
}

TEST_F(KnownChain, IsRefusedOnceItIsRevoked) {
  auto source = TlsSource::open(TlsSide::Server, with_list(), kDemands);
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  EXPECT_EQ(refusal_of(source.value()->current()), 0u);
  EXPECT_EQ(refusal_of(source.value()->current()), 0u);
  EXPECT_EQ(hits(source.value()->current()), 1u);
  write_private(list_, files_.authority.revoke({files_.client.serial}));
  ASSERT_TRUE(source.value()->refresh().value());
  EXPECT_EQ(refusal_of(source.value()->current()), kTlsRevoked);
  EXPECT_EQ(refusal_of(source.value()->current()), kTlsRevoked);
}

TEST_F(KnownChain, IsRefusedOnceItsAuthorityIsForgotten) {
  TlsFiles files = files_.server_files();
  files.authority = files_.path("trusted.crt");
  write_private(files.authority, files_.authority.certificate());
  auto source = TlsSource::open(TlsSide::Server, files, kDemands);
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  EXPECT_EQ(refusal_of(source.value()->current()), 0u);
  EXPECT_EQ(refusal_of(source.value()->current()), 0u);
  write_private(files.authority, TestAuthority("another authority").certificate());
  ASSERT_TRUE(source.value()->refresh().value());
  EXPECT_EQ(refusal_of(source.value()->current()), kTlsUntrusted);
}

TEST_F(KnownChain, IsRefusedOnceItHasExpired) {
  const Context server = loaded(TlsSide::Server, files_.server_files(), kDemands);
  EXPECT_EQ(refusal_of(server), 0u);
  set_clock(server, 3500);
  EXPECT_EQ(refusal_of(server), 0u);
  EXPECT_EQ(hits(server), 1u);
  set_clock(server, 3700);
  EXPECT_EQ(refusal_of(server), kTlsExpired);
  EXPECT_EQ(hits(server), 1u);
}

TEST_F(KnownChain, IsRefusedOnceTheRevocationListIsTooOld) {
  const Context server = loaded(TlsSide::Server, with_list(), kDemands);
  EXPECT_EQ(refusal_of(server), 0u);
  set_clock(server, 1900);
  EXPECT_NE(refusal_of(server), 0u);
  EXPECT_EQ(hits(server), 0u);
}

TEST_F(KnownChain, IsVerifiedAgainWhenTheClockHasGoneBack) {
  const Context server = loaded(TlsSide::Server, files_.server_files(), kDemands);
  EXPECT_EQ(refusal_of(server), 0u);
  set_clock(server, -4000);
  EXPECT_EQ(refusal_of(server), kTlsExpired);  // Its time has not come.
}

TEST_F(KnownChain, OfAServerIsKnownByTheNameThatTheClientExpects) {
  const Context server = loaded(TlsSide::Server, files_.server_files());
  for (const char* name : {"localhost", "127.0.0.1", "localhost"}) {
    TlsPair pair(server, client_, name);
    pair.settle();
    EXPECT_TRUE(pair.client.open()) << name;
  }
  EXPECT_EQ(hits(client_), 1u);
  TlsPair elsewhere(server, client_, "db.example.org");
  elsewhere.settle();
  EXPECT_FALSE(elsewhere.client.open());
  EXPECT_EQ(elsewhere.client_failure.detail(), kTlsName);
}

TEST(VerifiedChains, AreBoundedAndThoseInUseStay) {
  VerifiedChains chains;
  chains.keep("in use", {10, 1000});
  chains.keep("unused", {10, 1000});
  for (std::size_t k = 0; k < 3 * VerifiedChains::kGenerationMax; ++k) {
    chains.keep(std::to_string(k), {10, 1000});
    ASSERT_TRUE(chains.knows("in use", 20)) << k;
  }
  EXPECT_FALSE(chains.knows("unused", 20));
}

TEST(VerifiedChains, HoldFromTheirVerificationUntilTheirEnd) {
  VerifiedChains chains;
  chains.keep("a chain", {10, 20});
  EXPECT_FALSE(chains.knows("a chain", 9));
  EXPECT_TRUE(chains.knows("a chain", 10));
  EXPECT_TRUE(chains.knows("a chain", 19));
  EXPECT_FALSE(chains.knows("a chain", 20));
  chains.keep("over", {10, 10});
  EXPECT_FALSE(chains.knows("over", 10));
  const std::string long_key(VerifiedChains::kKeyBytesMax + 1, 'k');
  chains.keep(long_key, {10, 20});
  EXPECT_FALSE(chains.knows(long_key, 15));
}

}  // namespace
}  // namespace gcoord::security
