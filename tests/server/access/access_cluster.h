// Users and roles on three engines: the machines, the requests and their clients, for tests. One
// thread.
#pragma once

#include "protocol/access/messages.h"
#include "protocol/error_codes.h"
#include "security/roles/role_table.h"
#include "server/access/node_access.h"
#include "tests/scratch_folder.h"
#include "tests/server/host_turn/engine_cluster.h"
#include "tests/server/last_answer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

using protocol::AccessOrder;
using protocol::AccessQuery;
using protocol::ErrorCode;
using security::AccessKind;

inline constexpr std::uint32_t kNodes = 3;
inline constexpr std::uint32_t kShards = 2;
inline constexpr std::uint64_t kNow = 1'000'000;

// A client that has proven to be this user; of no name an anonymous one.
inline protocol::AccessSelf self_of(const std::string& user) {
  if (user.empty()) {
    return {.address = "192.0.2.7:4711"};
  }
  return {.principal = {security::PrincipalKind::User, user},
          .proof = protocol::ProofKind::Token,
          .until_ms = 123'000,
          .address = "192.0.2.7:4711"};
}

class AccessEngineTest : public testing::Test {
 protected:
  // Around one node's engine.
  struct Around {
    std::unique_ptr<AccessMachine> machine;
    std::unique_ptr<NodeAccess> access;
    LastAnswer replies;
    ScratchFolder directory;
    std::string proven;
    std::function<void()> hashed;  // Ends the hash under way.
  };

  AccessEngineTest() : around_(kNodes + 1), cluster_(kNodes, kShards) {
    cluster_.around = [this](std::uint32_t id, StateMachine& inner) -> StateMachine& {
      around_[id].machine = std::make_unique<AccessMachine>(inner);
      if (!first_admin_.empty()) {
        around_[id].machine->set_first_admin(first_admin_);
      }
      return *around_[id].machine;
    };
    cluster_.after_turn = [this](EngineCluster::Node& node) {
      Around& around = around_[node.id.value];
      if (around.access != nullptr) {
        now_ms_ += 10;
        around.access->advance(now_ms_);
      }
    };
  }

  ~AccessEngineTest() override {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      stop(id);
    }
  }

  void start(std::uint32_t id) {
    cluster_.start(id);
    Around& around = around_[id];
    around.access = std::make_unique<NodeAccess>(
        *around.machine,
        AccessRequests::Environment{
            .log = cluster_.engine(id),
            .machine = *around.machine,
            .replies = around.replies,
            .all_have = [this] { return all_have_; },
            .all_guard = [this] { return all_guard_; },
            .wall_ms = [] { return kNow; },
            .self = [&around](protocol::ConnectionId) { return self_of(around.proven); },
            .hash =
                [&around](std::string password,
                          std::function<void(Result<security::Verifier>)> on_hashed) {
                  around.hashed = [password = std::move(password), on_hashed] {
                    const auto bytes = std::as_bytes(std::span{password});
                    on_hashed(security::Verifier{.algorithm = 9,
                                                 .bytes = {bytes.rbegin(), bytes.rend()}});
                  };
                }},
        around.directory.path());
  }

  void start_all() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      start(id);
    }
  }

  void stop(std::uint32_t id) {
    cluster_.stop(id);
    around_[id].access.reset();
  }

  const security::AccessTable& table(std::uint32_t id) const {
    return around_[id].machine->table();
  }

  void await_epoch(std::uint64_t epoch) {
    cluster_.run_until([&] {
      for (std::uint32_t id = 1; id <= kNodes; ++id) {
        if (cluster_.node(id).engine && table(id).epoch != epoch) {
          return false;
        }
      }
      return true;
    });
  }

  std::uint32_t leader() {
    cluster_.run_until([this] { return cluster_.leader_of(0) != 0; });
    return cluster_.leader_of(0);
  }

  LastAnswer& send(std::uint32_t id,
                   protocol::RequestKind kind,
                   const std::vector<std::byte>& payload) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.request_id = 1;
    around_[id].access->on_request(protocol::ConnectionId{1}, slot, payload);
    return around_[id].replies;
  }

  static AccessOrder order(AccessKind kind, std::string name = {}) {
    AccessOrder made;
    made.kind = kind;
    made.number = ++numbers_;
    made.name = std::move(name);
    made.who = "ann@build";
    return made;
  }

  static AccessOrder with_roles(AccessKind kind, std::string name, std::vector<std::string> roles) {
    AccessOrder made = order(kind, std::move(name));
    made.roles = std::move(roles);
    return made;
  }

  // Sends it to the leader and waits for the answer.
  const LastAnswer& change(const AccessOrder& asked) {
    const std::uint32_t id = leader();
    LastAnswer& replies = around_[id].replies;
    const int before = replies.count;
    send(id, protocol::RequestKind::AccessChange, protocol::encode_access_order(asked));
    cluster_.run_until([&] {
      if (around_[id].hashed) {
        std::exchange(around_[id].hashed, {})();
      }
      return replies.count > before;
    });
    return replies;
  }

  protocol::AccessAnswer ask(const AccessQuery& query) {
    const LastAnswer& said =
        send(leader(), protocol::RequestKind::AccessGet, protocol::encode_access_query(query));
    const auto answer = protocol::decode_access_answer(said.bytes);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer.value() : protocol::AccessAnswer{};
  }

  static inline std::uint64_t numbers_ = 0;
  std::vector<Around> around_;
  bool all_have_ = true;
  bool all_guard_ = true;
  std::string first_admin_;
  std::uint64_t now_ms_ = 0;
  EngineCluster cluster_;
};

}  // namespace gcoord::server
