#include "protocol/lock_messages.h"

namespace gcoord::protocol {
namespace {

void set_caller(RequestSlot& slot, const Caller& caller) {
  slot.session = caller.session.value;
  slot.sequence = caller.sequence.value;
  slot.acked_below = caller.acked_below.value;
}

}  // namespace

RequestSlot to_slot(const LockAcquire& acquire) {
  RequestSlot slot;
  slot.kind = RequestKind::LockAcquire;
  set_caller(slot, acquire.caller);
  slot.ttl_ms = acquire.ttl_ms;
  slot.deadline_ms = acquire.deadline_ms;
  if (acquire.wait_ms > 0) {
    slot.set(RequestFlag::Wait);
    slot.deadline_ms = acquire.wait_ms;
  }
  return slot;
}

RequestSlot to_slot(const LockRelease& release) {
  RequestSlot slot;
  slot.kind = RequestKind::LockRelease;
  set_caller(slot, release.caller);
  slot.token = release.token.value;
  if (release.by_token) {
    slot.set(RequestFlag::ByToken);
  }
  return slot;
}

LockAcquire acquire_from_slot(const RequestSlot& slot) {
  LockAcquire acquire{.caller = caller_of(slot), .ttl_ms = slot.ttl_ms};
  (slot.has(RequestFlag::Wait) ? acquire.wait_ms : acquire.deadline_ms) = slot.deadline_ms;
  return acquire;
}

LockRelease release_from_slot(const RequestSlot& slot) {
  return {.caller = caller_of(slot),
          .token = FencingToken{slot.token},
          .by_token = slot.has(RequestFlag::ByToken)};
}

Caller caller_of(const RequestSlot& slot) {
  return {.session = SessionId{slot.session},
          .sequence = RequestSequence{slot.sequence},
          .acked_below = RequestSequence{slot.acked_below}};
}

std::string_view text_of(std::span<const std::byte> payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

}  // namespace gcoord::protocol
