#include "rpc/validate.h"

#include "common/utf8.h"
#include "rpc/lock_messages.h"

namespace gcoord::rpc {
namespace {

bool has_control(std::string_view text) {
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
      return true;
    }
  }
  return false;
}

ErrorCode check_sequence(const RequestSlot& slot) {
  if (slot.sequence == 0) {
    return ErrorCode::SequenceZero;
  }
  if (slot.acked_below == 0 || slot.acked_below > slot.sequence) {
    return ErrorCode::AckedAboveSequence;
  }
  const bool near = slot.sequence - slot.acked_below <= kSequenceAheadMax;
  return near ? ErrorCode::None : ErrorCode::SequenceTooFar;
}

// What every request that changes a lock has: a session, its sequence, a name.
ErrorCode check_change(const RequestSlot& slot, std::string_view name) {
  if (slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  if (const ErrorCode code = check_sequence(slot); code != ErrorCode::None) {
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

ErrorCode check_session(const RequestSlot& slot) {
  return slot.session == 0 ? ErrorCode::SessionZero : ErrorCode::None;
}

ErrorCode check_grant(const RequestSlot& slot, const RequestLimits& limits) {
  if (slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  return check_ttl(slot.ttl_ms, limits);
}

ErrorCode check_shard(const RequestSlot& slot, const RequestLimits& limits) {
  const bool all = slot.kind == RequestKind::CloseSession && slot.shard == kAllShards;
  return all || slot.shard < limits.shard_count ? ErrorCode::None : ErrorCode::ShardOutOfRange;
}

ErrorCode check_flags(const RequestSlot& slot) {
  constexpr auto kKnown =
      static_cast<std::uint16_t>(static_cast<std::uint16_t>(RequestFlag::Wait) |
                                 static_cast<std::uint16_t>(RequestFlag::Waiters) |
                                 static_cast<std::uint16_t>(RequestFlag::ByToken) |
                                 static_cast<std::uint16_t>(RequestFlag::Details) |
                                 static_cast<std::uint16_t>(RequestFlag::WriteIndex) |
                                 static_cast<std::uint16_t>(RequestFlag::Quorum));
  return (slot.flags & ~kKnown) == 0 ? ErrorCode::None : ErrorCode::SlotInvalid;
}

ErrorCode check_kind(const RequestSlot& slot,
                     std::span<const std::byte> payload,
                     const RequestLimits& limits) {
  switch (slot.kind) {
    case RequestKind::OpenSession:
      return check_ttl(slot.ttl_ms, limits);
    case RequestKind::CloseSession:
      return check_session(slot);
    case RequestKind::LockAcquire:
      return check_acquire(slot, text_of(payload), limits);
    case RequestKind::LockAcquireHold:
      return check_acquire_hold(slot, payload, limits);
    case RequestKind::LockRelease:
      return check_release(slot, payload);
    case RequestKind::LockCancel:
      return check_change(slot, text_of(payload));
    case RequestKind::LockCheck:
      return slot.token == 0 ? ErrorCode::TokenZero : check_name(text_of(payload));
    case RequestKind::LockGet:
      return check_name(text_of(payload));
    case RequestKind::Hello:
    case RequestKind::KeepAlive:
    case RequestKind::LockCheckBatch:
    case RequestKind::LockList:
    case RequestKind::NodeStatus:
    case RequestKind::ShardList:
    case RequestKind::ShardShow:
    case RequestKind::LeaderMap:
    case RequestKind::SnapshotOpen:
    case RequestKind::SnapshotRead:
    case RequestKind::LockRead:
    case RequestKind::LockReadList:
    case RequestKind::SessionList:
      return ErrorCode::None;
    case RequestKind::SessionGrant:
      return check_grant(slot, limits);
    case RequestKind::SessionShow:
      return check_session(slot);
  }
  return ErrorCode::KindUnknown;
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

namespace {

// Numbers only where they mean something: the lock tables refuse the rest (locks/lock_hold.h).
bool hold_sound(const LockHold& hold) {
  constexpr auto kKnown = static_cast<std::uint8_t>(static_cast<std::uint8_t>(HoldFlag::Reentrant) |
                                                    static_cast<std::uint8_t>(HoldFlag::Shared) |
                                                    static_cast<std::uint8_t>(HoldFlag::Downgrade));
  if ((hold.flags & ~kKnown) != 0) {
    return false;
  }
  const bool reentrant = hold.has(HoldFlag::Reentrant);
  const bool downgrades = hold.has(HoldFlag::Downgrade);
  if (!hold.has(HoldFlag::Shared)) {
    return !downgrades && hold.permits == 0 && reentrant == (hold.limit != 0);
  }
  const bool reads = hold.limit == 0 && hold.permits == 1;
  const bool counted = hold.limit != 0 && hold.permits >= 1 && hold.permits <= hold.limit;
  return !reentrant && hold.note.empty() && (reads || (counted && !downgrades));
}

}  // namespace

ErrorCode check_hold(const LockHold& hold) {
  if (hold.note.size() > kNoteBytesMax) {
    return ErrorCode::NoteTooLong;
  }
  // The plain hold is asked for by LockAcquire.
  const bool plain = hold.flags == 0 && hold.note.empty();
  return hold_sound(hold) && !plain ? ErrorCode::None : ErrorCode::HoldInvalid;
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
  if (const ErrorCode code = check_flags(slot); code != ErrorCode::None) {
    return code;
  }
  if (const ErrorCode code = check_shard(slot, limits); code != ErrorCode::None) {
    return code;
  }
  return check_kind(slot, payload, limits);
}

}  // namespace gcoord::rpc
