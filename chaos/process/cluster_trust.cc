#include "chaos/process/cluster_trust.h"

#include "security/certificates/folder.h"
#include "security/secret/cluster_secret.h"
#include "security/secret/file.h"

namespace gcoord::chaos {

namespace {

namespace certs = certificates;

// A run that lasts longer is none of a test.
constexpr std::uint32_t kDays = 30;

std::string name_of(std::uint32_t node_id) {
  return "node-" + std::to_string(node_id);
}

}  // namespace

Result<ClusterTrust> ClusterTrust::make(const Wishes& wishes) {
  const certs::AuthorityFolder authority{wishes.folder};
  GCOORD_TRY(const auto founded,
             authority.found({.cluster = wishes.cluster,
                              .name = "gcoord CA of one run",
                              .now_s = wishes.now_s,
                              .days = kDays}));
  for (std::uint32_t id = 1; id <= wishes.node_count; ++id) {
    GCOORD_TRY(const auto issued,
               authority.issue({.holder = {.kind = certs::HolderKind::Node, .node = id},
                                .hosts = {"127.0.0.1", "::1", "localhost"},
                                .now_s = wishes.now_s,
                                .days = kDays},
                               certs::KeyAlgorithm::P256,
                               certs::pair_paths(wishes.folder / name_of(id))));
  }
  GCOORD_TRY(const auto issued,
             authority.issue({.holder = {.kind = certs::HolderKind::User, .user = "client"},
                              .now_s = wishes.now_s,
                              .days = kDays},
                             certs::KeyAlgorithm::P256,
                             certs::pair_paths(wishes.folder / "client")));
  const auto secret = security::ClusterSecret::generate().to_text();
  GCOORD_TRY_STATUS(security::write_new_secret_file(
      wishes.folder / std::string{security::kClusterSecretName}, secret.bytes()));
  return ClusterTrust{wishes};
}

std::vector<std::string> ClusterTrust::arguments(std::uint32_t node_id) const {
  return {"--cluster-id",
          std::to_string(wishes_.cluster),
          "--tls-cert",
          file(name_of(node_id) + ".crt"),
          "--tls-key",
          file(name_of(node_id) + ".key"),
          "--tls-ca",
          file("ca.crt"),
          "--tls-crl",
          file("ca.crl"),
          "--client-tls",
          "required",
          "--http-tls",
          "required",
          "--peer-tls",
          "required",
          "--cluster-secret",
          file(std::string{security::kClusterSecretName})};
}

client::TlsOptions ClusterTrust::client() const {
  return {.enabled = true,
          .cacert = file("ca.crt"),
          .cert = file("client.crt"),
          .key = file("client.key")};
}

}  // namespace gcoord::chaos
