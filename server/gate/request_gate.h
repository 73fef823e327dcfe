// Gate of a node's requests: with rights switched on, each is decided for its connection's
// principal before anything of the node sees it.
//
// While they are off it lets all pass, at the cost of one look; where the table has users, though,
// this node's copy may be one from before they were switched on, so the rule below holds already. A
// decision is of the principal and
// the roles as they are at that moment; what it compiles is kept per principal and epoch. Where
// this node's copy of the roles may be older than an election timeout, what begins a change is
// refused (RightsUnconfirmed): so an acknowledged change of roles holds at every node after that
// time. A node that has begun without a copy serves nobody until it has one: it does not know
// whether rights are checked. Unless it joins, it says how it and its cluster are to clients of its
// host and to those that have proven who they are: a cluster without a majority has to be seen.
// docs/adr/0123 has the reasons. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "security/credentials/principal.h"
#include "security/roles/authorize.h"
#include "server/gate/refusals.h"
#include "server/gate/rights_cache.h"
#include "server/gate/roles_copy.h"
#include "server/interfaces/authority.h"
#include "server/rights/decision.h"
#include "server/rights/demands.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace gcoord::server {

class RequestGate {
 public:
  // All outlive it, and none may be empty.
  struct Environment {
    protocol::ReplySink& clients;  // Whose principals are judged, and who are refused.
    std::function<const security::AccessTable&()> table;
    // Whether this node's copy of the roles shows all that was acknowledged an election timeout
    // ago.
    std::function<bool()> confirmed;
    std::function<RolesStand()> stand;
    std::function<SessionStanding(protocol::ConnectionId, SessionId)> standing;
    std::function<std::uint64_t()> now_ms;
    // How often connections that were somebody have become somebody else.
    std::function<std::uint64_t()> reidentified;
    // Whether the ledger knows this principal as the one behind the session; may be empty.
    std::function<bool(const security::Principal&, SessionId)> is_behind{};
  };

  explicit RequestGate(MetricsRegistry& metrics);

  RequestGate(const RequestGate&) = delete;
  RequestGate& operator=(const RequestGate&) = delete;

  // Before the first request. Without it everything passes.
  void start(Environment environment) { environment_.emplace(std::move(environment)); }

  // Says whether all nodes are seen to have Feature::Safeguards, or something shows that they had
  // it once. Until the first time nobody can be granted session.choose, and session.read.all is
  // enough to choose a session's id, as before; not any more from then on, however many nodes are
  // down, nor once a role has session.choose. Without it they have.
  void set_all_guard(std::function<bool()> all_guard) { all_guard_ = std::move(all_guard); }

  // Whether rights are checked.
  bool on() const { return environment_ && environment_->table().enabled; }

  // Whether the age of this node's copy of the roles matters: rights are checked, or may be since.
  bool follows_roles() const {
    return environment_ && (environment_->table().enabled || !environment_->table().users.empty());
  }

  // Rises whenever a decision about what goes on for longer may be another one: with the epoch of
  // the roles while they are checked, and with each connection that becomes somebody else; 0 while
  // they are not checked.
  std::uint64_t epoch() const {
    return on() ? environment_->table().epoch + environment_->reidentified() + 1 : 0;
  }

  // Shows the roles that this node goes by in its metrics, and looks whether all nodes have
  // Feature::Safeguards. Once per pass.
  void show();

  // Whether a request may go on, as it came, checked or not; if not, it is answered, counted and
  // logged. RequestFlag::Discreet is set where the answer may not say who holds the name.
  bool pass(protocol::ConnectionId connection,
            protocol::RequestSlot& slot,
            std::span<const std::byte> payload);

  // Of the request that pass() let pass last: who made it, and which rights it was not found to
  // have. The node's own where rights are not checked.
  const Authority& authority() const { return authority_; }

  // Only while on().
  const security::RightsOf& rights(protocol::ConnectionId connection);
  const security::RightsOf& rights_of(const security::Principal& principal);
  SessionStanding standing(protocol::ConnectionId connection, SessionId session) const;

  // Whether the client may see a session in a list: it speaks for it, or is who opened it.
  bool may_list(protocol::ConnectionId connection, SessionId session) const;

  const protocol::ReplySink& clients() const { return environment_->clients; }

  // Counts and logs the end of a wait; what its client is answered.
  std::string refuse_wait(protocol::ConnectionId connection,
                          const security::Principal& principal,
                          const MissingRight& missing);

  Refusals& refusals() { return refusals_; }

 private:
  std::optional<MissingRight> missing_of(const RequestDemands& demands,
                                         const security::RightsOf& granted,
                                         bool identified);
  bool choice_guarded();
  bool pass_unknown(protocol::ConnectionId connection, const protocol::RequestSlot& slot) const;
  bool pass_confirmed(protocol::ConnectionId connection, const protocol::RequestSlot& slot);
  void refuse_unconfirmed(protocol::ConnectionId connection, const protocol::RequestSlot& slot);
  SessionStanding standing_of(protocol::ConnectionId connection,
                              const protocol::RequestSlot& slot,
                              std::span<const std::byte> payload) const;

  std::optional<Environment> environment_;
  std::function<bool()> all_guard_;
  bool choice_guarded_ = false;                   // Never false again.
  std::optional<std::uint64_t> roles_looked_at_;  // Epoch of those that let nobody choose.
  Authority authority_;
  RightsCache cache_;
  Refusals refusals_;
  Gauge& epoch_;
  Gauge& enabled_;
};

}  // namespace gcoord::server
