#include "cli/gcoordd/dev_certificates.h"

#include "protocol/error_codes.h"
#include "security/certificates/check.h"
#include "security/certificates/folder.h"
#include "security/certificates/host_name.h"
#include "server/tls/choices.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace gcoord {
namespace {

namespace fs = std::filesystem;
namespace certs = certificates;

constexpr std::uint32_t kDays = 365;
constexpr std::int64_t kRenewBeforeS = std::int64_t{30} * 24 * 60 * 60;

// Who the certificates are for.
struct Names {
  certs::Holder node;
  certs::Holder user;
  std::vector<std::string> hosts;
};

void add_host(const server::Endpoint& endpoint, std::vector<std::string>& hosts) {
  const bool names = !endpoint.empty() && !is_everywhere(endpoint);
  if (names && certs::kind_of_host(endpoint.host) != certs::HostKind::Neither &&
      std::ranges::find(hosts, endpoint.host) == hosts.end()) {
    hosts.push_back(endpoint.host);
  }
}

// One that listens everywhere is reached by the name of its machine, too.
void add_own_name(std::vector<std::string>& hosts) {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) {
    add_host({name, 1}, hosts);
  }
}

Names names_of(const server::NodeOptions& options) {
  const std::uint64_t cluster = options.cluster.value;
  Names names{
      .node = {.kind = certs::HolderKind::Node, .cluster = cluster, .node = options.node.value},
      .user = {.kind = certs::HolderKind::User, .cluster = cluster, .user = "admin"},
      .hosts = {"localhost", "127.0.0.1", "::1"}};
  for (const auto& endpoint : {options.listen_client,
                               options.advertise_client,
                               options.listen_metrics,
                               options.listen_ledger}) {
    add_host(endpoint, names.hosts);
  }
  if (is_everywhere(options.listen_client)) {
    add_own_name(names.hosts);
  }
  return names;
}

// The folder, what is in it, and the moment.
class DevFolder {
 public:
  DevFolder(fs::path path, const Names& names, std::int64_t now_s)
      : path_(std::move(path)),
        authority_(path_),
        node_(certs::pair_paths(path_ / "node")),
        user_(certs::pair_paths(path_ / "admin")),
        names_(names),
        now_s_(now_s) {}

  Status settle() const {
    if (!authority_lasts()) {
      remove({authority_.certificate_path(),
              authority_.key_path(),
              authority_.revocations_path(),
              path_ / "issued"});
      GCOORD_TRY(const auto founded,
                 authority_.found({.cluster = names_.node.cluster,
                                   .name = "gcoordd dev, for this node alone",
                                   .now_s = now_s_}));
    }
    GCOORD_TRY_STATUS(settle_pair(names_.node, names_.hosts, node_));
    GCOORD_TRY_STATUS(settle_pair(names_.user, {}, user_));
    close_to_others();
    return {};
  }

  security::TlsFiles files() const {
    return {.certificate = node_.certificate.string(),
            .key = node_.key.string(),
            .authority = authority_.certificate_path().string(),
            .revoked = authority_.revocations_path().string()};
  }

 private:
  void remove(const std::vector<fs::path>& paths) const {
    std::error_code ignored;
    for (const fs::path& each : paths) {
      fs::remove_all(each, ignored);
    }
  }

  // As all of a data directory, although certificates are no secret.
  void close_to_others() const {
    std::error_code ignored;
    for (fs::recursive_directory_iterator each(path_, ignored), end; each != end;
         each.increment(ignored)) {
      fs::permissions(each->path(),
                      fs::perms::group_all | fs::perms::others_all,
                      fs::perm_options::remove | fs::perm_options::nofollow,
                      ignored);
    }
  }

  bool lasts(const certs::CertificateFacts& facts) const {
    return facts.not_after_s > now_s_ + kRenewBeforeS && facts.not_before_s <= now_s_;
  }

  bool authority_lasts() const {
    const auto loaded = authority_.load();
    return loaded.ok() && loaded.value().cluster() == names_.node.cluster &&
           lasts(loaded.value().facts()) &&
           certs::read_public_file(authority_.revocations_path()).ok();
  }

  // Of this CA, for this holder and these hosts, with its key, and not about to end.
  bool is_good(const certs::Holder& holder,
               const std::vector<std::string>& hosts,
               const certs::PairPaths& pair) const {
    const auto key = certs::PrivateKey::read(pair.key.string());
    const auto pem = certs::read_public_file(pair.certificate);
    const auto authority = certs::read_public_file(authority_.certificate_path());
    if (!key.ok() || !pem.ok() || !authority.ok()) {
      return false;
    }
    const auto facts = certs::read_certificates(pem.value());
    certs::CheckWishes wishes{.certificate_pem = pem.value(),
                              .authority_pem = authority.value(),
                              .now_s = now_s_,
                              .holder = holder,
                              .key = &key.value()};
    return facts.ok() && lasts(facts.value().front()) && certs::check_certificate(wishes).ok() &&
           std::ranges::all_of(hosts, [&](const std::string& host) {
             wishes.host = host;
             return certs::check_certificate(wishes).ok();
           });
  }

  Status settle_pair(const certs::Holder& holder,
                     const std::vector<std::string>& hosts,
                     const certs::PairPaths& pair) const {
    if (is_good(holder, hosts, pair)) {
      return {};
    }
    remove({pair.certificate, pair.key});
    return authority_
        .issue({.holder = holder, .hosts = hosts, .now_s = now_s_, .days = kDays},
               certs::KeyAlgorithm::P256,
               pair)
        .status();
  }

  const fs::path path_;
  const certs::AuthorityFolder authority_;
  const certs::PairPaths node_;
  const certs::PairPaths user_;
  const Names& names_;
  const std::int64_t now_s_;
};

fs::path folder_of(const std::string& data_dir) {
  return fs::absolute(data_dir).lexically_normal() / "tls";
}

// Where no port has TLS nothing is made.
bool is_wanted(const server::TlsChoices& choices) {
  const auto is_on = [](const std::optional<server::TlsMode>& mode) {
    return mode.value_or(server::TlsMode::Off) != server::TlsMode::Off;
  };
  return choices.files.certificate.empty() && choices.files.key.empty() &&
         (is_on(choices.client) || is_on(choices.http) || is_on(choices.peer));
}

// With its rights, as the node would make it.
bool has_directory(const std::string& path) {
  std::error_code error;
  fs::create_directory(path, error);
  return fs::is_directory(path, error) && ::access(path.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

DevPaths dev_paths(const std::string& data_dir) {
  const auto pair = certs::pair_paths(folder_of(data_dir) / "admin");
  return {.authority = folder_of(data_dir) / "ca.crt",
          .certificate = pair.certificate,
          .key = pair.key};
}

Status DevCertificates::make(server::NodeOptions& options, server::Verb verb, std::int64_t now_s) {
  options.tls = complete(std::move(options.tls));
  const bool wanted = made() || is_wanted(options.tls);
  if (verb != server::Verb::Dev || !wanted || !has_directory(options.data_dir)) {
    return {};
  }
  const Names names = names_of(options);
  const DevFolder folder(folder_of(options.data_dir), names, now_s);
  if (const Status made = folder.settle(); !made.ok()) {
    return protocol::make_error(protocol::ErrorCode::DevCertificates, made.message());
  }
  files_ = folder.files();
  options.tls = complete(std::move(options.tls));
  return {};
}

server::TlsChoices DevCertificates::complete(server::TlsChoices choices) const {
  if (made() && is_wanted(choices)) {
    choices.files.certificate = files_.certificate;
    choices.files.key = files_.key;
    if (choices.files.authority.empty()) {
      choices.files.authority = files_.authority;
      choices.files.revoked = files_.revoked;
    }
  }
  return choices;
}

std::string dev_advice(const server::Invocation& invocation,
                       const std::string& client,
                       bool certificates) {
  const server::NodeOptions& options = invocation.options;
  const std::string flag = client == "127.0.0.1:7400" ? "" : "--endpoints " + client + " ";
  const std::string first = "gcoordctl " + flag + "lock acquire my-first-lock --ttl 30s\n";
  const bool plain = tls_mode(options.tls, options.tls.client) != server::TlsMode::Required;
  std::string lines = "One node for development; its data is ";
  lines += invocation.data_dir_temporary ? "removed when it ends" : "kept in " + options.data_dir;
  lines += ". Try:\n";
  if (plain) {
    lines += "  " + first;
  }
  if (certificates) {
    const DevPaths paths = dev_paths(options.data_dir);
    lines += plain ? "The same over TLS, as the user admin:\n" : "";
    lines += "  export GCOORD_CACERT=" + paths.authority.string() +
             "\n  export GCOORD_CERT=" + paths.certificate.string() +
             " GCOORD_KEY=" + paths.key.string() + "\n  " + first;
  }
  return lines;
}

}  // namespace gcoord
