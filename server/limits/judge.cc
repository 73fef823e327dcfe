#include "server/limits/judge.h"

#include "common/text/printable.h"
#include "server/interfaces/replies.h"
#include "server/platform/operator_log.h"
#include "server/rights/demands.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using security::DenialScope;

// An identity with more is looked through at most so often: a look costs a look-up for each.
constexpr std::size_t kFewSessions = 64;
constexpr std::uint64_t kCountsMs = 20;
constexpr std::uint64_t kDropsMs = 100;
// After so long a count is made anew, since other nodes have granted meanwhile.
constexpr std::uint64_t kCountLastsMs = 1'000;

// An IPv6 host has as many addresses as it likes of a network of 64 bits.
std::string nobody_name(const security::AddressBits& address) {
  security::Network network{address, 128};
  const security::Network four{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
  if (!four.contains(address)) {
    std::fill(network.bits.begin() + 8, network.bits.end(), static_cast<unsigned char>(0));
    network.prefix_bits = 64;
  }
  return kNobodyMark + security::to_string(network);
}

std::string account_name(const security::Principal& principal,
                         const security::AddressBits& address) {
  switch (principal.kind) {
    case security::PrincipalKind::Anonymous:
      return nobody_name(address);
    case security::PrincipalKind::Node:
      return security::to_string(principal);
    default:
      return principal.name;
  }
}

// Kinds whose slot has the TTL of a session, which is registered by it: each one must keep to the
// limit, since an acquire registers its session in another shard with the TTL that it says.
bool has_session_ttl(RequestKind kind) {
  switch (kind) {
    case RequestKind::OpenSession:
    case RequestKind::SessionGrant:
    case RequestKind::LockAcquire:
    case RequestKind::LockAcquireHold:
    case RequestKind::GroupJoin:
    case RequestKind::GroupBarrier:
    case RequestKind::RendezvousJoin:
      return true;
    default:
      return false;
  }
}

DenialSubject subject_of(const ConnectionFacts& facts, const security::AddressBits& address) {
  DenialSubject subject;
  subject.address = address;
  if (facts.principal.kind != security::PrincipalKind::Anonymous) {
    subject.principal = facts.principal.name;
  }
  if (facts.peer != nullptr) {
    subject.serial = facts.peer->serial;
    std::ranges::transform(subject.serial, subject.serial.begin(), [](char each) {
      return each >= 'a' && each <= 'f' ? static_cast<char>(each - 'a' + 'A') : each;
    });
    for (const auto* names : {&facts.peer->uris, &facts.peer->dns, &facts.peer->addresses}) {
      subject.names.insert(subject.names.end(), names->begin(), names->end());
    }
    subject.names.push_back(facts.peer->common_name);
  }
  return subject;
}

}  // namespace

LimitJudge::LimitJudge(Environment environment, MetricsRegistry& metrics)
    : env_(std::move(environment)), counts_(metrics) {}

void LimitJudge::assign(const security::LimitTable& table) {
  accounts_.assign(table, env_.now_us());
  denials_.assign(table);
  networks_.clear();
  for (const auto& [key, limit] : table.limits) {
    const auto network = key.scope == security::LimitScope::Network
                             ? security::parse_network(key.name)
                             : std::nullopt;
    if (network) {
      const auto connections = std::ranges::count_if(
          seats_, [&](const auto& seat) { return network->contains(seat.second.subject.address); });
      networks_.push_back({*network, limit.connections, static_cast<std::uint32_t>(connections)});
    }
  }
  limits_requests_ = accounts_.limits_requests();
  cuts_ = !denials_.empty();
  counts_.show(table, accounts_.size());
}

void LimitJudge::advance() {
  if (std::exchange(cuts_, false)) {
    cut_denied();
  }
  if (accounts_.limits_bytes() && now_ms() - unread_at_ms_ >= 1'000) {
    unread_at_ms_ = now_ms();
    count_unread();
  }
}

void LimitJudge::cut_denied() {
  const std::uint64_t wall_ms = env_.wall_ms();
  std::vector<protocol::ConnectionId> denied;
  for (const auto& [connection, seat] : seats_) {
    if (const auto scope = denials_.find(seat.subject, wall_ms)) {
      counts_.add_denied(*scope);
      denied.push_back(protocol::ConnectionId{connection});
    }
  }
  for (const protocol::ConnectionId connection : denied) {
    cut_(connection);
  }
  if (!denied.empty()) {
    log_info(
        LogComponent::Clients, "{} connections are closed, since they are denied", denied.size());
  }
}

void LimitJudge::count_unread() {
  for (auto& [connection, seat] : seats_) {
    if (seat.account != nullptr) {
      seat.account->unread_bytes = 0;
    }
  }
  for (auto& [connection, seat] : seats_) {
    if (seat.account != nullptr) {
      seat.account->unread_bytes +=
          env_.clients.backlog_bytes(protocol::ConnectionId{connection}).value_or(0);
    }
  }
}

const DenialSubject* LimitJudge::subject(protocol::ConnectionId connection) const {
  const auto found = seats_.find(connection.value);
  return found == seats_.end() ? nullptr : &found->second.subject;
}

bool LimitJudge::take_network_place(const security::AddressBits& address) {
  const bool full = std::ranges::any_of(networks_, [&](const NetworkLimit& each) {
    return each.connections >= each.connections_max && each.network.contains(address);
  });
  for (NetworkLimit& each : networks_) {
    each.connections += !full && each.network.contains(address) ? 1 : 0;
  }
  return !full;
}

ErrorCode LimitJudge::on_accepted(protocol::ConnectionId connection,
                                  const security::AddressBits& address) {
  if (denials_.denies(address, env_.wall_ms())) {
    counts_.add_denied(DenialScope::Network);
    return ErrorCode::Denied;
  }
  if (!take_network_place(address)) {
    return ErrorCode::IdentityConnectionsFull;
  }
  seats_[connection.value].subject.address = address;
  return ErrorCode::None;
}

ErrorCode LimitJudge::on_identified(const ConnectionFacts& facts) {
  const auto found = seats_.find(facts.id.value);
  if (found == seats_.end()) {
    return ErrorCode::None;  // It came before this judge did.
  }
  Seat& seat = found->second;
  seat.subject = subject_of(facts, seat.subject.address);
  if (const auto scope = denials_.find(seat.subject, env_.wall_ms())) {
    counts_.add_denied(*scope);
    on_closed(facts.id);
    return ErrorCode::Denied;
  }
  LimitAccount& account =
      accounts_.find(account_name(facts.principal, seat.subject.address), env_.now_us());
  if (&account == seat.account) {
    return ErrorCode::None;
  }
  const std::uint32_t usual = account.proven() ? env_.defaults.connections : 0;
  const std::uint32_t most = account.limit.connections != 0 ? account.limit.connections : usual;
  if (most != 0 && account.connections >= most) {
    on_closed(facts.id);
    return ErrorCode::IdentityConnectionsFull;
  }
  const std::uint32_t watches = seat.watches;
  leave(seat);
  seat.account = &account;
  seat.watches = watches;
  ++account.connections;
  account.watches += watches;
  return ErrorCode::None;
}

void LimitJudge::leave(Seat& seat) {
  if (seat.account != nullptr) {
    --seat.account->connections;
    seat.account->watches -= seat.watches;
    seat.account = nullptr;
    seat.watches = 0;
  }
}

void LimitJudge::on_closed(protocol::ConnectionId connection) {
  const auto found = seats_.find(connection.value);
  if (found == seats_.end()) {
    return;
  }
  for (NetworkLimit& each : networks_) {
    each.connections -= each.network.contains(found->second.subject.address) ? 1 : 0;
  }
  leave(found->second);
  seats_.erase(found);
}

void LimitJudge::on_reply(protocol::ConnectionId connection, const protocol::ReplySlot& reply) {
  const auto found = seats_.find(connection.value);
  if (found == seats_.end() || found->second.account == nullptr) {
    return;
  }
  Seat& seat = found->second;
  LimitAccount& account = *seat.account;
  if (reply.kind == RequestKind::WatchOpen) {
    if (seat.watches > 0) {
      --seat.watches;
      --account.watches;
    }
  } else if (reply.kind != RequestKind::CloseSession && is_noted(reply.kind) &&
             reply.code == StatusCode::Ok && (limits_requests_ || sessions_max(account) != 0) &&
             account.sessions.size() < kSessionsCounted) {
    account.sessions[reply.extra] = now_ms() + reply.ttl_ms;
  }
}

bool LimitJudge::judge(protocol::ConnectionId connection,
                       const protocol::RequestSlot& slot,
                       std::span<const std::byte> payload) {
  const auto found = seats_.find(connection.value);
  if (found == seats_.end() || found->second.account == nullptr) {
    return true;
  }
  Seat& seat = found->second;
  // Each one gets one last answer, by which it is counted out (on_reply), a refused one too.
  if (slot.kind == RequestKind::WatchOpen) {
    ++seat.watches;
    ++seat.account->watches;
  }
  const auto refusal = limited(*seat.account, slot, payload);
  if (refusal) {
    refuse(connection, slot, *refusal);
  }
  return !refusal;
}

std::optional<LimitJudge::Refusal> LimitJudge::limited(LimitAccount& account,
                                                       const protocol::RequestSlot& slot,
                                                       std::span<const std::byte> payload) {
  switch (slot.kind) {
    case RequestKind::CloseSession:
      if (const auto session = account.sessions.find(slot.session);
          session != account.sessions.end()) {
        session->second = 0;
      }
      [[fallthrough]];
    case RequestKind::LockRelease:
    case RequestKind::LockCancel:
      account.counted_ms = account.sessions.size() <= kFewSessions ? 0 : account.counted_ms;
      return std::nullopt;
    // Proves, keeps alive, gives back, or lifts limits.
    case RequestKind::KeepAlive:
    case RequestKind::WatchClose:
    case RequestKind::GroupLeave:
    case RequestKind::RendezvousLeave:
    case RequestKind::Authenticate:
    case RequestKind::SessionAttach:
    case RequestKind::LimitsGet:
    case RequestKind::LimitsChange:
      return std::nullopt;
    default:
      break;
  }
  // First of all, so that what is refused is not for nothing.
  auto refusal = beyond_rate(account);
  if (!refusal) {
    refusal = beyond_ttl(account, slot, payload);
  }
  if (!refusal && accounts_.has_prefixes()) {
    refusal = beyond_prefix_rate(slot, payload);
  }
  if (!refusal && account.limit.bytes != 0 && account.unread_bytes > account.limit.bytes) {
    refusal = {LimitedBy::Bytes, "bytes of replies that its clients have not read"};
  }
  if (refusal) {
    return refusal;
  }
  switch (slot.kind) {
    case RequestKind::OpenSession:
    case RequestKind::SessionGrant:
      return beyond_sessions(account);
    case RequestKind::LockAcquire:
    case RequestKind::LockAcquireHold:
      return beyond_locks(account, slot);
    case RequestKind::WatchOpen:
      if (account.limit.watches != 0 && account.watches > account.limit.watches) {
        return Refusal{LimitedBy::Watches, "watches"};
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// It is refused and not shortened: a client keeps a session alive by the TTL that it wanted, and
// would lose one that is shorter than it knows. What a shard has already is not refused: it may be
// the request of before, whose answer was lost.
std::optional<LimitJudge::Refusal> LimitJudge::beyond_ttl(
    const LimitAccount& account,
    const protocol::RequestSlot& slot,
    std::span<const std::byte> payload) const {
  const std::uint32_t most_ms = account.limit.session_ttl_ms;
  if (most_ms == 0 || slot.ttl_ms <= most_ms || !has_session_ttl(slot.kind)) {
    return std::nullopt;
  }
  const RequestDemands demands = demands_of(slot, payload, SessionStanding::Own);
  if (!demands.subject().empty() && slot.ttl_ms <= env_.session_ttl_ms(slot, demands.subject())) {
    return std::nullopt;
  }
  return Refusal{.what = LimitedBy::SessionTtl,
                 .text = "TTLs of sessions: " + std::to_string(most_ms) + " ms",
                 .code = ErrorCode::SessionTtlLimited};
}

std::optional<LimitJudge::Refusal> LimitJudge::beyond_rate(LimitAccount& account) {
  if (account.limit.rate == 0) {
    return std::nullopt;
  }
  const TokenBucket::Rate rate = rate_of(account.limit);
  if (account.bucket.take(rate, env_.now_us())) {
    return std::nullopt;
  }
  return Refusal{LimitedBy::Rate, "requests of this identity", account.bucket.wait_ms(rate)};
}

std::optional<LimitJudge::Refusal> LimitJudge::beyond_prefix_rate(
    const protocol::RequestSlot& slot, std::span<const std::byte> payload) {
  const RequestDemands demands = demands_of(slot, payload, SessionStanding::Own);
  const auto take = [this](std::string_view name) -> std::optional<Refusal> {
    LimitAccounts::PrefixBucket* const found = name.empty() ? nullptr : accounts_.prefix_of(name);
    if (found == nullptr || found->bucket.take(found->rate, env_.now_us())) {
      return std::nullopt;
    }
    return Refusal{LimitedBy::PrefixRate,
                   "requests on names that begin with " + shown(found->prefix),
                   found->bucket.wait_ms(found->rate)};
  };
  if (!demands.is_list) {
    return take(demands.subject());
  }
  for (const std::string_view name : demands.names) {
    if (auto refusal = take(name)) {
      return refusal;
    }
  }
  return std::nullopt;
}

std::uint32_t LimitJudge::sessions_max(const LimitAccount& account) const {
  const std::uint32_t usual = account.proven() ? env_.defaults.sessions : 0;
  return account.limit.sessions != 0 ? account.limit.sessions : usual;
}

std::optional<LimitJudge::Refusal> LimitJudge::beyond_sessions(LimitAccount& account) {
  const std::uint32_t most = sessions_max(account);
  if (most == 0 || account.sessions.size() < most) {
    return std::nullopt;
  }
  drop_ended_sessions(account);
  if (account.sessions.size() < most) {
    return std::nullopt;
  }
  return Refusal{LimitedBy::Sessions, "sessions: " + std::to_string(most)};
}

void LimitJudge::drop_ended_sessions(LimitAccount& account) const {
  const std::uint64_t now = now_ms();
  if (account.sessions.size() > kFewSessions && now - account.dropped_ms < kDropsMs) {
    return;
  }
  account.dropped_ms = now;
  std::erase_if(account.sessions, [&](const auto& session) {
    return session.second <= now && !env_.load(SessionId{session.first}).known;
  });
}

void LimitJudge::count_locks(LimitAccount& account) const {
  std::uint64_t locks = 0;
  std::uint64_t waiters = 0;
  for (const auto& [session, until_ms] : account.sessions) {
    const SessionLoad load = env_.load(SessionId{session});
    locks += load.locks;
    waiters += load.waiters;
  }
  const auto left = [](std::uint32_t most, std::uint64_t has) {
    return static_cast<std::uint32_t>(most - std::min<std::uint64_t>(most, has));
  };
  account.locks_left = left(account.limit.locks, locks);
  account.waiters_left = left(account.limit.waiters, waiters);
  account.counted_ms = now_ms();
}

std::optional<LimitJudge::Refusal> LimitJudge::beyond_locks(LimitAccount& account,
                                                            const protocol::RequestSlot& slot) {
  const bool locks = account.limit.locks != 0;
  const bool waiters = account.limit.waiters != 0 && slot.has(protocol::RequestFlag::Wait);
  if (!locks && !waiters) {
    return std::nullopt;
  }
  if (account.sessions.size() < kSessionsCounted && !account.sessions.contains(slot.session) &&
      env_.load(SessionId{slot.session}).known) {
    account.sessions.emplace(slot.session, 0);  // Opened at another node.
    account.counted_ms = 0;
  }
  const std::uint64_t age_ms = now_ms() - account.counted_ms;
  const bool none_left =
      (locks && account.locks_left == 0) || (waiters && account.waiters_left == 0);
  const bool again = account.sessions.size() <= kFewSessions || age_ms >= kCountsMs;
  if (age_ms >= kCountLastsMs || (none_left && again)) {
    count_locks(account);
  }
  if (locks && account.locks_left == 0) {
    return Refusal{LimitedBy::Locks, "locks: " + std::to_string(account.limit.locks)};
  }
  if (waiters && account.waiters_left == 0) {
    return Refusal{LimitedBy::Waiters, "waiters: " + std::to_string(account.limit.waiters)};
  }
  account.locks_left -= locks ? 1 : 0;
  account.waiters_left -= waiters ? 1 : 0;
  return std::nullopt;
}

void LimitJudge::refuse(protocol::ConnectionId connection,
                        const protocol::RequestSlot& slot,
                        const Refusal& refusal) {
  const bool rate = refusal.wait_ms != 0;
  std::string text = "the limit of " + refusal.text;
  if (rate) {
    text += "; try again in " + std::to_string(refusal.wait_ms) + " ms";
  }
  if (counts_.add(refusal.what, now_ms())) {
    counts_.log(env_.clients.describe(connection), text);
  }
  protocol::ReplySlot reply = error_reply(slot, rate ? ErrorCode::RateExceeded : refusal.code);
  reply.extra = refusal.wait_ms;
  env_.clients.reply(connection, reply, protocol::bytes_of(text));
}

}  // namespace gcoord::server
