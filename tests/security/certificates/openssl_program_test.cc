// What is made here is what the `openssl` program takes for right.
#include "security/certificates/folder.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates/lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string>

namespace gcoord::certificates {
namespace {

struct Finished {
  int code = -1;
  std::string out;
};

Finished run(const std::string& command) {
  Finished finished;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> bytes{};
  for (std::size_t count = 0; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) {
    finished.out.append(bytes.data(), count);
  }
  const int status = ::pclose(pipe);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return finished;
}

class OpensslProgramTest : public testing::TestWithParam<KeyAlgorithm> {
 protected:
  void SetUp() override {
    if (run("openssl version").code != 0) {
      GTEST_SKIP() << "there is no openssl program";
    }
    auto made = folder_.found({.cluster = kCluster, .algorithm = GetParam(), .now_s = now_});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    issue(node_wishes(), node_);
    issue({.holder = user("alice")}, user_);
  }

  void issue(IssueWishes wishes, const PairPaths& paths) {
    wishes.now_s = now_;
    const auto issued = folder_.issue(wishes, GetParam(), paths);
    ASSERT_TRUE(issued.ok()) << issued.status().to_string();
  }

  std::string verify(const std::string& flags, const PairPaths& paths) {
    const Finished finished =
        run("openssl verify -x509_strict -CAfile " + folder_.certificate_path().string() + " " +
            flags + " " + paths.certificate.string());
    return finished.code == 0 ? "OK" : finished.out;
  }

  const std::int64_t now_ = std::time(nullptr);
  ScratchFolder scratch_;
  AuthorityFolder folder_{scratch_.path() / "ca"};
  PairPaths node_ = pair_paths(scratch_.path() / "node-1");
  PairPaths user_ = pair_paths(scratch_.path() / "alice");
};

INSTANTIATE_TEST_SUITE_P(Algorithms,
                         OpensslProgramTest,
                         testing::Values(KeyAlgorithm::P256, KeyAlgorithm::Ed25519));

TEST_P(OpensslProgramTest, ItAcceptsTheChainAndTheNames) {
  EXPECT_EQ(verify("-purpose sslserver -verify_hostname db1.example.org", node_), "OK");
  EXPECT_EQ(verify("-purpose sslclient -verify_ip 10.0.0.1", node_), "OK");
  EXPECT_EQ(verify("-purpose sslclient", user_), "OK");
  EXPECT_THAT(verify("-purpose sslserver", user_), testing::HasSubstr("purpose"));
  EXPECT_THAT(verify("-verify_hostname db2.example.org", node_),
              testing::HasSubstr("hostname mismatch"));
}

TEST_P(OpensslProgramTest, ItAcceptsTheRevocationList) {
  const std::string list = "-crl_check -CRLfile " + folder_.revocations_path().string();
  EXPECT_EQ(verify(list, user_), "OK");
  const std::string pem = read_public_file(user_.certificate).value();
  ASSERT_TRUE(folder_.revoke({serial_of_pem(pem)}, now_).ok());
  EXPECT_THAT(verify(list, user_), testing::HasSubstr("certificate revoked"));
  EXPECT_EQ(verify(list, node_), "OK");
}

TEST_P(OpensslProgramTest, ItReadsTheKeysAndTheSameSerial) {
  EXPECT_EQ(run("openssl pkey -noout -check -in " + node_.key.string()).code, 0);
  const std::string pem = read_public_file(node_.certificate).value();
  EXPECT_THAT(run("openssl x509 -noout -serial -in " + node_.certificate.string()).out,
              testing::HasSubstr("serial=" + serial_of_pem(pem)));
}

TEST_P(OpensslProgramTest, ARenewedCertificateIsAcceptedToo) {
  ASSERT_TRUE(folder_.renew({.now_s = now_}, KeyAlgorithm::P256, node_).ok());
  EXPECT_EQ(verify("-purpose sslserver -verify_hostname db1.example.org", node_), "OK");
}

}  // namespace
}  // namespace gcoord::certificates
