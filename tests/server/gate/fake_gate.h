// A gate whose roles, clients and clock are the test's.
#pragma once

#include "security/roles/role_table.h"
#include "server/gate/request_gate.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

// Clients that have said who they are, and what they were answered.
class NamedClients final : public protocol::ReplySink {
 public:
  struct Answer {
    protocol::ConnectionId connection;
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    answers.push_back({connection, slot, {payload.begin(), payload.end()}});
  }

  const security::Principal& principal(protocol::ConnectionId connection) const override {
    static const security::Principal kNobody;
    const auto found = principals.find(connection.value);
    return found == principals.end() ? kNobody : found->second;
  }

  protocol::RecordOrigin origin(protocol::ConnectionId) const override { return origins; }

  std::optional<std::size_t> backlog_bytes(protocol::ConnectionId connection) const override {
    return gone.contains(connection.value) ? std::nullopt : std::optional<std::size_t>{0};
  }

  std::vector<Answer> answers;
  protocol::RecordOrigin origins = protocol::RecordOrigin::Remote;  // Of all of them.
  std::set<std::uint64_t> gone;
  std::map<std::uint64_t, security::Principal> principals;
};

struct FakeGate {
  explicit FakeGate(protocol::ReplySink& clients) : gate(metrics) {
    gate.start({.clients = clients,
                .table = [this]() -> const security::AccessTable& { return table; },
                .confirmed = [this] { return confirmed; },
                .stand = [this] { return stand; },
                .standing =
                    [this](protocol::ConnectionId connection, SessionId session) {
                      return own.contains({connection.value, session.value})
                                 ? SessionStanding::Own
                                 : SessionStanding::Unproven;
                    },
                .now_ms = [this] { return now_ms; },
                .reidentified = [this] { return reidentified; }});
    gate.set_all_guard([this] { return all_guard; });
  }

  // The user's one role, which has these rights below the prefix and those of sessions.
  void grant(const std::string& user,
             const std::string& prefix,
             std::initializer_list<security::Right> rights) {
    security::RightMask mask = 0;
    for (const security::Right right : rights) {
      mask |= bit_of(right);
    }
    security::Role role;
    role.grants.push_back({.prefix = prefix, .exact = false, .rights = mask});
    table.roles[user] = role;
    table.users[user].roles = {user};
    ++table.epoch;
  }

  void revoke(const std::string& user) {
    table.roles[user].grants.clear();
    ++table.epoch;
  }

  // How many requests were refused for the right.
  std::uint64_t refused_for(std::string_view right) {
    return metrics
        .counter({"gcoord_server_requests_not_allowed_total", "", "right", std::string{right}})
        .value();
  }

  MetricsRegistry metrics;
  security::AccessTable table;
  bool confirmed = true;
  bool all_guard = true;
  RolesStand stand = RolesStand::Known;
  std::set<std::pair<std::uint64_t, std::uint64_t>> own;
  std::uint64_t now_ms = 1;
  std::uint64_t reidentified = 0;
  RequestGate gate;
};

}  // namespace gcoord::server
