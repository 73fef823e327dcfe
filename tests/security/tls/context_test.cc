#include "security/tls/context.h"

#include "security/tls/errors.h"
#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gcoord::security {
namespace {

class TlsContextOf : public testing::Test {
 protected:
  std::uint32_t failure(TlsSide side, const TlsFiles& files, const TlsPolicy& policy = {}) {
    return TlsContext::load(side, files, policy).status().detail();
  }

  TlsTestFiles files_;
};

TEST_F(TlsContextOf, SaysWhenItsCertificateEnds) {
  EXPECT_GT(loaded(TlsSide::Server, files_.server_files())->not_after_s(), 1'700'000'000);
  EXPECT_EQ(loaded(TlsSide::Client, {.authority = files_.path("ca.crt")})->not_after_s(), 0);
}

TEST_F(TlsContextOf, RefusesAKeyThatOthersMayRead) {
  for (const mode_t mode : {0640, 0604, 0620, 0610}) {
    ASSERT_EQ(::chmod(files_.path("server.key").c_str(), mode), 0);
    EXPECT_EQ(failure(TlsSide::Server, files_.server_files()), kTlsKeyPermissions) << mode;
  }
  ASSERT_EQ(::chmod(files_.path("server.key").c_str(), 0400), 0);
  EXPECT_EQ(failure(TlsSide::Server, files_.server_files()), 0u);
}

TEST_F(TlsContextOf, RefusesAKeyOfAnotherCertificate) {
  TlsFiles files = files_.server_files();
  files.key = files_.path("client.key");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsKeyMismatch);
}

TEST_F(TlsContextOf, RefusesFilesThatAreMissingDamagedOrOfAnotherKind) {
  TlsFiles files = files_.server_files();
  files.certificate = files_.path("absent.crt");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileUnreadable);
  files.certificate = files_.folder();
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileUnreadable);
  files.certificate = files_.path("server.key");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileInvalid);
  const std::string good = files_.authority.certificate();
  write_private(files_.path("cut.crt"), good.substr(0, good.size() - 40));
  files = files_.server_files();
  files.authority = files_.path("cut.crt");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileInvalid);
  write_private(files_.path("two.crt"), good + good.substr(0, 300));
  files.authority = files_.path("two.crt");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileInvalid);
  files = files_.server_files();
  files.revoked = files_.path("ca.crt");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileInvalid);
  write_private(files_.path("large.crt"), std::string((1 << 20) + 1, 'x'));
  files.revoked = files_.path("large.crt");
  EXPECT_EQ(failure(TlsSide::Server, files), kTlsFileInvalid);
}

TEST_F(TlsContextOf, NamesFilesThatNeedEachOther) {
  const std::string certificate = files_.path("server.crt");
  EXPECT_EQ(failure(TlsSide::Server, {}), kTlsFilesIncomplete);
  EXPECT_EQ(failure(TlsSide::Server, {.certificate = certificate}), kTlsFilesIncomplete);
  EXPECT_EQ(failure(TlsSide::Client, {.certificate = certificate}), kTlsFilesIncomplete);
  EXPECT_EQ(failure(TlsSide::Client, {.revoked = certificate}), kTlsFilesIncomplete);
  TlsFiles files = files_.server_files();
  files.authority.clear();
  EXPECT_EQ(failure(TlsSide::Server, files, {.demand_certificate = true}), kTlsFilesIncomplete);
  EXPECT_EQ(failure(TlsSide::Server, files), 0u);
}

}  // namespace
}  // namespace gcoord::security
