// Gate of a node's HTTP ports: with rights switched on, a page is for principals whose roles have
// the right of server/rights/page_table.h.
//
// A client is who its certificate names, or with a token the token's user. The threads of the
// ports decide by a copy of the roles that the loop publishes, so that no page waits for the loop:
// metrics are wanted most when that hangs. A copy is made for each epoch of the roles; it is as old
// as the loop's last pass.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "security/credentials/token_ring.h"
#include "security/roles/role_table.h"
#include "server/gate/rights_cache.h"
#include "server/gate/roles_copy.h"
#include "server/http/message.h"
#include "server/rights/page_table.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace gcoord::server {

class HttpGate {
 public:
  // The registry outlives it. `wall_s`: Unix time, by any thread.
  HttpGate(MetricsRegistry& metrics, std::function<std::uint64_t()> wall_s);
  HttpGate(const HttpGate&) = delete;
  HttpGate& operator=(const HttpGate&) = delete;

  // The loop's thread; before the first request.
  void set_cluster(ClusterId cluster) { cluster_ = cluster; }

  // Keys by which tokens are believed; the loop's thread.
  void set_tokens(security::TokenRing tokens);

  // Before the first request and once per pass; the loop's thread. It costs a look while nothing
  // has changed. While the table is not known to be the cluster's, rights may be checked: of the
  // pages that need one only those of the metrics port are given then, by may_see_health(), and
  // none for administrators.
  void publish(const security::AccessTable& table, RolesStand stand);

  // The answer to a request that may not have its page: 401 where nobody that is known asks, 403
  // without the right, 503 where the roles are not known yet, or another node knows the user and
  // this one does not. Nothing: it may. Any thread.
  std::optional<HttpAnswer> refusal(HttpPort port, const HttpRequest& request);

  // Whether pages are for some clients only, so that no cache between may give them to others.
  bool on() const;

  // Whether the client has proven to be somebody who may manage users, so that verifiers are not
  // hidden from it; whether rights are checked or not. Any thread.
  bool may_see_verifiers(const HttpRequest& request);

 private:
  struct Rules {
    security::AccessTable table;
    security::TokenRing tokens;
    RolesStand stand = RolesStand::Known;

    bool known() const { return stand == RolesStand::Known; }
  };

  std::shared_ptr<const Rules> rules() const;
  Result<security::Principal> principal_of_request(const Rules& rules,
                                                   const HttpRequest& request) const;
  HealthReader reader_of(const Rules& rules, const HttpRequest& request) const;
  bool allows(const Rules& rules, const security::Principal& principal, security::Right right);

  std::function<std::uint64_t()> wall_s_;
  ClusterId cluster_;

  // As published last; of the loop's thread.
  struct Published {
    std::uint64_t epoch = 0;
    bool enabled = false;
    RolesStand stand = RolesStand::Known;

    friend bool operator==(const Published&, const Published&) = default;
  };

  Published published_;
  std::array<Counter*, security::kRightCount> by_right_{};
  Counter& unidentified_;

  mutable std::mutex mutex_;  // Guards what follows.
  security::TokenRing tokens_;
  std::shared_ptr<const Rules> rules_;  // None while there are no users.
  RightsCache cache_;
};

}  // namespace gcoord::server
