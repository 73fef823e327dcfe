// Requests about users and roles: AccessGet and AccessChange.
//
// The leader of shard 0 takes changes, and answers reads unless the asker says that any replica
// will do; who it is itself, every node tells a client. A password is hashed here, by the node that
// was asked, before anything is proposed: the log never holds one. Refused changes are not
// proposed, where the newest table already says so. One thread, the node's loop.
#pragma once

#include "protocol/access/messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/access/cookies.h"
#include "server/access/machine.h"
#include "server/interfaces/replicated_log.h"
#include "server/members/asker.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace gcoord::server {

// Makes the verifier of a password, and calls back on the node's loop, later or at once.
using HashPassword = std::function<void(std::string password,
                                        std::function<void(Result<security::Verifier>)> on_hashed)>;

class AccessRequests {
 public:
  static constexpr std::size_t kChangesMax = 64;  // Under way, those that wait for a hash too.
  // So often a change for whichever epoch is the newest is proposed anew, when others were faster.
  static constexpr int kAttemptsMax = 8;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const AccessMachine& machine;
    protocol::ReplySink& replies;
    std::function<bool()> all_have;  // Whether all nodes have Feature::Roles.
    // The same of Feature::Safeguards, without which a node refuses grants of rights that it does
    // not know.
    std::function<bool()> all_guard;
    std::function<std::uint64_t()> wall_ms;
    // Who a connection has proven to be, and by what. None: nobody proves anything.
    std::function<protocol::AccessSelf(protocol::ConnectionId)> self;
    HashPassword hash;  // None: users of this node have no passwords.
  };

  explicit AccessRequests(Environment environment) : environment_(std::move(environment)) {}

  AccessRequests(const AccessRequests&) = delete;
  AccessRequests& operator=(const AccessRequests&) = delete;

  // AccessGet and AccessChange.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // Calls of AccessListener that concern requests.
  void on_decided(std::uint64_t cookie, security::AccessCode code);
  void on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint);

  std::size_t change_count() const { return changes_.size() + *hashing_; }

 private:
  using Asker = ViewAsker;

  // A change under way.
  struct Change {
    Asker asker;
    security::AccessCommand command;
    bool newest = false;  // For whichever epoch is the newest.
    int attempts = 0;
  };

  void get(const Asker& asker, std::span<const std::byte> payload);
  void get_self(const Asker& asker);
  void change(const Asker& asker, std::span<const std::byte> payload);
  // Whether this node leads shard 0; else the request is answered.
  bool leads(const Asker& asker);
  // What is judged before the table is.
  Status check(const Asker& asker, const protocol::AccessOrder& order) const;
  protocol::AccessSelf self(const Asker& asker) const;
  // The user that it has proven to be; empty: none.
  std::string proven(const Asker& asker) const;
  security::AccessCommand command_of(const Asker& asker, const protocol::AccessOrder& order) const;
  void hash(Change change, std::string password);
  // Whether who asked may still change users and roles.
  bool still_may(const security::AccessCommand& command) const;
  void propose(Change change);
  void answer(const Asker& asker, protocol::AccessAnswer answer);
  void answer_change(const Change& change, security::AccessCode code);
  void refuse(const Asker& asker, const Status& status);
  void refuse(const Asker& asker,
              security::AccessCode code,
              const security::AccessCommand& command);

  Environment environment_;
  std::map<std::uint64_t, Change> changes_;  // By cookie.
  AccessCookies cookies_{AccessProposer::Requests};
  // Changes that wait for a hash. Who hashes may call back when this is gone, and sees it here.
  std::shared_ptr<std::size_t> hashing_ = std::make_shared<std::size_t>(0);
};

}  // namespace gcoord::server
