#include "cli/cluster/plan.h"

#include "cli/cluster/files.h"
#include "cli/cluster/trust.h"
#include "protocol/error_codes.h"
#include "security/certificates/check.h"
#include "security/secret/cluster_secret.h"
#include "server/options/options.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;

ClusterWishes wishes(std::uint32_t nodes, std::vector<std::string> hosts = {}) {
  return {.nodes = nodes,
          .hosts = std::move(hosts),
          .cluster_id = ~std::uint64_t{0},
          .shards = 64,
          .data_dir = "/var/lib/a \"quoted\\ \" folder",
          .insecure = true};
}

std::uint32_t refusal(const ClusterWishes& asked) {
  return plan_cluster(asked).status().detail();
}

std::uint32_t number(protocol::ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

// What gcoordd makes of a node's file.
server::NodeOptions options_of(const fs::path& file) {
  const std::vector<std::string> arguments{"--config", file.string()};
  const auto parsed = server::parse_invocation(
      arguments, [](const std::string&) { return std::optional<std::string>{}; });
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  return parsed.ok() ? parsed.value().options : server::NodeOptions{};
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(ClusterPlan, EveryFileIsOneThatANodeTakes) {
  for (const ClusterWishes& asked : {wishes(0),
                                     wishes(7),
                                     wishes(1),
                                     wishes(3, {"10.0.0.1", "fd00::2", "node-3.example.org"}),
                                     wishes(5, {"a", "a", "b", "a", "localhost"})}) {
    const ScratchFolder folder;
    const ClusterPlan plan = plan_cluster(asked).value();
    const auto files = write_configurations(plan, folder.path() / "made").value();
    ASSERT_EQ(files.size(), plan.nodes.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      const server::NodeOptions options = options_of(files[i]);
      EXPECT_EQ(options.node, NodeId{static_cast<std::uint32_t>(i + 1)});
      EXPECT_EQ(options.cluster, ClusterId{asked.cluster_id});
      EXPECT_EQ(options.shards, asked.shards);
      EXPECT_EQ(options.peers.size(), files.size() - 1);
      EXPECT_EQ(options.data_dir, plan.nodes[i].data_dir);
      EXPECT_EQ(options.listen_client, plan.nodes[i].client);
      EXPECT_EQ(options.listen_metrics, plan.nodes[i].metrics);
      EXPECT_EQ(options.listen_ledger, plan.nodes[i].ledger);
      for (const auto& peer : options.peers) {
        EXPECT_EQ(peer.client, plan.nodes[peer.id.value - 1].client);
        EXPECT_EQ(peer.peer, plan.nodes[peer.id.value - 1].peer);
      }
    }
  }
}

ClusterWishes with_tls(const ScratchFolder& folder, std::vector<std::string> hosts = {}) {
  ClusterWishes asked = wishes(0, std::move(hosts));
  asked.tls = true;
  asked.data_dir = folder.path() / "data";
  asked.files_dir = folder.path() / "made";
  return asked;
}

TEST(ClusterTrust, EveryNodeFindsACertificateOfItsOwnAndTheSecret) {
  const ScratchFolder folder;
  const ClusterPlan plan = plan_cluster(with_tls(folder, {"10.0.0.1", "db2.example.org"})).value();
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  const auto written = write_cluster(plan, folder.path() / "made", now);
  ASSERT_TRUE(written.ok()) << written.status().to_string();
  for (const PlannedNode& node : plan.nodes) {
    const server::NodeOptions options = options_of(written.value().configurations[node.id - 1]);
    const auto key = certificates::PrivateKey::read(options.tls.files.key);
    ASSERT_TRUE(key.ok()) << key.status().to_string();
    const Status good = certificates::check_certificate(
        {.certificate_pem = text_of(options.tls.files.certificate),
         .authority_pem = text_of(options.tls.files.authority),
         .revocations_pem = text_of(options.tls.files.revoked),
         .now_s = now,
         .host = node.client.host,
         .holder = certificates::Holder{.kind = certificates::HolderKind::Node,
                                        .cluster = plan.cluster_id,
                                        .node = node.id,
                                        .user = {}},
         .key = &key.value()});
    EXPECT_TRUE(good.ok()) << good.to_string();
    EXPECT_EQ(options.cluster_secret, (folder.path() / "made" / "cluster.secret").string());
  }
  EXPECT_TRUE(security::ClusterSecret::read(folder.path("made/cluster.secret")).ok());
  EXPECT_TRUE(fs::exists(folder.path() / "made" / "admin.key"));
}

TEST(ClusterTrust, AllIsWrittenOrNothing) {
  const ScratchFolder folder;
  const ClusterPlan plan = plan_cluster(with_tls(folder)).value();
  fs::create_directory(folder.path() / "made");
  std::ofstream(folder.path() / "made" / "node-2.key") << "mine";
  const auto written = write_cluster(plan, folder.path() / "made", std::time(nullptr));
  EXPECT_EQ(written.status().detail(), number(protocol::ErrorCode::CertificateInTheWay));
  EXPECT_EQ(text_of(folder.path() / "made" / "node-2.key"), "mine");
  for (const char* name : {"ca", "ca.crt", "node-1.crt", "node-1.key", "node-1.toml"}) {
    EXPECT_FALSE(fs::exists(folder.path() / "made" / name)) << name;
  }
}

TEST(ClusterTrust, WithTlsOnAllPortsHostsNeedNoWordAboutThem) {
  const ScratchFolder folder;
  for (const bool insecure : {false, true}) {
    ClusterWishes asked = with_tls(folder, {"10.0.0.1"});
    asked.insecure = insecure;
    const ClusterPlan plan = plan_cluster(asked).value();
    const std::string text = configuration_of(plan, plan.nodes[0]);
    EXPECT_EQ(text.find("insecure"), std::string::npos) << text;
    EXPECT_NE(text.find("peer_tls = \"required\""), std::string::npos) << text;
  }
  ClusterWishes asked = with_tls(folder);
  asked.files_dir = "here";
  EXPECT_EQ(refusal(asked), number(protocol::ErrorCode::OptionInvalid));
}

TEST(ClusterTrust, BeyondLoopbackClientsShowACertificate) {
  const ScratchFolder folder;
  const auto wish = [](const ClusterWishes& asked) {
    const ClusterPlan plan = plan_cluster(asked).value();
    const std::string text = configuration_of(plan, plan.nodes[0]);
    const std::string key = "client_certificates = ";
    const std::size_t at = text.find(key);
    EXPECT_NE(at, std::string::npos) << text;
    return text.substr(at + key.size(), text.find('\n', at) - at - key.size());
  };
  EXPECT_EQ(wish(with_tls(folder)), "\"optional\"");
  EXPECT_EQ(wish(with_tls(folder, {"10.0.0.1", "localhost"})), "\"required\"");
  ClusterWishes asked = with_tls(folder, {"10.0.0.1"});
  asked.client_certificates = "optional";
  EXPECT_EQ(wish(asked), "\"optional\"");
  asked.client_certificates = "some";
  EXPECT_EQ(refusal(asked), number(protocol::ErrorCode::OptionInvalid));
}

TEST(ClusterTrust, RightsFromTheStartAreOfTheOperatorsCertificate) {
  const ScratchFolder folder;
  ClusterWishes asked = with_tls(folder, {"10.0.0.1"});
  asked.rights = true;
  const ClusterPlan plan = plan_cluster(asked).value();
  const auto files = write_configurations(plan, folder.path() / "made").value();
  EXPECT_EQ(options_of(files[0]).first_admin, kOperatorName);
  asked.tls = false;
  EXPECT_EQ(refusal(asked), number(protocol::ErrorCode::OptionInvalid));
}

TEST(ClusterPlan, NodesOfOneHostShareNeitherPortsNorDirectories) {
  std::set<std::string> addresses;
  std::set<std::string> directories;
  const ClusterPlan plan = plan_cluster(wishes(4, {"a", "b", "a", "a"})).value();
  for (const PlannedNode& node : plan.nodes) {
    addresses.insert(server::to_string(node.client));
    addresses.insert(server::to_string(node.peer));
    directories.insert(node.client.host + node.data_dir);
  }
  EXPECT_EQ(addresses.size(), 8u);
  EXPECT_EQ(directories.size(), 4u);
  EXPECT_EQ(plan_cluster(wishes(0)).value().endpoints(),
            "127.0.0.1:7401,127.0.0.1:7402,127.0.0.1:7403");
  EXPECT_EQ(plan_cluster(wishes(0, {"a", "b"})).value().endpoints(), "a:7400,b:7400");
}

TEST(ClusterPlan, WishesThatNoClusterCanHaveAreRefused) {
  const std::uint32_t invalid = number(protocol::ErrorCode::OptionInvalid);
  EXPECT_EQ(refusal(wishes(8)), invalid);
  EXPECT_EQ(refusal(wishes(2, {"a", "b", "c"})), invalid);
  for (const char* host : {"", "a b", "0.0.0.0", "::", "a/b", "http://a"}) {
    EXPECT_EQ(refusal(wishes(1, {host})), invalid) << host;
  }
  for (const std::uint32_t port : {65'400u, 70'000u, ~0u}) {
    ClusterWishes asked = wishes(3);
    asked.client_port = port;
    EXPECT_EQ(refusal(asked), invalid) << port;
  }
  ClusterWishes asked = wishes(3);
  asked.shards = 0;
  EXPECT_EQ(refusal(asked), invalid);
  asked = wishes(3);
  asked.name = "two words";
  EXPECT_EQ(refusal(asked), invalid);
  for (const char* directory : {"", "here", "/a\nb"}) {
    asked = wishes(3);
    asked.data_dir = directory;
    EXPECT_EQ(refusal(asked), invalid) << directory;
  }
  asked = wishes(1, {"10.0.0.1"});
  asked.insecure = false;
  EXPECT_EQ(refusal(asked), number(protocol::ErrorCode::ListenInsecure));
}

TEST(ClusterFiles, NothingIsWrittenOver) {
  const ScratchFolder folder;
  ClusterWishes asked = wishes(3);
  asked.data_dir = folder.path();
  const ClusterPlan plan = plan_cluster(asked).value();
  std::ofstream(folder.path() / "node-3.toml") << "mine";
  EXPECT_FALSE(write_configurations(plan, folder.path()).ok());
  EXPECT_EQ(text_of(folder.path() / "node-3.toml"), "mine");
  EXPECT_FALSE(fs::exists(folder.path() / "node-1.toml")) << "all or none";

  // A link to nowhere is something, too.
  fs::remove(folder.path() / "node-3.toml");
  fs::create_symlink(folder.path() / "elsewhere", folder.path() / "node-2.toml");
  EXPECT_FALSE(write_configurations(plan, folder.path()).ok());
  EXPECT_FALSE(fs::exists(folder.path() / "elsewhere"));

  fs::remove(folder.path() / "node-2.toml");
  fs::create_directories(folder.path() / "node-2" / "wal");
  EXPECT_FALSE(write_configurations(plan, folder.path()).ok()) << "data of another cluster";
  fs::remove_all(folder.path() / "node-2");
  EXPECT_TRUE(write_configurations(plan, folder.path()).ok());
  EXPECT_FALSE(write_configurations(plan, folder.path()).ok()) << "a second time";
}

}  // namespace
}  // namespace gcoord::cli
