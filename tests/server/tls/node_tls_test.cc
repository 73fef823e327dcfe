#include "server/tls/node_tls.h"

#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

class NodeTlsOf : public testing::Test {
 protected:
  std::uint64_t loads(const char* result) {
    return metrics_.counter({"gcoord_server_tls_loads_total", "", "result", result}).value();
  }

  security::TlsTestFiles files_;
  MetricsRegistry metrics_;
  NodeTls tls_{metrics_};
};

TEST_F(NodeTlsOf, ANodeWithoutACertificateHasNoneAndLooksAtNothing) {
  ASSERT_TRUE(tls_.open({}).ok());
  tls_.look(5'000);
  tls_.change({});
  EXPECT_EQ(tls_.client().rule().mode, TlsMode::Off);
  EXPECT_EQ(loads("failed"), 0u);
}

TEST_F(NodeTlsOf, GoesThroughAllModesByChoice) {
  ASSERT_TRUE(tls_.open({}).ok());
  TlsChoices choices{.files = files_.server_files()};
  for (const TlsMode mode : {TlsMode::Off, TlsMode::Permissive, TlsMode::Required}) {
    choices.client = mode;
    tls_.change(choices);
    EXPECT_EQ(tls_.client().rule().mode, mode);
    EXPECT_EQ(tls_.client().rule().context != nullptr, mode != TlsMode::Off);
    EXPECT_EQ(tls_.http().rule().mode, TlsMode::Required);
  }
  tls_.change({});
  EXPECT_EQ(tls_.client().rule().mode, TlsMode::Off);
}

TEST_F(NodeTlsOf, AChoiceThatCannotBeLeavesEverythingAsItWas) {
  const TlsChoices good{.files = files_.server_files()};
  ASSERT_TRUE(tls_.open(good).ok());
  const auto before = tls_.client().rule().context;
  TlsChoices bad = good;
  bad.files.key = files_.path("client.key");
  bad.client = TlsMode::Permissive;
  tls_.change(bad);
  EXPECT_EQ(tls_.client().rule().mode, TlsMode::Required);
  EXPECT_EQ(tls_.client().rule().context, before);
  EXPECT_EQ(loads("failed"), 1u);
}

TEST_F(NodeTlsOf, ChangedFilesAreTakenWithinASecond) {
  ASSERT_TRUE(tls_.open({.files = files_.server_files()}).ok());
  tls_.look(1'000);
  const auto before = tls_.client().rule().context;
  write_certificate(files_.folder(), "server", files_.authority.issue());
  tls_.look(1'500);
  EXPECT_EQ(tls_.client().rule().context, before);
  tls_.look(2'000);
  EXPECT_NE(tls_.client().rule().context, before);
  EXPECT_EQ(tls_.http().rule().context, tls_.client().rule().context);
  EXPECT_EQ(loads("ok"), 2u);
}

}  // namespace
}  // namespace gcoord::server
