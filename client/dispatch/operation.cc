#include "client/dispatch/operation.h"

#include "client/records/session_record.h"
#include "common/assert.h"
#include "common/wipe.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <span>
#include <utility>

namespace gcoord::client {

Operation::~Operation() {
  if (secret) {
    gcoord::wipe(std::as_writable_bytes(std::span{payload}));
  }
}

TimePoint Operation::due() const {
  switch (phase) {
    case OperationPhase::Backoff:
    case OperationPhase::Parked:
      return std::min(deadline, retry_at);
    case OperationPhase::Sent:
      return waits() ? deadline : std::min(deadline, sent.look_at);
    case OperationPhase::Behind:
    case OperationPhase::InLine:
      break;
  }
  return deadline;
}

std::string_view Operation::name() const {
  if (slot.kind != protocol::RequestKind::LockAcquireHold) {
    return payload;
  }
  const auto hold = protocol::decode_hold(protocol::bytes_of(payload));
  GCOORD_ASSERT(hold.ok());  // It was made here.
  return hold.value().name;
}

OperationPtr close_operation(SessionId session, std::uint32_t shard, TimePoint deadline) {
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::CloseSession;
  operation->slot.shard = shard;
  operation->slot.session = session.value;
  operation->deadline = deadline;
  return operation;
}

std::uint64_t OperationTable::add(OperationPtr operation) {
  GCOORD_ASSERT(operation != nullptr);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Place& place = places_[index];
  ++place.use;
  if (operation->session != nullptr) {
    ++operation->session->operation_count;
  }
  place.operation = std::move(operation);
  return id_of(index);
}

Operation* OperationTable::find(std::uint64_t request_id) {
  const std::uint64_t index = request_id & 0xffff'ffff;
  if (index >= places_.size() || id_of(index) != request_id) {
    return nullptr;
  }
  return places_[index].operation.get();
}

OperationPtr OperationTable::take(std::uint64_t request_id) {
  if (find(request_id) == nullptr) {
    return nullptr;
  }
  const std::uint64_t index = request_id & 0xffff'ffff;
  free_.push_back(static_cast<std::uint32_t>(index));
  OperationPtr taken = std::move(places_[index].operation);
  if (taken->session != nullptr) {
    GCOORD_ASSERT(taken->session->operation_count > 0);
    --taken->session->operation_count;
  }
  return taken;
}

}  // namespace gcoord::client
