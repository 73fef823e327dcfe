// Clusters that let no stranger in from their first moment: by certificates, and by rights.
#include "tests/cli/access/trust_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class CertifiedTest : public TrustTest {
 protected:
  CertifiedTest() : TrustTest({}, {"--client-certificates", "required"}) {}
};

class FirstRightsTest : public TrustTest {
 protected:
  FirstRightsTest() : TrustTest({}, {"--with-rights"}) {}
};

TEST_F(CertifiedTest, AClientWithoutACertificateGetsNothing) {
  EXPECT_THAT(init_said_, HasSubstr("whoever has one may do everything"));
  must(admin(), {"lock", "acquire", "a", "--ttl", "30s"});
  const Finished stranger =
      ctl()({"-o", "json", "--timeout", "2s", "--cacert", made_file("ca.crt"), "lock", "get", "a"});
  EXPECT_NE(stranger.code, 0) << stranger.out;
  EXPECT_THAT(stranger.out, Not(HasSubstr("token")));
  const Finished doctor = as(admin(), {"doctor"});
  EXPECT_THAT(doctor.out, Not(HasSubstr("may do everything")));
}

TEST_F(FirstRightsTest, OnlyTheFirstAdminMayDoAnythingUntilItSaysOtherwise) {
  EXPECT_THAT(init_said_, HasSubstr("only admin.crt may do anything"));
  must(admin(), {"lock", "acquire", "a", "--ttl", "30s"});
  refused(nobody(), {"lock", "acquire", "b"}, "GC6560");
  const auto status = as(admin(), {"auth", "status"}).json();
  EXPECT_EQ(status["enabled"], true);
  write_private(folder_.path() / "bob.pw", "a password of bob's");
  must(admin(), {"role", "add", "jobs", "write", "--prefix", "jobs/"});
  must(admin(),
       {"user", "add", "bob", "--role", "jobs", "--password-file", folder_.path() / "bob.pw"});
  must(bob(), {"lock", "acquire", "jobs/a", "--ttl", "30s"});
  // Said by every node, and kept over a restart.
  const auto report = as(admin(), {"status"}).json();
  for (const auto& node : report["nodes"]) {
    EXPECT_EQ(node["access"]["open_to"], "nobody") << node.dump();
    EXPECT_EQ(node["access"]["rights_checked"], true);
  }
}

}  // namespace
}  // namespace gcoord::cli
