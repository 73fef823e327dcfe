#include "cli/bench/etcd/clients.h"

#include "cli/bench/etcd/messages.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

namespace gcoord::cli {

namespace {

constexpr std::string_view kScheme = "etcd://";
constexpr const char* kPort = "2379";

// Beyond the length of the run: to connect, to warm up and to close.
constexpr std::chrono::seconds kLeaseSlack{120};

// One of the endpoints: an address of IP version 6 stands in brackets.
HttpOrigin origin_of(const std::string& text) {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  std::string host = has_port ? text.substr(0, colon) : text;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return {host, has_port ? text.substr(colon + 1) : kPort};
}

bool usable(const HttpOrigin& origin) {
  const auto in_host = [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || each == '.' || each == '-' || each == ':' || each == '_';
  };
  return !origin.host.empty() && std::ranges::all_of(origin.host, in_host) &&
         !origin.port.empty() && origin.port.size() <= 5 &&
         origin.port.find_first_not_of("0123456789") == std::string::npos;
}

// Replies of calls under way, in the order of the calls.
struct Replies {
  std::mutex mutex;
  std::condition_variable done;
  std::vector<std::string> replies;
  std::size_t missing = 0;
  Status first_failure;
};

}  // namespace

Result<std::vector<HttpOrigin>> parse_etcd_endpoints(const std::string& text) {
  std::vector<HttpOrigin> origins;
  bool good = text.starts_with(kScheme);
  for (std::size_t at = kScheme.size(); good && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    origins.push_back(origin_of(text.substr(at, comma - at)));
    good = usable(origins.back());
    at = comma + 1;
  }
  if (!good) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                "--compare '" + text + "' is no etcd; write etcd://HOST:PORT,...");
  }
  return origins;
}

Result<std::unique_ptr<EtcdClients>> EtcdClients::open(const BenchPlan& plan,
                                                       const std::vector<HttpOrigin>& endpoints) {
  auto clients = std::make_unique<EtcdClients>();
  clients->timeout_ = plan.timeout;
  GCOORD_TRY_STATUS(clients->connect(plan, endpoints));
  GCOORD_TRY_STATUS(clients->take_leases(plan));
  return clients;
}

Status EtcdClients::connect(const BenchPlan& plan, const std::vector<HttpOrigin>& endpoints) {
  const HttpOrigin* leader = nullptr;
  Status first_failure;
  for (const HttpOrigin& endpoint : endpoints) {
    GCOORD_TRY(const auto channel, GrpcChannel::open(endpoint, plan.timeout));
    const auto reply = channel->call_and_wait(kEtcdStatus, "");
    if (!reply.ok()) {
      first_failure = first_failure.ok() ? reply.status() : first_failure;
      continue;
    }
    const EtcdStatusReply status = etcd_status_reply_of(reply.value());
    version_ = status.version;
    leader = status.member != 0 && status.member == status.leader ? &endpoint : leader;
  }
  if (version_.empty()) {
    return first_failure.ok() ? Status{StatusCode::DataLoss, "etcd did not say its version"}
                              : first_failure;
  }
  for (std::uint32_t index = 0; index < plan.connections; ++index) {
    const HttpOrigin& endpoint = leader != nullptr ? *leader : endpoints[index % endpoints.size()];
    GCOORD_TRY(auto channel, GrpcChannel::open(endpoint, plan.timeout));
    channels_.push_back(std::move(channel));
  }
  return {};
}

Status EtcdClients::take_leases(const BenchPlan& plan) {
  const auto ttl = std::chrono::ceil<std::chrono::seconds>(plan.length) + kLeaseSlack;
  GCOORD_TRY(const auto replies,
             call_all(kEtcdLeaseGrant,
                      std::vector<std::string>(plan.clients, etcd_lease_grant(ttl.count()))));
  for (const std::string& reply : replies) {
    leases_.push_back(etcd_lease_of(reply));
  }
  return {};
}

Result<std::vector<std::string>> EtcdClients::call_all(const char* path,
                                                       std::vector<std::string> messages) {
  const auto replies = std::make_shared<Replies>();
  replies->replies.resize(messages.size());
  replies->missing = messages.size();
  for (std::size_t index = 0; index < messages.size(); ++index) {
    channel(static_cast<std::uint32_t>(index))
        .call(path, std::move(messages[index]), [replies, index](Result<std::string> reply) {
          const std::lock_guard lock(replies->mutex);
          if (reply.ok()) {
            replies->replies[index] = std::move(reply).value();
          } else if (replies->first_failure.ok()) {
            replies->first_failure = reply.status();
          }
          --replies->missing;
          replies->done.notify_all();
        });
  }
  // Every call has the timeout, so this ends.
  std::unique_lock lock(replies->mutex);
  replies->done.wait(lock, [&replies] { return replies->missing == 0; });
  if (!replies->first_failure.ok()) {
    return replies->first_failure;
  }
  return std::move(replies->replies);
}

void EtcdClients::close() {
  std::vector<std::string> revokes;
  for (const std::int64_t lease : leases_) {
    revokes.push_back(etcd_lease_revoke(lease));
  }
  static_cast<void>(
      call_all(kEtcdLeaseRevoke, std::move(revokes)));  // Else they end with their TTL.
  for (const auto& channel : channels_) {
    channel->close();
  }
}

}  // namespace gcoord::cli
