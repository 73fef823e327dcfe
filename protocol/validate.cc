#include "protocol/validate.h"

#include "common/text/printable.h"
#include "common/utf8.h"
#include "protocol/election_messages.h"
#include "protocol/force_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/move_messages.h"
#include "protocol/past_messages.h"

namespace gcoord::protocol {
namespace {

bool has_control(std::string_view text) {
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
      return true;
    }
  }
  return false;
}

}  // namespace

ErrorCode check_window(const RequestSlot& slot) {
  if (slot.sequence == 0) {
    return ErrorCode::SequenceZero;
  }
  if (slot.acked_below == 0 || slot.acked_below > slot.sequence) {
    return ErrorCode::AckedAboveSequence;
  }
  // The upper half is the shard's own, for waits that it receives with a lock.
  const bool near =
      slot.sequence - slot.acked_below <= kSequenceAheadMax && slot.sequence >> 63 == 0;
  return near ? ErrorCode::None : ErrorCode::SequenceTooFar;
}

namespace {

// What every request that changes a lock has: a session, its sequence, a name.
ErrorCode check_change(const RequestSlot& slot, std::string_view name) {
  if (slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  if (const ErrorCode code = check_window(slot); code != ErrorCode::None) {
    return code;
  }
  return check_name(name);
}

ErrorCode check_acquire(const RequestSlot& slot,
                        std::string_view name,
                        const RequestLimits& limits) {
  if (const ErrorCode code = check_change(slot, name); code != ErrorCode::None) {
    return code;
  }
  if (!is_printable(name)) {
    return ErrorCode::NameControl;
  }
  if (slot.has(RequestFlag::Wait)) {
    if (const ErrorCode code = check_wait(slot.deadline_ms); code != ErrorCode::None) {
      return code;
    }
  }
  return check_ttl(slot.ttl_ms, limits);
}

ErrorCode check_acquire_hold(const RequestSlot& slot,
                             std::span<const std::byte> payload,
                             const RequestLimits& limits) {
  const auto hold = decode_hold(payload);
  if (!hold.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  const ErrorCode code = check_hold(hold.value());
  return code != ErrorCode::None ? code : check_acquire(slot, hold.value().name, limits);
}

// A release that stands for itself: numbers of a window have no place in it.
ErrorCode check_by_token(const RequestSlot& slot, std::span<const std::byte> payload) {
  if (slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  if (slot.sequence != 0 || slot.acked_below != 0) {
    return ErrorCode::SlotInvalid;
  }
  return check_name(text_of(payload));
}

ErrorCode check_release(const RequestSlot& slot, std::span<const std::byte> payload) {
  const ErrorCode code = slot.has(RequestFlag::ByToken) ? check_by_token(slot, payload)
                                                        : check_change(slot, text_of(payload));
  if (code != ErrorCode::None) {
    return code;
  }
  return slot.token == 0 ? ErrorCode::TokenZero : ErrorCode::None;
}

// A change by the leader: like a release, with more than a name.
ErrorCode check_office(const RequestSlot& slot, std::string_view name) {
  const ErrorCode code = slot.has(RequestFlag::ByToken) ? check_by_token(slot, bytes_of(name))
                                                        : check_change(slot, name);
  if (code != ErrorCode::None) {
    return code;
  }
  return slot.token == 0 ? ErrorCode::TokenZero : ErrorCode::None;
}

ErrorCode check_proclaim(const RequestSlot& slot, std::span<const std::byte> payload) {
  const auto said = decode_proclamation(payload);
  if (!said.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  const ErrorCode code = check_note(said.value().value);
  return code != ErrorCode::None ? code : check_office(slot, said.value().name);
}

// `asked`: by anybody, who need not name the term and has no session.
ErrorCode check_nomination(const RequestSlot& slot,
                           std::span<const std::byte> payload,
                           bool asked) {
  const auto named = decode_nomination(payload);
  if (!named.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  if (named.value().target.value == 0) {
    return ErrorCode::SessionZero;
  }
  if (named.value().target.value == kSessionReserved) {
    return ErrorCode::PayloadMalformed;
  }
  return asked ? check_name(named.value().name) : check_office(slot, named.value().name);
}

ErrorCode check_break_request(const RequestSlot& slot, std::span<const std::byte> payload) {
  const auto request = decode_break(payload);
  if (!request.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  if (const ErrorCode code = check_break(request.value()); code != ErrorCode::None) {
    return code;
  }
  return slot.token == 0 ? ErrorCode::TokenZero : ErrorCode::None;
}

ErrorCode check_move(std::span<const std::byte> payload, const RequestLimits& limits) {
  const auto move = decode_move(payload);
  if (!move.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  return move.value().to.value < limits.shard_count ? check_name(move.value().name)
                                                    : ErrorCode::ShardOutOfRange;
}

ErrorCode check_session(const RequestSlot& slot) {
  return slot.session == 0 ? ErrorCode::SessionZero : ErrorCode::None;
}

// Any sequence closes, also none; but not one of those that are the shard's own.
ErrorCode check_close(const RequestSlot& slot) {
  const ErrorCode code = check_session(slot);
  return code == ErrorCode::None && slot.sequence >> 63 != 0 ? ErrorCode::SequenceTooFar : code;
}

ErrorCode check_grant(const RequestSlot& slot, const RequestLimits& limits) {
  if (slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  return check_ttl(slot.ttl_ms, limits);
}

ErrorCode check_past(std::span<const std::byte> payload) {
  const auto query = decode_past_query(payload);
  return query.ok() ? check_name(query.value().name) : ErrorCode::PayloadMalformed;
}

ErrorCode check_shard(const RequestSlot& slot, const RequestLimits& limits) {
  const bool all = slot.kind == RequestKind::CloseSession && slot.shard == kAllShards;
  return all || slot.shard < limits.shard_count ? ErrorCode::None : ErrorCode::ShardOutOfRange;
}

ErrorCode check_flags(const RequestSlot& slot) {
  constexpr auto kKnown =
      static_cast<std::uint16_t>(static_cast<std::uint16_t>(RequestFlag::Blocks) |
                                 static_cast<std::uint16_t>(RequestFlag::ByToken) |
                                 static_cast<std::uint16_t>(RequestFlag::Details) |
                                 static_cast<std::uint16_t>(RequestFlag::Discreet) |
                                 static_cast<std::uint16_t>(RequestFlag::Moved) |
                                 static_cast<std::uint16_t>(RequestFlag::NamesTerm) |
                                 static_cast<std::uint16_t>(RequestFlag::Quorum) |
                                 static_cast<std::uint16_t>(RequestFlag::TellBroken) |
                                 static_cast<std::uint16_t>(RequestFlag::Wait) |
                                 static_cast<std::uint16_t>(RequestFlag::Waiters) |
                                 static_cast<std::uint16_t>(RequestFlag::WatchFollow) |
                                 static_cast<std::uint16_t>(RequestFlag::WatchPrevious) |
                                 static_cast<std::uint16_t>(RequestFlag::WatchQueue) |
                                 static_cast<std::uint16_t>(RequestFlag::WriteIndex));
  return (slot.flags & ~kKnown) == 0 ? ErrorCode::None : ErrorCode::SlotInvalid;
}

// Whether the part of the node that answers a kind checks its fields, too.
bool checked_by_owner(RequestKind kind) {
  switch (kind) {
    case RequestKind::GroupJoin:
    case RequestKind::GroupLeave:
    case RequestKind::GroupGet:
    case RequestKind::GroupBarrier:
    case RequestKind::GroupUpdate:
    case RequestKind::RendezvousJoin:
    case RequestKind::RendezvousLeave:
    case RequestKind::RendezvousGet:
    case RequestKind::ViewGet:
    case RequestKind::MemberUpdate:
    case RequestKind::MemberChange:
    case RequestKind::MemberJoin:
    case RequestKind::MemberProgress:
    case RequestKind::MemberAlarms:
    case RequestKind::Authenticate:
    case RequestKind::SessionDescribe:
    case RequestKind::AccessGet:
    case RequestKind::AccessChange:
    case RequestKind::LimitsGet:
    case RequestKind::LimitsChange:
    case RequestKind::LedgerOrders:
      return true;
    default:
      return false;
  }
}

ErrorCode check_kind(const RequestSlot& slot,
                     std::span<const std::byte> payload,
                     const RequestLimits& limits) {
  switch (slot.kind) {
    case RequestKind::OpenSession:
      return check_ttl(slot.ttl_ms, limits);
    case RequestKind::CloseSession:
      return check_close(slot);
    case RequestKind::LockAcquire:
      return check_acquire(slot, text_of(payload), limits);
    case RequestKind::LockAcquireHold:
      return check_acquire_hold(slot, payload, limits);
    case RequestKind::LockRelease:
      return check_release(slot, payload);
    case RequestKind::LockBreak:
      return check_break_request(slot, payload);
    case RequestKind::SessionAttach:
    case RequestKind::SessionLosses:
    case RequestKind::SessionShow:
      return check_session(slot);
    case RequestKind::LockCancel:
      return check_change(slot, text_of(payload));
    case RequestKind::LockCheck:
      return slot.token == 0 ? ErrorCode::TokenZero : check_name(text_of(payload));
    case RequestKind::LockGet:
    case RequestKind::ElectCandidates:
    case RequestKind::HolderDescribe:
      return check_name(text_of(payload));
    case RequestKind::ElectProclaim:
      return check_proclaim(slot, payload);
    case RequestKind::ElectTransfer:
    case RequestKind::ElectAsk:
      return check_nomination(slot, payload, slot.kind == RequestKind::ElectAsk);
    case RequestKind::LockMove:
      return check_move(payload, limits);
    case RequestKind::Hello:
    case RequestKind::KeepAlive:
    case RequestKind::LockCheckBatch:
    case RequestKind::LockList:
    case RequestKind::LockDeadlocks:
    case RequestKind::NodeStatus:
    case RequestKind::ShardList:
    case RequestKind::ShardShow:
    case RequestKind::LeaderMap:
    case RequestKind::LogLevels:
    case RequestKind::SnapshotOpen:
    case RequestKind::SnapshotRead:
    case RequestKind::LedgerPrune:
    case RequestKind::WatchOpen:
    case RequestKind::WatchClose:
    case RequestKind::WatchProgress:
    case RequestKind::LockRead:
    case RequestKind::LockReadList:
    case RequestKind::SessionList:
      return ErrorCode::None;
    case RequestKind::LockGetAt:
      return check_past(payload);
    case RequestKind::SessionGrant:
      return check_grant(slot, limits);
    default:
      return checked_by_owner(slot.kind) ? ErrorCode::None : ErrorCode::KindUnknown;
  }
}

}  // namespace

ErrorCode check_name(std::string_view name) {
  if (name.empty()) {
    return ErrorCode::NameEmpty;
  }
  if (name.size() > kNameBytesMax) {
    return ErrorCode::NameTooLong;
  }
  if (has_control(name)) {
    return ErrorCode::NameControl;
  }
  return utf8_well_formed(name) ? ErrorCode::None : ErrorCode::NameNotUtf8;
}

ErrorCode check_new_name(std::string_view name) {
  const ErrorCode code = check_name(name);
  return code == ErrorCode::None && !is_printable(name) ? ErrorCode::NameControl : code;
}

ErrorCode check_prefix(std::string_view prefix) {
  const ErrorCode code = prefix.empty() ? ErrorCode::None : check_new_name(prefix);
  return code == ErrorCode::NameTooLong ? ErrorCode::PrefixTooLong : code;
}

namespace {

// Numbers only where they mean something: the lock tables refuse the rest (locks/commands/hold.h).
bool hold_sound(const LockHold& hold) {
  constexpr auto kKnown = static_cast<std::uint8_t>(
      static_cast<std::uint8_t>(HoldFlag::Reentrant) | static_cast<std::uint8_t>(HoldFlag::Shared) |
      static_cast<std::uint8_t>(HoldFlag::Downgrade) | static_cast<std::uint8_t>(HoldFlag::Ranked));
  if ((hold.flags & ~kKnown) != 0) {
    return false;
  }
  if (hold.has(HoldFlag::Ranked)) {
    const bool alone = hold.flags == static_cast<std::uint8_t>(HoldFlag::Ranked);
    return alone && hold.permits >= 1 && hold.limit == 0;
  }
  const bool reentrant = hold.has(HoldFlag::Reentrant);
  const bool downgrades = hold.has(HoldFlag::Downgrade);
  if (!hold.has(HoldFlag::Shared)) {
    return !downgrades && hold.permits == 0 && reentrant == (hold.limit != 0);
  }
  const bool reads = hold.limit == 0 && hold.permits == 1;
  const bool counted = hold.limit != 0 && hold.permits >= 1 && hold.permits <= hold.limit;
  return !reentrant && hold.note.empty() && hold.delay_ms == 0 &&
         (reads || (counted && !downgrades));
}

}  // namespace

ErrorCode check_note(std::string_view note) {
  if (note.size() > kNoteBytesMax) {
    return ErrorCode::NoteTooLong;
  }
  return is_printable(note) ? ErrorCode::None : ErrorCode::NoteControl;
}

ErrorCode check_hold(const LockHold& hold) {
  if (const ErrorCode code = check_note(hold.note); code != ErrorCode::None) {
    return code;
  }
  if (hold.delay_ms > kDelayMsMax) {
    return ErrorCode::DelayTooLong;
  }
  // The plain hold is asked for by LockAcquire.
  const bool plain = hold.flags == 0 && hold.note.empty() && hold.delay_ms == 0;
  return hold_sound(hold) && !plain ? ErrorCode::None : ErrorCode::HoldInvalid;
}

ErrorCode check_break(const LockBreak& request) {
  if (const ErrorCode code = check_name(request.name); code != ErrorCode::None) {
    return code;
  }
  const auto says = [](std::string_view text, std::size_t bytes_max) {
    return !text.empty() && text.size() <= bytes_max && is_printable(text);
  };
  const bool said = says(request.who, kBreakWhoBytesMax) && says(request.reason, kNoteBytesMax);
  return said ? ErrorCode::None : ErrorCode::BreakUnexplained;
}

ErrorCode check_ttl(std::uint32_t ttl_ms, const RequestLimits& limits) {
  if (ttl_ms < limits.ttl_ms_min) {
    return ErrorCode::TtlTooShort;
  }
  return ttl_ms <= limits.ttl_ms_max ? ErrorCode::None : ErrorCode::TtlTooLong;
}

ErrorCode check_wait(std::uint32_t wait_ms) {
  return wait_ms <= kWaitMsMax || wait_ms == kForeverMs ? ErrorCode::None : ErrorCode::WaitTooLong;
}

ErrorCode check_request(const RequestSlot& slot,
                        std::span<const std::byte> payload,
                        const RequestLimits& limits) {
  if (!request_kind_known(slot.kind)) {
    return ErrorCode::KindUnknown;
  }
  if (slot.session == kSessionReserved) {
    return ErrorCode::SlotInvalid;
  }
  if (const ErrorCode code = check_flags(slot); code != ErrorCode::None) {
    return code;
  }
  if (const ErrorCode code = check_shard(slot, limits); code != ErrorCode::None) {
    return code;
  }
  return check_kind(slot, payload, limits);
}

}  // namespace gcoord::protocol
