// A node's side of authentication without a node: connections, users and replies in memory, time by
// hand, and passwords checked by the real thread at the least cost.
#pragma once

#include "common/host/metrics.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "security/credentials/password.h"
#include "security/secret/cluster_secret.h"
#include "server/identities/node_identities.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

namespace gcoord::server {

class KeptUsers final : public UserDirectory {
 public:
  std::optional<KnownUser> find(std::string_view name) const override {
    const auto found = users.find(std::string{name});
    return found == users.end() ? std::nullopt : std::optional{found->second};
  }

  std::uint64_t epoch() const override { return now; }

  bool enabled() const override { return checked; }

  void add(const std::string& name, const std::string& password) {
    ++now;
    users[name] = {security::hash_password(password, {4, 1, 1}).value(), false, now};
  }

  std::map<std::string, KnownUser> users;
  std::uint64_t now = 0;
  bool checked = false;
};

class KeptReplies final : public protocol::ReplySink {
 public:
  struct Reply {
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    last[connection.value] = {slot, {payload.begin(), payload.end()}};
    ++count;
  }

  std::map<std::uint64_t, Reply> last;
  std::size_t count = 0;
};

class KeptConnections final : public ConnectionIdentities {
 public:
  ConnectionIdentity* identity(protocol::ConnectionId connection) override {
    const auto found = open.find(connection.value);
    return found == open.end() ? nullptr : found->second.get();
  }

  // From an address that `source` stands for.
  protocol::ConnectionId add(unsigned char source = 1) {
    auto made = std::make_unique<ConnectionIdentity>(&budget);
    made->features = protocol::kFeatures;
    made->source[0] = source;
    open[++newest] = std::move(made);
    return protocol::ConnectionId{newest};
  }

  AttachmentBudget budget;
  std::map<std::uint64_t, std::unique_ptr<ConnectionIdentity>> open;
  std::uint64_t newest = 0;
};

class IdentitiesFixture : public testing::Test {
 protected:
  static constexpr std::uint64_t kStartS = 1'800'000'000;

  explicit IdentitiesFixture(SessionKeyMode mode = SessionKeyMode::Auto)
      : requests_({.replies = replies_,
                   .connections = connections_,
                   .users = users_,
                   .passwords = passwords_,
                   .metrics = counts_,
                   .now_ms = [this] { return now_s_ * 1000; },
                   .wall_us = [this] { return now_s_ * 1'000'000; }},
                  mode) {
    requests_.set_keys(identity_keys(secret_));
  }

  static protocol::RequestSlot slot_of(protocol::RequestKind kind, std::uint64_t session = 0) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.request_id = 5;
    slot.session = session;
    return slot;
  }

  const KeptReplies::Reply& send(protocol::ConnectionId connection,
                                 const protocol::RequestSlot& slot,
                                 std::span<const std::byte> payload) {
    requests_.on_request({connection, slot, payload});
    return replies_.last[connection.value];
  }

  // Until the answer is there, which the worker's thread may have to make first.
  const KeptReplies::Reply& authenticate(protocol::ConnectionId connection,
                                         const protocol::AuthenticateOrder& order) {
    const std::size_t before = replies_.count;
    send(connection,
         slot_of(protocol::RequestKind::Authenticate),
         protocol::encode_authenticate(order));
    while (replies_.count == before && wait_for_worker()) {
    }
    return replies_.last[connection.value];
  }

  // False: it did nothing for long.
  bool wait_for_worker() {
    const bool woken = done_.try_acquire_for(std::chrono::seconds{60});
    requests_.advance();
    return woken;
  }

  const KeptReplies::Reply& log_in(protocol::ConnectionId connection,
                                   std::string_view user,
                                   std::string_view password) {
    return authenticate(
        connection,
        {.method = protocol::AuthenticateMethod::Password, .user = user, .password = password});
  }

  const KeptReplies::Reply& show(protocol::ConnectionId connection, std::string_view token) {
    return authenticate(connection,
                        {.method = protocol::AuthenticateMethod::Token, .token = token});
  }

  // "user ann"
  std::string principal(protocol::ConnectionId connection) {
    return security::to_string(connections_.identity(connection)->principal);
  }

  static protocol::ErrorCode error_in(const KeptReplies::Reply& reply) {
    return static_cast<protocol::ErrorCode>(reply.slot.detail);
  }

  MetricsRegistry registry_;
  IdentityMetrics counts_{registry_};
  std::uint64_t now_s_ = kStartS;
  security::ClusterSecret secret_ = security::ClusterSecret::generate();
  KeptUsers users_;
  KeptConnections connections_;
  KeptReplies replies_;
  std::counting_semaphore<> done_{0};
  std::mutex worker_goes_on_;  // Who holds it stops the worker behind the job that it has done.
  PasswordWorker passwords_{[this] {
    done_.release();
    const std::lock_guard until_it_may{worker_goes_on_};
  }};
  IdentityRequests requests_;
};

}  // namespace gcoord::server
