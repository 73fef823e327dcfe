#include "server/rights/demands.h"

#include "protocol/access/messages.h"
#include "protocol/election_messages.h"
#include "protocol/force_messages.h"
#include "protocol/groups/messages.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/logs/level_messages.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/move_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "protocol/rendezvous/messages.h"
#include "protocol/watch_messages.h"

#include <utility>

namespace gcoord::server {

namespace {

using protocol::RequestFlag;
using protocol::RequestKind;

using Payload = std::span<const std::byte>;

void add(RequestDemands& demands, DemandCase when) {
  demands.cases |= case_bit(when);
}

// A message with a member `name`, a view into the payload.
template <auto kDecode>
void name_of(RequestDemands& demands, Payload payload) {
  const auto decoded = kDecode(payload);
  demands.malformed = !decoded.ok();
  if (decoded.ok()) {
    demands.name = decoded.value().name;
  }
}

void names_of(RequestDemands& demands, const std::vector<protocol::TokenCheck>& checks) {
  demands.is_list = true;
  demands.names.reserve(checks.size());
  for (const protocol::TokenCheck& check : checks) {
    demands.names.push_back(check.name);
  }
}

void add_batch(RequestDemands& demands, Payload payload) {
  const auto checks = protocol::decode_check_batch(payload);
  demands.malformed = !checks.ok();
  if (checks.ok()) {
    names_of(demands, checks.value());
  }
}

void add_read(RequestDemands& demands, Payload payload) {
  const auto read = protocol::decode_lock_read(payload);
  demands.malformed = !read.ok();
  if (read.ok()) {
    const bool rows = read.value().question == protocol::ReadQuestion::Row;
    add(demands, rows ? DemandCase::Rows : DemandCase::Verdicts);
    names_of(demands, read.value().names);
  }
}

// Kinds of events that only tell who waits, which a query may name beside its flag.
constexpr std::uint8_t kQueueKinds = protocol::watch_kind_bit(protocol::WatchEventKind::Waiting) |
                                     protocol::watch_kind_bit(protocol::WatchEventKind::Left);

void add_watch(RequestDemands& demands, const WatchSubject& watch) {
  const bool details = watch.queue || watch.previous || (watch.kinds & kQueueKinds) != 0;
  demands.text = watch.text;
  switch (watch.target) {
    case protocol::WatchTarget::Name:
      add(demands, DemandCase::NameTarget);
      add(demands, details ? DemandCase::NameDetails : DemandCase::NameTarget);
      return;
    case protocol::WatchTarget::Prefix:
      add(demands, DemandCase::PrefixTarget);
      add(demands, details ? DemandCase::PrefixDetails : DemandCase::PrefixTarget);
      return;
    case protocol::WatchTarget::Session:
      add(demands, DemandCase::SessionTarget);
      add(demands, details ? DemandCase::SessionDetails : DemandCase::SessionTarget);
      if (watch.standing != SessionStanding::Own) {
        add(demands, DemandCase::SessionOfOthers);
      }
      return;
  }
  demands.malformed = true;
}

// Of a session that the connection speaks for.
void add_query(RequestDemands& demands, const protocol::RequestSlot& slot, Payload payload) {
  const auto query = protocol::decode_watch_query(payload);
  demands.malformed = !query.ok();
  if (query.ok()) {
    add_watch(demands,
              {.target = query.value().target,
               .text = query.value().text,
               .queue = slot.has(RequestFlag::WatchQueue),
               .previous = slot.has(RequestFlag::WatchPrevious),
               .kinds = query.value().kinds,
               .standing = SessionStanding::Own});
  }
}

constexpr std::uint32_t kOfSession = case_bit(DemandCase::SessionTarget);

void add_by_token(RequestDemands& demands,
                  const protocol::RequestSlot& slot,
                  SessionStanding standing) {
  if (slot.has(RequestFlag::ByToken) && standing != SessionStanding::Own) {
    add(demands, DemandCase::ByToken);
  }
}

void add_session_list(RequestDemands& demands, Payload payload) {
  const auto query = protocol::decode_session_query(payload);
  demands.malformed = !query.ok();
  if (query.ok() && query.value().count_only) {
    add(demands, DemandCase::Counts);
  }
}

void add_log_levels(RequestDemands& demands, Payload payload) {
  const auto order = protocol::decode_log_levels(payload);
  demands.malformed = !order.ok();
  if (order.ok()) {
    add(demands, order.value().levels.empty() ? DemandCase::Reads : DemandCase::Changes);
  }
}

void add_access(RequestDemands& demands, Payload payload) {
  const auto query = protocol::decode_access_query(payload);
  demands.malformed = !query.ok();
  if (query.ok()) {
    using protocol::AccessSubject;
    const AccessSubject subject = query.value().subject;
    add(demands,
        subject == AccessSubject::Self     ? DemandCase::Self
        : subject == AccessSubject::Status ? DemandCase::Status
                                           : DemandCase::Rows);
  }
}

void add_alarms(RequestDemands& demands, Payload payload) {
  const auto order = protocol::decode_alarm_order(payload);
  demands.malformed = !order.ok();
  if (order.ok()) {
    const bool reads = order.value().action == protocol::AlarmAction::List;
    add(demands, reads ? DemandCase::Reads : DemandCase::Changes);
  }
}

// Kinds about sessions.
void add_session(RequestDemands& demands,
                 const protocol::RequestSlot& slot,
                 SessionStanding standing) {
  if (slot.kind == RequestKind::SessionGrant) {
    if (slot.session < protocol::kSessionIdChosenEnd) {
      add(demands, DemandCase::ChosenSession);
    }
  } else if (standing != SessionStanding::Own) {
    add(demands, DemandCase::OfOthers);
  }
}

// Kinds of groups and rendezvous.
void add_group(RequestDemands& demands, RequestKind kind, Payload payload) {
  switch (kind) {
    case RequestKind::GroupJoin:
      return name_of<protocol::decode_group_join>(demands, payload);
    case RequestKind::GroupGet:
      return name_of<protocol::decode_group_query>(demands, payload);
    case RequestKind::GroupBarrier:
      return name_of<protocol::decode_group_arrival>(demands, payload);
    case RequestKind::GroupUpdate:
      return name_of<protocol::decode_group_update>(demands, payload);
    case RequestKind::RendezvousJoin:
      return name_of<protocol::decode_rendezvous_join>(demands, payload);
    case RequestKind::RendezvousGet:
      return name_of<protocol::decode_rendezvous_query>(demands, payload);
    default:  // GroupLeave, RendezvousLeave.
      demands.name = protocol::text_of(payload);
  }
}

// Kinds about one lock or election whose payload is more than its name.
void add_lock(RequestDemands& demands, RequestKind kind, Payload payload) {
  switch (kind) {
    case RequestKind::LockAcquireHold:
      return name_of<protocol::decode_hold>(demands, payload);
    case RequestKind::LockBreak:
      return name_of<protocol::decode_break>(demands, payload);
    case RequestKind::LockMove:
      return name_of<protocol::decode_move>(demands, payload);
    case RequestKind::LockGetAt:
      return name_of<protocol::decode_past_query>(demands, payload);
    case RequestKind::ElectProclaim:
      return name_of<protocol::decode_proclamation>(demands, payload);
    default:  // ElectTransfer, ElectAsk.
      return name_of<protocol::decode_nomination>(demands, payload);
  }
}

bool is_in(std::span<const RequestKind> kinds, RequestKind kind) {
  for (const RequestKind each : kinds) {
    if (each == kind) {
      return true;
    }
  }
  return false;
}

}  // namespace

RequestDemands demands_of(const protocol::RequestSlot& slot,
                          std::span<const std::byte> payload,
                          SessionStanding standing) {
  RequestDemands demands;
  demands.rows = demand_rows(slot.kind);
  switch (slot.kind) {
    case RequestKind::LockRelease:
      add_by_token(demands, slot, standing);
      [[fallthrough]];
    case RequestKind::LockAcquire:
    case RequestKind::LockCancel:
    case RequestKind::LockCheck:
    case RequestKind::LockGet:
    case RequestKind::ElectCandidates:
    case RequestKind::HolderDescribe:
      demands.name = protocol::text_of(payload);
      break;
    case RequestKind::ElectProclaim:
    case RequestKind::ElectTransfer:
      add_by_token(demands, slot, standing);
      [[fallthrough]];
    case RequestKind::ElectAsk:
    case RequestKind::LockAcquireHold:
    case RequestKind::LockBreak:
    case RequestKind::LockMove:
    case RequestKind::LockGetAt:
      add_lock(demands, slot.kind, payload);
      break;
    case RequestKind::LockCheckBatch:
      add_batch(demands, payload);
      break;
    case RequestKind::LockRead:
      add_read(demands, payload);
      break;
    case RequestKind::WatchOpen:
      add_query(demands, slot, payload);
      if (standing != SessionStanding::Own && (demands.cases & kOfSession) != 0) {
        add(demands, DemandCase::SessionOfOthers);
      }
      break;
    case RequestKind::SessionGrant:
    case RequestKind::SessionShow:
    case RequestKind::SessionLosses:
      add_session(demands, slot, standing);
      break;
    case RequestKind::SessionList:
      add_session_list(demands, payload);
      break;
    case RequestKind::LogLevels:
      add_log_levels(demands, payload);
      break;
    case RequestKind::AccessGet:
      add_access(demands, payload);
      break;
    case RequestKind::MemberAlarms:
      add_alarms(demands, payload);
      break;
    default:
      if (!demands.rows.empty() && demands.rows.front().scope == DemandScope::Name) {
        add_group(demands, slot.kind, payload);
      }
  }
  return demands;
}

RequestDemands demands_of_name(RequestKind kind, std::string_view name) {
  RequestDemands demands;
  demands.rows = demand_rows(kind);
  demands.name = name;
  return demands;
}

RequestDemands demands_of_watch(const WatchSubject& watch) {
  RequestDemands demands;
  demands.rows = demand_rows(RequestKind::WatchOpen);
  add_watch(demands, watch);
  return demands;
}

bool begins_change(const RequestDemands& demands, const protocol::RequestSlot& slot) {
  static constexpr RequestKind kChanges[] = {RequestKind::LockAcquire,
                                             RequestKind::LockAcquireHold,
                                             RequestKind::LockBreak,
                                             RequestKind::LockMove,
                                             RequestKind::ElectProclaim,
                                             RequestKind::ElectTransfer,
                                             RequestKind::ElectAsk,
                                             RequestKind::LedgerPrune,
                                             RequestKind::SessionGrant,
                                             RequestKind::GroupJoin,
                                             RequestKind::GroupBarrier,
                                             RequestKind::GroupUpdate,
                                             RequestKind::RendezvousJoin,
                                             RequestKind::MemberUpdate,
                                             RequestKind::MemberChange,
                                             RequestKind::AccessChange,
                                             RequestKind::LimitsChange,
                                             RequestKind::LedgerOrders};
  const std::uint32_t changing = case_bit(DemandCase::Changes) | case_bit(DemandCase::ByToken);
  return is_in(kChanges, slot.kind) || (demands.cases & changing) != 0;
}

}  // namespace gcoord::server
