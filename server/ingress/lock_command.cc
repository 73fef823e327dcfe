#include "server/ingress/lock_command.h"

#include "common/assert.h"
#include "common/name_hash.h"
#include "protocol/lock_messages.h"

namespace gcoord::server {
namespace {

locks::LockCommand acquire_of(const protocol::RequestSlot& slot,
                              std::span<const std::byte> payload) {
  const protocol::LockAcquire acquire = protocol::acquire_from_slot(slot);
  return locks::make_acquire({acquire.caller.session,
                              acquire.caller.sequence,
                              acquire.caller.acked_below,
                              protocol::text_of(payload),
                              acquire.wait_ms != 0,
                              acquire.ttl_ms});
}

locks::LockCommand release_of(const protocol::RequestSlot& slot,
                              std::span<const std::byte> payload) {
  const protocol::LockRelease release = protocol::release_from_slot(slot);
  return locks::make_release({release.caller.session,
                              release.caller.sequence,
                              release.caller.acked_below,
                              hash_name(protocol::text_of(payload)),
                              release.token,
                              release.by_token});
}

}  // namespace

locks::LockCommand lock_command(const protocol::RequestSlot& slot,
                                std::span<const std::byte> payload) {
  GCOORD_ASSERT(is_plain_lock_request(slot.kind));
  return slot.kind == protocol::RequestKind::LockAcquire ? acquire_of(slot, payload)
                                                         : release_of(slot, payload);
}

}  // namespace gcoord::server
