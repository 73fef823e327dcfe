#include "cli/cluster/trust.h"

#include "cli/cluster/files.h"
#include "protocol/error_codes.h"
#include "security/certificates/folder.h"
#include "security/secret/cluster_secret.h"
#include "security/secret/file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;
namespace certs = certificates;

// What is written one after the other, and taken back when one of it fails.
class TrustWriter {
 public:
  TrustWriter(const ClusterPlan& plan, fs::path directory, std::int64_t now_s)
      : plan_(plan),
        directory_(std::move(directory)),
        paths_(trust_paths(directory_)),
        authority_(directory_ / "ca"),
        now_s_(now_s) {}

  Status write() {
    GCOORD_TRY_STATUS(write_authority());
    for (const PlannedNode& node : plan_.nodes) {
      GCOORD_TRY_STATUS(issue({.holder = {.kind = certs::HolderKind::Node, .node = node.id},
                               .hosts = hosts_of(node),
                               .now_s = now_s_},
                              directory_ / ("node-" + std::to_string(node.id))));
    }
    GCOORD_TRY_STATUS(
        issue({.holder = {.kind = certs::HolderKind::User, .user = kOperatorName}, .now_s = now_s_},
              directory_ / kOperatorName));
    return write_secret();
  }

  void take_back() const {
    std::error_code ignored;
    for (const fs::path& each : written_) {
      fs::remove(each, ignored);
    }
    if (made_authority_) {
      fs::remove_all(directory_ / "ca", ignored);
    }
  }

  const std::vector<fs::path>& written() const { return written_; }

 private:
  // A copy of what is public lies beside the configurations, so that a host is never given ca/.
  Status write_authority() {
    GCOORD_TRY(const auto authority,
               authority_.found({.cluster = plan_.cluster_id,
                                 .name = "gcoord CA of " + plan_.name.substr(0, 40),
                                 .now_s = now_s_}));
    made_authority_ = true;
    GCOORD_TRY(const std::string pem, authority.pem());
    GCOORD_TRY(const std::string list, certs::read_public_file(authority_.revocations_path()));
    GCOORD_TRY_STATUS(certs::write_public_file(paths_.authority, pem));
    written_.push_back(paths_.authority);
    GCOORD_TRY_STATUS(certs::write_public_file(paths_.revoked, list));
    written_.push_back(paths_.revoked);
    return {};
  }

  // Pages of metrics and of the ledger are on loopback.
  static std::vector<std::string> hosts_of(const PlannedNode& node) {
    std::vector<std::string> hosts{"localhost", "127.0.0.1", "::1"};
    if (std::ranges::find(hosts, node.client.host) == hosts.end()) {
      hosts.push_back(node.client.host);
    }
    return hosts;
  }

  Status issue(const certs::IssueWishes& wishes, const fs::path& prefix) {
    const auto paths = certs::pair_paths(prefix);
    const auto issued = authority_.issue(wishes, certs::KeyAlgorithm::P256, paths);
    if (issued.ok()) {
      written_.push_back(paths.certificate);
      written_.push_back(paths.key);
    }
    return issued.status();
  }

  Status write_secret() {
    const auto secret = security::ClusterSecret::generate();
    const auto text = secret.to_text();
    GCOORD_TRY_STATUS(security::write_new_secret_file(paths_.secret.string(), text.bytes()));
    written_.push_back(paths_.secret);
    return {};
  }

  const ClusterPlan& plan_;
  const fs::path directory_;
  const TrustPaths paths_;
  const certs::AuthorityFolder authority_;
  const std::int64_t now_s_;
  bool made_authority_ = false;
  std::vector<fs::path> written_;
};

}  // namespace

TrustPaths trust_paths(const fs::path& directory) {
  const auto pair = certs::pair_paths(directory / kOperatorName);
  return {.authority = directory / "ca.crt",
          .revoked = directory / "ca.crl",
          .secret = directory / security::kClusterSecretName,
          .operator_certificate = pair.certificate,
          .operator_key = pair.key};
}

Result<WrittenCluster> write_cluster(const ClusterPlan& plan,
                                     const fs::path& directory,
                                     std::int64_t now_s) {
  GCOORD_TRY(auto configurations, write_configurations(plan, directory));
  WrittenCluster written{.configurations = std::move(configurations), .others = {}};
  if (!plan.tls) {
    return written;
  }
  TrustWriter trust(plan, directory, now_s);
  const Status status = trust.write();
  if (!status.ok()) {
    trust.take_back();
    std::error_code ignored;
    for (const fs::path& each : written.configurations) {
      fs::remove(each, ignored);
    }
    return protocol::find_error(status.detail()) == nullptr
               ? status
               : protocol::make_error(static_cast<protocol::ErrorCode>(status.detail()),
                                      status.message());
  }
  written.others = trust.written();
  return written;
}

}  // namespace gcoord::cli
