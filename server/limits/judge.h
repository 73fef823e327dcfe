// Judge of connections and requests by the limits of the cluster.
//
// Connections: denied ones are refused and, once a denial is known, closed; an identity and a
// network have as many as their limits say. Requests: each takes a token of its identity's bucket
// and one of each prefix that its names have, and what would go beyond a quota is refused. Keeping
// alive and giving back are never limited. Without limits in the table a request costs one look at
// a flag and at its kind. All of it counts on this node alone. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "security/limits/limit_table.h"
#include "server/identities/connection_judge.h"
#include "server/limits/accounts.h"
#include "server/limits/counts.h"
#include "server/limits/denial_list.h"
#include "server/limits/session_load.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::server {

// Of one proven identity on this node, where the cluster's limits say nothing of it. Who has proven
// nobody is bounded by its address (server/endpoints/connection_account.h).
struct IdentityLimits {
  std::uint32_t connections = 2048;
  std::uint32_t sessions = std::uint32_t{1} << 16;
};

class LimitJudge final : public ConnectionJudge {
 public:
  // All outlive it, and none may be empty.
  struct Environment {
    protocol::ReplySink& clients;
    std::function<SessionLoad(SessionId)> load;
    // The TTL by which the shard that the request goes to has its session; 0: it does not.
    std::function<std::uint32_t(const protocol::RequestSlot&, std::string_view name)>
        session_ttl_ms;
    std::function<std::uint64_t()> now_us;   // Only grows.
    std::function<std::uint64_t()> wall_ms;  // Unix time.
    IdentityLimits defaults;
  };

  LimitJudge(Environment environment, MetricsRegistry& metrics);
  LimitJudge(const LimitJudge&) = delete;
  LimitJudge& operator=(const LimitJudge&) = delete;

  // What closes a connection that is denied. Without it none is closed.
  void set_cut(std::function<void(protocol::ConnectionId)> cut) { cut_ = std::move(cut); }

  // From now on the limits of the table. What is denied is closed by the next advance().
  void assign(const security::LimitTable& table);

  // Once per pass.
  void advance();

  // Whether the request may go on; if not, it is answered, counted and logged. Before anything
  // else of the node sees it, and once for each.
  bool pass(protocol::ConnectionId connection,
            const protocol::RequestSlot& slot,
            std::span<const std::byte> payload) {
    return (!limits_requests_ && !is_noted(slot.kind)) || judge(connection, slot, payload);
  }

  // What denials of the connection go by; nullptr: it is gone.
  const DenialSubject* subject(protocol::ConnectionId connection) const;

  std::size_t account_count() const { return accounts_.size(); }

  // ConnectionJudge
  protocol::ErrorCode on_accepted(protocol::ConnectionId connection,
                                  const security::AddressBits& address) override;
  protocol::ErrorCode on_identified(const ConnectionFacts& facts) override;
  void on_reply(protocol::ConnectionId connection, const protocol::ReplySlot& reply) override;
  void on_closed(protocol::ConnectionId connection) override;

 private:
  struct Seat {
    DenialSubject subject;
    LimitAccount* account = nullptr;  // None before it has said Hello.
    std::uint32_t watches = 0;
  };

  struct NetworkLimit {
    security::Network network;
    std::uint32_t connections_max = 0;
    std::uint32_t connections = 0;
  };

  struct Refusal {
    LimitedBy what{};
    std::string text;
    std::uint64_t wait_ms = 0;  // 0: waiting does not help.
    protocol::ErrorCode code = protocol::ErrorCode::QuotaExceeded;
  };

  // Kinds that are counted whether anything is limited or not.
  static bool is_noted(protocol::RequestKind kind) {
    return kind == protocol::RequestKind::OpenSession ||
           kind == protocol::RequestKind::SessionGrant ||
           kind == protocol::RequestKind::CloseSession || kind == protocol::RequestKind::WatchOpen;
  }

  bool judge(protocol::ConnectionId connection,
             const protocol::RequestSlot& slot,
             std::span<const std::byte> payload);
  std::optional<Refusal> limited(LimitAccount& account,
                                 const protocol::RequestSlot& slot,
                                 std::span<const std::byte> payload);
  std::optional<Refusal> beyond_rate(LimitAccount& account);
  std::optional<Refusal> beyond_ttl(const LimitAccount& account,
                                    const protocol::RequestSlot& slot,
                                    std::span<const std::byte> payload) const;
  std::optional<Refusal> beyond_prefix_rate(const protocol::RequestSlot& slot,
                                            std::span<const std::byte> payload);
  std::optional<Refusal> beyond_sessions(LimitAccount& account);
  std::optional<Refusal> beyond_locks(LimitAccount& account, const protocol::RequestSlot& slot);
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& slot,
              const Refusal& refusal);
  std::uint32_t sessions_max(const LimitAccount& account) const;
  void drop_ended_sessions(LimitAccount& account) const;
  void count_locks(LimitAccount& account) const;
  bool take_network_place(const security::AddressBits& address);
  void leave(Seat& seat);
  void cut_denied();
  void count_unread();

  std::uint64_t now_ms() const { return env_.now_us() / 1000; }

  Environment env_;
  std::function<void(protocol::ConnectionId)> cut_ = [](protocol::ConnectionId) {};
  LimitCounts counts_;
  LimitAccounts accounts_;
  DenialList denials_;
  std::vector<NetworkLimit> networks_;
  std::unordered_map<std::uint64_t, Seat> seats_;  // By connection.
  bool limits_requests_ = false;
  bool cuts_ = false;  // Other denials came since the last advance().
  std::uint64_t unread_at_ms_ = 0;
};

}  // namespace gcoord::server
