// What --force-new-cluster says and asks, with a person at the terminal and without.
#include "cli/gcoordd/force_new_cluster.h"

#include "protocol/error_codes.h"
#include "security/secret/cluster_secret.h"
#include "security/secret/file.h"
#include "tests/server/force/survivor_directory.h"

#include <gmock/gmock.h>

#include <optional>
#include <sstream>
#include <string>

namespace gcoord {
namespace {

using protocol::ErrorCode;
using server::SurvivorDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ForceTerminalTest : public testing::Test {
 protected:
  Status run(const std::optional<std::string>& typed, const server::ForceFlags& flags = {}) {
    server::Invocation invocation;
    invocation.purpose = server::Purpose::ForceNewCluster;
    invocation.force = flags;
    invocation.options.data_dir = survivor_.path();
    invocation.options.tls.files = tls_files_;
    out_.str("");
    err_.str("");
    asked_ = 0;
    return force_new_cluster(invocation, {.out = out_, .err = err_, .ask = [&] {
                                            ++asked_;
                                            return typed;
                                          }});
  }

  static std::uint32_t number(ErrorCode code) { return static_cast<std::uint32_t>(code); }

  const SurvivorDirectory survivor_;
  security::TlsFiles tls_files_;
  std::ostringstream out_;
  std::ostringstream err_;
  int asked_ = 0;
};

TEST_F(ForceTerminalTest, NothingIsDoneBeforeTheIdIsTyped) {
  EXPECT_EQ(run(std::nullopt).detail(), number(ErrorCode::ForceUnconfirmed));
  EXPECT_EQ(run("").detail(), number(ErrorCode::ForceUnconfirmed));
  EXPECT_EQ(run("yes").detail(), number(ErrorCode::ForceOtherCluster));
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(survivor_.cluster_now(), survivor_.cluster());
  EXPECT_THAT(survivor_.neighbours(), ElementsAre("data"));
}

TEST_F(ForceTerminalTest, WhatMayBeLostIsSaidBeforeItIsAskedFor) {
  ASSERT_TRUE(run(survivor_.id()).ok());
  const std::string said = err_.str();
  const std::size_t lost = said.find("Lost: whatever the other nodes acknowledged");
  const std::size_t open = said.find("Counts from now on: 1 of its entries");
  const std::size_t asked = said.find("Type the id");
  ASSERT_NE(lost, std::string::npos) << said;
  ASSERT_NE(open, std::string::npos) << said;
  ASSERT_NE(asked, std::string::npos) << said;
  EXPECT_LT(lost, asked);
  EXPECT_LT(open, asked);
  EXPECT_NE(survivor_.cluster_now(), survivor_.cluster());
  EXPECT_THAT(out_.str(), HasSubstr("retired-id        " + survivor_.id()));
  EXPECT_THAT(out_.str(),
              HasSubstr("new-cluster-id    " + std::to_string(survivor_.cluster_now().value)));
  EXPECT_THAT(said, HasSubstr("rm -r " + survivor_.beside(".before-force-")));
}

TEST_F(ForceTerminalTest, TheSecretComesAlongAndCertificatesAreSaidToBeOfTheOldCluster) {
  const auto secret = security::ClusterSecret::generate();
  const std::string file = survivor_.path() + "/" + std::string{security::kClusterSecretName};
  ASSERT_TRUE(security::write_new_secret_file(file, secret.to_text().bytes()).ok());
  tls_files_.certificate = "/etc/gcoord/node-3.crt";
  ASSERT_TRUE(run(survivor_.id()).ok());
  const auto carried = security::ClusterSecret::read(file);
  ASSERT_TRUE(carried.ok()) << carried.status().to_string();
  EXPECT_EQ(carried.value().id(), secret.id());
  const std::string cluster = std::to_string(survivor_.cluster_now().value);
  EXPECT_THAT(err_.str(), HasSubstr("/etc/gcoord/node-3.crt names the old cluster"));
  EXPECT_THAT(err_.str(),
              HasSubstr("gcoordctl cert ca --dir ca-" + cluster + " --cluster-id " + cluster));
}

TEST_F(ForceTerminalTest, ADryRunAsksNothingAndChangesNothing) {
  ASSERT_TRUE(run(std::nullopt, {.dry_run = true, .confirm = survivor_.id()}).ok());
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(survivor_.cluster_now(), survivor_.cluster());
  EXPECT_THAT(out_.str(), HasSubstr("node              3 \"node-3\""));
  EXPECT_THAT(out_.str(), HasSubstr("newest-entry      2025-11-24T16:00:00Z"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("new-cluster-id")));
}

TEST_F(ForceTerminalTest, AScriptTypesNothing) {
  ASSERT_TRUE(run(std::nullopt, {.dry_run = false, .confirm = survivor_.id()}).ok());
  EXPECT_EQ(asked_, 0);
  const ClusterId made = survivor_.cluster_now();
  EXPECT_NE(made, survivor_.cluster());
  // Once more changes nothing.
  ASSERT_TRUE(run(std::nullopt, {.dry_run = false, .confirm = survivor_.id()}).ok());
  EXPECT_EQ(survivor_.cluster_now(), made);
  EXPECT_THAT(err_.str(), HasSubstr("made already"));
  EXPECT_THAT(out_.str(), HasSubstr("retired-id        " + survivor_.id()));
}

}  // namespace
}  // namespace gcoord
