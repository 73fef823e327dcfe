#include "server/gate/wait_gate.h"

#include "server/rights/decision.h"

#include <memory>

namespace gcoord::server {

WaitOwner WaitGate::owner(protocol::ConnectionId connection) const {
  return gate_.on()
             ? std::make_shared<const security::Principal>(gate_.clients().principal(connection))
             : nullptr;
}

std::string WaitGate::refusal(const JudgedWait& wait) {
  const protocol::ReplySink& clients = gate_.clients();
  const bool gone = !clients.backlog_bytes(wait.connection).has_value();
  if (gone && wait.owner == nullptr) {
    return {};  // It came before rights were checked, and nobody can say from whom.
  }
  const security::Principal& principal = gone ? *wait.owner : clients.principal(wait.connection);
  const RequestDemands demands = demands_of_name(wait.request.kind, wait.name);
  const bool identified = principal.kind != security::PrincipalKind::Anonymous;
  const auto missing = missing_right(demands, gate_.rights_of(principal), identified);
  return missing ? gate_.refuse_wait(wait.connection, principal, *missing) : std::string{};
}

}  // namespace gcoord::server
