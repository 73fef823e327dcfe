#include "server/trust/node_trust.h"

#include "protocol/error_codes.h"
#include "security/secret/errors.h"
#include "security/secret/file.h"
#include "server/platform/core_dumps.h"
#include "server/platform/operator_log.h"

#include <optional>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

using netcore::LinkTlsMode;
using netcore::ProofDemand;
using netcore::ProofKeys;
using security::ClusterSecret;

std::string path_in(const std::string& data_dir) {
  return data_dir + "/" + std::string{security::kClusterSecretName};
}

// Nothing: the node has no secret, and none was named.
Result<std::optional<ClusterSecret>> read_secret(const std::string& named,
                                                 const std::string& data_dir) {
  auto secret = ClusterSecret::read(named.empty() ? path_in(data_dir) : named);
  if (secret.ok()) {
    return std::optional{std::move(secret).value()};
  }
  const bool is_absent = secret.status().code() == StatusCode::NotFound;
  return named.empty() && is_absent ? Result{std::optional<ClusterSecret>{}}
                                    : Result<std::optional<ClusterSecret>>{secret.status()};
}

ProofDemand demand_of(const NodeOptions& options, bool has_secret) {
  if (!has_secret) {
    return ProofDemand::Off;
  }
  return options.peer_proof.value_or(PeerProof::Required) == PeerProof::Required
             ? ProofDemand::Required
             : ProofDemand::Permissive;
}

LinkTlsMode link_mode(TlsMode mode) {
  switch (mode) {
    case TlsMode::Off:
      return LinkTlsMode::Off;
    case TlsMode::Permissive:
      return LinkTlsMode::Permissive;
    case TlsMode::Required:
      break;
  }
  return LinkTlsMode::Required;
}

std::string_view text_of(ProofDemand demand) {
  switch (demand) {
    case ProofDemand::Off:
      return "off";
    case ProofDemand::Permissive:
      return "permissive";
    case ProofDemand::Required:
      return "required";
  }
  return "";
}

}  // namespace

NodeTrust::NodeTrust(const NodeOptions& options, const OwnNode& own)
    : data_dir_(options.data_dir), own_(own), proven_(options.data_dir) {
  peer_tls_->set_judge(own_judge([this] { return OwnRules{own_, must_name_, wall_seconds()}; }));
}

Result<std::unique_ptr<NodeTrust>> NodeTrust::open(const NodeOptions& options, const OwnNode& own) {
  std::unique_ptr<NodeTrust> trust(new NodeTrust(options, own));
  GCOORD_TRY_STATUS(trust->take(options));
  GCOORD_TRY_STATUS(trust->take_tls(options.tls));
  trust->guard(options);
  return trust;
}

Status NodeTrust::reload(const NodeOptions& options) {
  // A bad file of one must not keep the other as it was.
  const Status taken = take(options);
  const Status taken_tls = take_tls(options.tls);
  guard(options);
  return taken.ok() ? taken_tls : taken;
}

// Other processes of this host open the memory that UCX and devices share by its descriptor in
// this process, which they may not where it keeps its memory to itself.
void NodeTrust::guard(const NodeOptions& options) const {
  const bool shares =
      options.peer_transport == PeerTransport::Ucx || options.turn != TurnOption::Host;
  const bool has_secret = secret() != nullptr;
  if (!shares && (has_secret || !options.tls.files.key.empty())) {
    keep_memory_private(has_secret ? "the cluster's secret" : "the key of its certificate");
  }
}

Status NodeTrust::take_tls(const TlsChoices& choices) {
  const LinkTlsMode mode = link_mode(choices.peer.value_or(TlsMode::Off));
  const LinkTlsMode before = peer_tls_->mode();
  const bool named = std::exchange(must_name_, mode != LinkTlsMode::Off);
  if (choices.files.certificate.empty() || choices.files.authority.empty()) {
    GCOORD_TRY_STATUS(check_tls(choices));  // Nothing to have TLS by.
    peer_tls_->set_mode(LinkTlsMode::Off);
  } else if (const Status changed = peer_tls_->change(mode, choices.files); !changed.ok()) {
    if (mode != LinkTlsMode::Off) {
      must_name_ = named;
      return changed;
    }
    log_warning(LogComponent::Peers,
                "TLS with other nodes is off, and its files cannot be used: {}",
                changed.to_string());
    peer_tls_->set_mode(mode);
  }
  if (peer_tls_->mode() != before) {
    log_info(LogComponent::Peers,
             "TLS with other nodes, for connections that begin from now on: {}",
             tls_mode_name(choices.peer.value_or(TlsMode::Off)));
  }
  return {};
}

void NodeTrust::look(std::uint64_t now_ms) {
  if (now_ms < next_look_ms_) {
    return;
  }
  next_look_ms_ = now_ms + kLookMs;
  if (const Status refreshed = peer_tls_->refresh(); !refreshed.ok()) {
    log_error(
        LogComponent::Peers, "TLS with other nodes keeps its files: {}", refreshed.to_string());
  }
}

Status NodeTrust::take(const NodeOptions& options) {
  GCOORD_TRY(std::optional<ClusterSecret> read, read_secret(options.cluster_secret, data_dir_));
  if (!read && options.peer_proof == PeerProof::Required) {
    return protocol::make_error(protocol::ErrorCode::SecretMissing);
  }
  const ProofDemand demand = demand_of(options, read.has_value());
  requires_proofs_ = demand == ProofDemand::Required;
  source_->set(read ? ProofKeys{*read} : ProofKeys{}, demand);
  if (read) {
    log_info(LogComponent::Peers,
             "the cluster's secret is {}{}; proofs of other nodes: {}",
             read->id(),
             read->previous() != nullptr ? ", before it " + read->previous_id() : std::string{},
             text_of(demand));
  }
  const std::lock_guard lock(mutex_);
  secret_ = read ? std::make_shared<const ClusterSecret>(std::move(*read)) : nullptr;
  return {};
}

netcore::PeerProofOptions NodeTrust::peer_proof() {
  netcore::PeerProofOptions proof;
  proof.source = source_;
  proof.proven = proven_.nodes();
  proof.on_proven = [this](NodeId node) { proven_.add(node); };
  proof.on_dropped = [this](const netcore::DroppedStranger& dropped) {
    strangers_.on_dropped(dropped);
  };
  return proof;
}

std::shared_ptr<const ClusterSecret> NodeTrust::secret() const {
  const std::lock_guard lock(mutex_);
  return secret_;
}

std::vector<std::byte> NodeTrust::seal_secret(const protocol::JoinToken& token,
                                              const JoinedNode& joined) const {
  const auto shared = secret();
  return shared == nullptr ? std::vector<std::byte>{} : seal_join_secret(*shared, token, joined);
}

Status carry_secret(const std::string& from, const std::string& to) {
  const auto text = security::read_secret_file(path_in(from), security::kClusterSecretTextMax);
  if (!text.ok()) {
    return text.status().code() == StatusCode::NotFound ? Status{} : text.status();
  }
  const Status written = security::write_new_secret_file(path_in(to), text.value().bytes());
  return written.detail() == security::kSecretFileExists ? Status{} : written;
}

}  // namespace gcoord::server
