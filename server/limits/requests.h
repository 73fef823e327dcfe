// Requests about limits and denials: LimitsGet and LimitsChange.
//
// The leader of shard 0 takes changes, and answers reads unless the asker says that any replica
// will do. Refused changes are not proposed, where the newest table already says so. Nobody denies
// himself: the way back would be closed. One thread, the node's loop.
#pragma once

#include "protocol/limits/messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/replicated_log.h"
#include "server/limits/cookies.h"
#include "server/limits/denial_list.h"
#include "server/limits/machine.h"
#include "server/members/asker.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace gcoord::server {

class LimitRequests {
 public:
  static constexpr std::size_t kChangesMax = 64;  // Under way.
  // So often a change for whichever epoch is the newest is proposed anew, when others were faster.
  static constexpr int kAttemptsMax = 8;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const LimitsMachine& machine;
    protocol::ReplySink& replies;
    std::function<bool()> all_have;   // Whether all nodes have Feature::Limits.
    std::function<bool()> all_guard;  // The same of Feature::Safeguards.
    std::function<std::uint64_t()> wall_ms;
    // The user that the connection has proven to be; empty: none. None: nobody proves anything.
    std::function<std::string(protocol::ConnectionId)> proven;
    // What denials of the connection go by; nullptr: it is not known.
    std::function<const DenialSubject*(protocol::ConnectionId)> subject;
  };

  explicit LimitRequests(Environment environment) : environment_(std::move(environment)) {}

  LimitRequests(const LimitRequests&) = delete;
  LimitRequests& operator=(const LimitRequests&) = delete;

  // LimitsGet and LimitsChange.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // Calls of LimitsListener that concern requests.
  void on_decided(std::uint64_t cookie, security::LimitCode code);
  void on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint);

  std::size_t change_count() const { return changes_.size(); }

 private:
  using Asker = ViewAsker;

  // A change under way.
  struct Change {
    Asker asker;
    security::LimitCommand command;
    std::uint64_t duration_ms = 0;
    bool newest = false;  // For whichever epoch is the newest.
    int attempts = 0;
  };

  void get(const Asker& asker, std::span<const std::byte> payload);
  void change(const Asker& asker, std::span<const std::byte> payload);
  // Whether this node leads shard 0; else the request is answered.
  bool leads(const Asker& asker);
  // What is judged before the table is.
  Status check(const Asker& asker, const protocol::LimitsOrder& order) const;
  // Fills in what the node knows: the epoch, the time and who asks.
  void complete(Change& change) const;
  void propose(Change change);
  protocol::LimitsAnswer state() const;
  void answer(const Asker& asker, const protocol::LimitsAnswer& answer);
  void answer_change(const Change& change, security::LimitCode code);
  void refuse(const Asker& asker, const Status& status);

  Environment environment_;
  std::map<std::uint64_t, Change> changes_;  // By cookie.
  LimitsCookies cookies_{LimitsProposer::Requests};
};

}  // namespace gcoord::server
