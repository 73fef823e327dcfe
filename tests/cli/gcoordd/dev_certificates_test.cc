// Certificates of `gcoordd dev`: what is made, what is used again, and what is made anew.
#include "cli/gcoordd/dev_certificates.h"

#include "security/certificates/check.h"
#include "security/certificates/folder.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace gcoord {
namespace {

namespace fs = std::filesystem;
using server::TlsMode;

constexpr std::int64_t kNow = 1'764'100'000;
constexpr std::int64_t kDay = 24 * 60 * 60;

class DevCertificatesTest : public testing::Test {
 protected:
  DevCertificatesTest() {
    options_.data_dir = folder_.path("data");
    options_.cluster = ClusterId{7};
    options_.tls.client = TlsMode::Permissive;
  }

  // What the options are completed to at that moment.
  server::NodeOptions make(std::int64_t now_s = kNow) {
    server::NodeOptions options = options_;
    DevCertificates dev;
    const Status made = dev.make(options, server::Verb::Dev, now_s);
    EXPECT_TRUE(made.ok()) << made.to_string();
    return options;
  }

  std::string text(const std::string& name) const {
    return certificates::read_public_file(fs::path{options_.data_dir} / "tls" / name).value();
  }

  fs::path file(const std::string& name) const {
    return fs::path{options_.data_dir} / "tls" / name;
  }

  const ScratchFolder folder_;
  server::NodeOptions options_;
};

TEST_F(DevCertificatesTest, AreGoodForTheNodeAndForAUserAndTheirKeysArePrivate) {
  options_.listen_client = {"192.0.2.7", 7400};
  const server::NodeOptions options = make();
  EXPECT_EQ(options.tls.files.certificate, file("node.crt").string());
  EXPECT_EQ(options.tls.files.key, file("node.key").string());
  EXPECT_EQ(options.tls.files.authority, file("ca.crt").string());
  EXPECT_TRUE(check_tls(options.tls).ok());
  for (const char* host : {"127.0.0.1", "localhost", "192.0.2.7"}) {
    EXPECT_TRUE(certificates::check_certificate({.certificate_pem = text("node.crt"),
                                                 .authority_pem = text("ca.crt"),
                                                 .now_s = kNow,
                                                 .host = host})
                    .ok())
        << host;
  }
  EXPECT_TRUE(certificates::check_certificate(
                  {.certificate_pem = text("admin.crt"),
                   .authority_pem = text("ca.crt"),
                   .now_s = kNow,
                   .holder = certificates::Holder{.kind = certificates::HolderKind::User,
                                                  .cluster = 7,
                                                  .node = 0,
                                                  .user = "admin"}})
                  .ok());
  for (const char* key : {"ca.key", "node.key", "admin.key"}) {
    EXPECT_EQ(fs::status(file(key)).permissions() & fs::perms{0177}, fs::perms::none) << key;
  }
}

TEST_F(DevCertificatesTest, AreUsedAgainUntilAMonthBeforeTheirEnd) {
  make();
  const std::string node = text("node.crt");
  const std::string authority = text("ca.crt");
  make(kNow + 300 * kDay);
  EXPECT_EQ(text("node.crt"), node);
  make(kNow + 340 * kDay);
  EXPECT_NE(text("node.crt"), node);
  EXPECT_EQ(text("ca.crt"), authority) << "who believes the CA goes on believing";
  make(kNow + 3640 * kDay);
  EXPECT_NE(text("ca.crt"), authority);
}

TEST_F(DevCertificatesTest, AreMadeAnewForAnotherHostAnotherClusterAndAfterDamage) {
  make();
  std::string before = text("node.crt");
  const auto is_new = [&] {
    make();
    return std::exchange(before, text("node.crt")) != text("node.crt");
  };
  EXPECT_FALSE(is_new());
  options_.listen_client = {"192.0.2.8", 7400};
  EXPECT_TRUE(is_new());
  std::ofstream(file("node.key")) << "nothing";
  EXPECT_TRUE(is_new());
  fs::remove(file("ca.key"));
  EXPECT_TRUE(is_new());
  options_.cluster = ClusterId{8};
  EXPECT_TRUE(is_new());
  EXPECT_FALSE(is_new());
}

TEST_F(DevCertificatesTest, AreForDevAloneAndOnlyWherePortsSpeakTls) {
  server::NodeOptions options = options_;
  DevCertificates dev;
  EXPECT_TRUE(dev.make(options, server::Verb::Run, kNow).ok());
  options.tls.client = TlsMode::Off;
  EXPECT_TRUE(dev.make(options, server::Verb::Dev, kNow).ok());
  options.tls.client = TlsMode::Required;
  options.tls.files.certificate = "own.crt";
  EXPECT_TRUE(dev.make(options, server::Verb::Dev, kNow).ok());
  EXPECT_EQ(options.tls.files.certificate, "own.crt");
  EXPECT_FALSE(dev.made());
  EXPECT_FALSE(fs::exists(file("")));
}

TEST_F(DevCertificatesTest, OptionsThatAreReadAgainGetTheSameFilesUnlessTheyNameOthers) {
  server::NodeOptions options = options_;
  DevCertificates dev;
  ASSERT_TRUE(dev.make(options, server::Verb::Dev, kNow).ok());
  EXPECT_EQ(dev.complete(options_.tls), options.tls);
  server::TlsChoices others = options_.tls;
  others.files.certificate = "own.crt";
  EXPECT_EQ(dev.complete(others), others);
}

TEST_F(DevCertificatesTest, AFileInTheWayIsSaid) {
  fs::create_directory(options_.data_dir);
  std::ofstream(file("").parent_path()) << "a file";
  server::NodeOptions options = options_;
  DevCertificates dev;
  EXPECT_EQ(dev.make(options, server::Verb::Dev, kNow).detail(), 1237u);
}

}  // namespace
}  // namespace gcoord
