#include "security/tls/source.h"

#include "security/tls/errors.h"
#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

namespace gcoord::security {
namespace {

class TlsSourceOf : public testing::Test {
 protected:
  std::unique_ptr<TlsSource> open() {
    auto opened = TlsSource::open(TlsSide::Server, files_.server_files(), {});
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return std::move(opened).value();
  }

  // The serial number that a new connection sees.
  std::string serial(const TlsSource& source) {
    TlsPair pair(source.current(), loaded(TlsSide::Client, files_.client_files()));
    pair.settle();
    EXPECT_TRUE(pair.client.open());
    return pair.client.peer() == nullptr ? "" : pair.client.peer()->serial;
  }

  TlsTestFiles files_;
};

TEST_F(TlsSourceOf, NewConnectionsGetTheRenewedCertificateAndOldOnesGoOn) {
  const auto source = open();
  TlsPair old(source->current(), loaded(TlsSide::Client, files_.client_files()));
  old.settle();
  const std::string before = serial(*source);
  EXPECT_FALSE(source->refresh().value());
  write_certificate(files_.folder(), "server", files_.authority.issue());
  EXPECT_TRUE(source->refresh().value());
  EXPECT_FALSE(source->refresh().value());
  EXPECT_NE(serial(*source), before);
  ASSERT_TRUE(old.client.send(bytes_of("still here")).ok());
  old.settle();
  EXPECT_EQ(read_all(old.server), "still here");
}

TEST_F(TlsSourceOf, AHalfWrittenSetKeepsTheOldOneAndIsReportedOnce) {
  const auto source = open();
  const std::string before = serial(*source);
  const MadeCertificate made = files_.authority.issue();
  write_private(files_.path("server.crt"), made.certificate);
  EXPECT_EQ(source->refresh().status().detail(), kTlsKeyMismatch);
  EXPECT_FALSE(source->refresh().value());
  EXPECT_EQ(serial(*source), before);
  write_private(files_.path("server.key"), made.key);
  EXPECT_TRUE(source->refresh().value());
  EXPECT_NE(serial(*source), before);
}

TEST_F(TlsSourceOf, OtherRulesThatCannotBeKeepTheOldOnes) {
  const auto source = open();
  const auto before = source->current();
  TlsFiles files = files_.server_files();
  files.authority.clear();
  EXPECT_EQ(source->replace(files, {.demand_certificate = true}).detail(), kTlsFilesIncomplete);
  EXPECT_EQ(source->current(), before);
  EXPECT_TRUE(source->replace(files_.server_files(), {.demand_certificate = true}).ok());
  EXPECT_NE(source->current(), before);
}

}  // namespace
}  // namespace gcoord::security
