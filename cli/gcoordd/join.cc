#include "cli/gcoordd/join.h"

#include "client/members/join.h"
#include "ledger/base/error_details.h"
#include "ledger/directory/real_directory.h"
#include "protocol/error_codes.h"
#include "protocol/hello.h"
#include "security/certificates/certificate.h"
#include "security/certificates/folder.h"
#include "security/certificates/holder.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"
#include "server/platform/version.h"
#include "server/start/joining_directory.h"
#include "server/start/node_start.h"
#include "server/tls/choices.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord {

namespace {

using protocol::ErrorCode;
using server::Endpoint;
using server::log_info;
using server::LogComponent;

// A cluster that restarts, or elects, answers within it.
constexpr std::chrono::seconds kJoinPatience{30};

// Whether the cluster is spoken with by TLS: the node has somebody to believe, and its own client
// port is not to be without.
bool joins_by_tls(const server::TlsChoices& tls) {
  return !tls.files.authority.empty() && tls.client != server::TlsMode::Off;
}

struct Renamed {
  std::string_view of_client;
  std::string_view of_node;
};

// Options of clients that errors speak of, as nodes that join have them.
constexpr Renamed kOptions[] = {
    {"--endpoints", "--join"},
    {"the client --cacert, or --tls", "--tls-ca"},
    {"--cacert", "--tls-ca"},
};

std::string in_options_of_a_node(std::string text) {
  for (const Renamed& each : kOptions) {
    for (std::size_t at = text.find(each.of_client); at != std::string::npos;
         at = text.find(each.of_client, at + each.of_node.size())) {
      text.replace(at, each.of_client.size(), each.of_node);
    }
  }
  return text;
}

// A client's failure, as the programs of nodes have them.
Status status_of(const client::Status& failure, const server::TlsChoices& tls) {
  constexpr auto kPlaintext = static_cast<std::uint32_t>(ErrorCode::TlsPlaintext);
  if (failure.detail() == kPlaintext && !joins_by_tls(tls)) {
    return protocol::make_error(ErrorCode::JoinTlsNeeded, in_options_of_a_node(failure.message()));
  }
  constexpr auto kForeign = static_cast<std::uint32_t>(ErrorCode::ClusterForeign);
  if (failure.detail() == kForeign) {
    return Status{StatusCode::FailedPrecondition,
                  "the nodes of --join belong to another cluster than --cluster-id or "
                  "--cluster-name names; correct one of them. A node that joins needs neither",
                  kForeign};
  }
  constexpr auto kExposed = static_cast<std::uint32_t>(ErrorCode::CredentialsExposed);
  if (failure.detail() == kExposed) {
    return Status{StatusCode::FailedPrecondition,
                  "the token would go beyond this machine in plain TCP, where others can read it, "
                  "and the cluster's secret with it; give --tls-ca, or --insecure where nobody "
                  "else is on the network",
                  kExposed};
  }
  const protocol::ErrorEntry* const entry = protocol::find_error(failure.detail());
  return Status{
      entry == nullptr ? StatusCode::Unavailable : entry->status,
      "the cluster was asked to admit this node: " + in_options_of_a_node(failure.message()),
      failure.detail()};
}

Result<protocol::JoinRequest> request_of(const server::NodeOptions& options,
                                         std::uint64_t directory_id) {
  if (is_everywhere(options.advertise_peer)) {
    return protocol::make_error(ErrorCode::OptionInvalid,
                                "--listen-peer " + to_string(options.listen_peer) +
                                    " is no address for the other nodes; give --advertise-peer");
  }
  // The node itself says a client address that is not known yet, later.
  const Endpoint& client = options.advertise_client;
  const bool known = !is_everywhere(client) && client.port != 0;
  return protocol::JoinRequest{.token = *options.join_token,
                               .directory = directory_id,
                               .name = options.member_name,
                               .peer_address = to_string(options.advertise_peer),
                               .client_address = known ? to_string(client) : std::string{},
                               .labels = options.member_labels,
                               .features = protocol::kFeatures};
}

client::ClientOptions client_options(const server::Invocation& invocation) {
  client::ClientOptions options;
  for (const Endpoint& endpoint : invocation.options.join) {
    options.endpoints.push_back(to_string(endpoint));
  }
  options.connect_timeout = kJoinPatience;
  options.request_timeout = kJoinPatience;
  const server::TlsChoices& tls = invocation.options.tls;
  if (joins_by_tls(tls)) {
    options.tls = {.enabled = true,
                   .cacert = tls.files.authority,
                   .cert = tls.files.certificate,
                   .key = tls.files.key};
  }
  // The token goes out, and the cluster's secret comes back under a key that is made of it.
  options.insecure_credentials = invocation.options.insecure;
  options.client_name = "gcoordd " + std::string(server::kVersion) + " (joins)";
  if (is_given(invocation, "cluster-id") || is_given(invocation, "cluster-name")) {
    options.cluster_id = invocation.options.cluster.value;
  }
  return options;
}

// Other nodes take a certificate only for the node and the cluster that it names.
Status check_certificate(const server::TlsChoices& tls, const protocol::JoinAnswer& answer) {
  if (tls.peer.value_or(server::TlsMode::Off) == server::TlsMode::Off) {
    return Status{};
  }
  GCOORD_TRY(const std::string pem, certificates::read_public_file(tls.files.certificate));
  GCOORD_TRY(const auto chain, certificates::read_certificates(pem));
  const certificates::Holder self{.kind = certificates::HolderKind::Node,
                                  .cluster = answer.cluster.value,
                                  .node = answer.node.value};
  const auto& uris = chain.front().uris;
  if (std::ranges::any_of(
          uris, [&](const std::string& uri) { return certificates::parse_holder(uri) == self; })) {
    return Status{};
  }
  return protocol::make_error(
      ErrorCode::JoinCertificate,
      tls.files.certificate + " does not have " + uri_of(self) + " among its names");
}

// What the operator gave beside the token, and the cluster has otherwise.
Status check_answer(const server::Invocation& invocation, const protocol::JoinAnswer& answer) {
  const std::string option = server::contradiction(invocation, answer.view);
  if (!option.empty()) {
    return protocol::make_error(ErrorCode::ViewSettingsDiffer,
                                option + " differs from view " + std::to_string(answer.view.epoch) +
                                    "; a node that joins needs none");
  }
  if (is_given(invocation, "node-id") && invocation.options.node != answer.node) {
    return protocol::make_error(ErrorCode::OptionInvalid,
                                "--node-id " + std::to_string(invocation.options.node.value) +
                                    ", but the token is node " + std::to_string(answer.node.value) +
                                    "'s; leave it out");
  }
  return check_certificate(invocation.options.tls, answer);
}

// Where the directory has the data of a node.
Status check_joined(const server::NodeStart& start) {
  const server::NodeOptions& options = start.options();
  const std::string node = "node " + std::to_string(options.node.value) + " of cluster " +
                           std::to_string(options.cluster.value);
  if (start.kept.joined_by == protocol::join_token_proof(*options.join_token)) {
    log_info(LogComponent::Node,
             "--join is ignored: {} has joined already, as {}",
             options.data_dir,
             node);
    return Status{};
  }
  return Status{StatusCode::FailedPrecondition,
                "the data directory " + options.data_dir + " belongs to " + node +
                    ", and did not join with this token; leave out --join, or give the new node an "
                    "empty directory",
                ledger::kDirectoryNode};
}

// A cluster that restarts is waited for. What more time does not mend is said at once: files and
// certificates that are wrong, or a refusal.
client::Result<protocol::JoinAnswer> answered(client::ClientOptions options,
                                              const protocol::JoinRequest& request) {
  auto answer = client::join_cluster(options, request);
  const client::StatusCode code = answer.status().code();
  if (code == client::StatusCode::Unavailable || code == client::StatusCode::DeadlineExceeded) {
    options.wait_for_cluster = true;
    answer = client::join_cluster(options, request);
  }
  return answer;
}

Status join(const server::Invocation& invocation) {
  const server::NodeOptions& options = invocation.options;
  GCOORD_TRY(auto directory,
             server::JoiningDirectory::open(options.data_dir, server::draw_random()));
  GCOORD_TRY(const protocol::JoinRequest request, request_of(options, directory->directory_id()));
  const client::ClientOptions asked = client_options(invocation);
  log_info(LogComponent::Node,
           "asks the cluster at {} to join it{}",
           asked.endpoints.front(),
           asked.tls.enabled ? ", over TLS" : "");
  const auto answer = answered(asked, request);
  if (!answer.ok()) {
    return status_of(answer.status(), options.tls);
  }
  GCOORD_TRY_STATUS(check_answer(invocation, answer.value()));
  GCOORD_TRY_STATUS(directory->finish(answer.value(), *options.join_token));
  log_info(LogComponent::Node,
           "joined cluster {} as node {}, by view {}",
           answer.value().cluster.value,
           answer.value().node.value,
           answer.value().view.epoch);
  return Status{};
}

}  // namespace

Status join_if_new(const server::Invocation& invocation) {
  if (invocation.options.join.empty()) {
    return Status{};
  }
  server::Invocation resolved = invocation;
  GCOORD_TRY(resolved.options.data_dir, ledger::real_directory(invocation.options.data_dir));
  GCOORD_TRY(const bool joins, server::is_to_join(resolved.options.data_dir));
  if (joins) {
    return join(resolved);
  }
  GCOORD_TRY(const server::NodeStart start, server::node_start(std::move(resolved)));
  return check_joined(start);
}

}  // namespace gcoord
