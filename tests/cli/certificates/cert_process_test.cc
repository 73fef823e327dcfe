// gcoordctl cert, as an operator types it.
#include "tests/cli/programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;

class CertTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return scratch_.path(name); }

  Finished cert(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"-o", "json", "cert"});
    return run("gcoordctl", arguments);
  }

  void make_authority(const std::string& name = "ca") {
    const Finished made = cert({"ca", "--dir", path(name), "--cluster-id", "17"});
    ASSERT_EQ(made.code, 0) << made.out;
  }

  Finished issue_node(const std::string& id) {
    return cert({"issue",
                 "node",
                 id,
                 "--dir",
                 path("ca"),
                 "--hosts",
                 "localhost,127.0.0.1",
                 "--out",
                 path("node-" + id)});
  }

  ScratchFolder scratch_;
};

TEST_F(CertTest, ANodesCertificateIsMadeShownAndVerified) {
  make_authority();
  const Finished issued = issue_node("3");
  ASSERT_EQ(issued.code, 0) << issued.out;
  EXPECT_EQ(issued.json()["uris"][0], "gcoord://17/node/3");

  struct stat facts {};

  ASSERT_EQ(::stat(path("node-3.key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0600u);
  const Finished shown = cert({"show", path("node-3.crt"), path("ca/ca.crl")});
  EXPECT_EQ(shown.json()["certificates"][0]["dns"][0], "localhost");
  EXPECT_EQ(shown.json()["revocations"][0]["number"], "1");
  const Finished verified = cert({"verify",
                                  path("node-3.crt"),
                                  "--dir",
                                  path("ca"),
                                  "--host",
                                  "127.0.0.1",
                                  "--holder",
                                  "node/3",
                                  "--private-key",
                                  path("node-3.key")});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_EQ(verified.json()["valid"], true);
}

TEST_F(CertTest, EachReasonAgainstACertificateHasItsNumber) {
  make_authority();
  make_authority("other");
  ASSERT_EQ(issue_node("3").code, 0);
  const auto refusal = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"verify", path("node-3.crt")});
    const Finished finished = cert(flags);
    return finished.error_code() + " " + std::to_string(finished.code);
  };
  EXPECT_EQ(refusal({"--dir", path("ca"), "--host", "db1"}), "GC1217 1");
  EXPECT_EQ(refusal({"--dir", path("ca"), "--holder", "node/4"}), "GC1217 1");
  EXPECT_EQ(refusal({"--dir", path("ca"), "--holder", "user/alice"}), "GC1217 1");
  EXPECT_EQ(refusal({"--dir", path("ca"), "--private-key", path("ca/ca.key")}), "GC1218 1");
  EXPECT_EQ(refusal({"--dir", path("other")}), "GC1216 1");
  EXPECT_EQ(refusal({"--cacert", path("node-3.crt")}), "GC1207 2");
  EXPECT_EQ(refusal({"--dir", path("nowhere")}), "GC1002 2");
  EXPECT_EQ(refusal({"--dir", path("ca"), "--crl", path("other/ca.crl")}), "GC1220 1");
}

TEST_F(CertTest, ARevokedCertificateIsRefusedAndNotRenewed) {
  make_authority();
  ASSERT_EQ(issue_node("1").code, 0);
  const Finished revoked = cert({"revoke", path("node-1.crt"), "--dir", path("ca")});
  ASSERT_EQ(revoked.code, 0) << revoked.out;
  EXPECT_EQ(revoked.json()["revoked"].size(), 1u);
  EXPECT_EQ(cert({"verify", path("node-1.crt"), "--dir", path("ca")}).error_code(), "GC1213");
  EXPECT_EQ(cert({"renew", path("node-1.crt"), "--dir", path("ca")}).error_code(), "GC1213");
}

TEST_F(CertTest, ARenewalReplacesWhatANodeReads) {
  make_authority();
  ASSERT_EQ(issue_node("1").code, 0);
  const std::string before = file_text(path("node-1.crt"));
  const Finished renewed = cert({"renew", path("node-1.crt"), "--dir", path("ca"), "--days", "30"});
  ASSERT_EQ(renewed.code, 0) << renewed.out;
  EXPECT_NE(file_text(path("node-1.crt")), before);
  EXPECT_EQ(
      cert({"verify", path("node-1.crt"), "--dir", path("ca"), "--private-key", path("node-1.key")})
          .code,
      0);
}

TEST_F(CertTest, BadWishesAreRefusedWithoutAFile) {
  make_authority();
  const auto refusal = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"issue"});
    flags.insert(flags.end(), {"--dir", path("ca"), "--out", path("x")});
    return cert(flags).error_code();
  };
  EXPECT_EQ(refusal({"node", "1"}), "GC1210");
  EXPECT_EQ(refusal({"node", "0", "--hosts", "a"}), "GC1208");
  EXPECT_EQ(refusal({"node", "one", "--hosts", "a"}), "GC1001");
  EXPECT_EQ(refusal({"user", "a b"}), "GC1208");
  EXPECT_EQ(refusal({"node", "1", "--hosts", "10.0.0.256"}), "GC1209");
  EXPECT_EQ(refusal({"user", "a", "--days", "3651"}), "GC1211");
  EXPECT_EQ(refusal({"user", "a", "--cluster-id", "18"}), "GC1221");
  EXPECT_EQ(refusal({"role", "a"}), "GC1001");
  EXPECT_EQ(cert({"ca", "--dir", path("ca"), "--cluster-id", "17"}).error_code(), "GC1205");
  EXPECT_EQ(cert({"show", path("ca/ca.key")}).error_code(), "GC1202");
  EXPECT_EQ(cert({"show", path("absent")}).error_code(), "GC1201");
  ASSERT_EQ(::chmod(path("ca/ca.key").c_str(), 0644), 0);
  EXPECT_EQ(refusal({"user", "a"}), "GC1203");
  EXPECT_FALSE(fs::exists(path("x.crt")));
  EXPECT_FALSE(fs::exists(path("x.key")));
}

TEST_F(CertTest, AContextKeepsTheFilesByTheirWholePaths) {
  const ScratchFolder home;
  ChildOptions options = program(
      "gcoordctl",
      {"context", "set", "lab", "--endpoints", "127.0.0.1:1", "--cacert", "ca.crt", "-o", "json"});
  options.environment.push_back({"XDG_CONFIG_HOME", home.path().string()});
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok());
  const auto json = nlohmann::json::parse(child.value().read_all(kPatience), nullptr, false);
  EXPECT_EQ(child.value().wait_for(kPatience), 0);
  EXPECT_EQ(json["cacert"], (fs::current_path() / "ca.crt").string());
}

}  // namespace
}  // namespace gcoord::cli
