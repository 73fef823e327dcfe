#include "server/identities/session_gate.h"

#include "common/bytes.h"
#include "protocol/lease_messages.h"
#include "protocol/limits.h"

namespace gcoord::server {

using protocol::RequestKind;

SessionUse session_use(const protocol::RequestSlot& slot) {
  switch (slot.kind) {
    case RequestKind::KeepAlive:
      return SessionUse::List;
    case RequestKind::CloseSession:
    case RequestKind::SessionLosses:
      return SessionUse::Slot;
    case RequestKind::SessionGrant:
      // An id that a client chooses is new, or refused; one that a node gave is somebody's.
      return slot.session < protocol::kSessionIdChosenEnd ? SessionUse::None : SessionUse::Slot;
    case RequestKind::LockRelease:
    case RequestKind::ElectProclaim:
    case RequestKind::ElectTransfer:
      return slot.has(protocol::RequestFlag::ByToken) ? SessionUse::Slot : SessionUse::Numbered;
    case RequestKind::LockAcquire:
    case RequestKind::LockAcquireHold:
    case RequestKind::LockCancel:
    case RequestKind::GroupJoin:
    case RequestKind::GroupLeave:
    case RequestKind::GroupBarrier:
    case RequestKind::GroupUpdate:
    case RequestKind::RendezvousJoin:
    case RequestKind::RendezvousLeave:
      return SessionUse::Numbered;
    default:
      return SessionUse::None;
  }
}

bool speaks_for(const ConnectionIdentity& connection,
                const protocol::RequestSlot& slot,
                std::span<const std::byte> payload) {
  const SessionUse use = session_use(slot);
  if (use == SessionUse::None) {
    return true;
  }
  if (use != SessionUse::List) {
    return connection.attached.contains(SessionId{slot.session});
  }
  ByteReader reader{payload};
  const std::uint32_t count = reader.count(sizeof(std::uint64_t), protocol::kKeepAliveSessionsMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    if (!connection.attached.contains(SessionId{reader.integer<std::uint64_t>()})) {
      return false;
    }
  }
  return true;
}

bool leaps(const ConnectionIdentity& connection,
           const protocol::RequestSlot& slot,
           std::uint64_t wall_us) {
  return slot.sequence > wall_us + kSequenceLeapUs && session_use(slot) == SessionUse::Numbered &&
         connection.attached.contains(SessionId{slot.session});
}

}  // namespace gcoord::server
