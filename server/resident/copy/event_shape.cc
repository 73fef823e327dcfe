#include "server/resident/copy/event_shape.h"

#include "common/device/device_errors.h"
#include "server/resident/node/lock_ingress.h"
#include "server/resident/node/lock_turn_service.h"

#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// What an entry of the first of a term may say of itself.
bool is_told_tag(std::uint64_t tag) {
  return tag == 0 || tag == (kOwnTermTag | static_cast<std::uint32_t>(tag));
}

const char* fault_of_read(const TurnReply& reply) {
  const auto way = static_cast<ReadWay>(reply.detail);
  const bool proved = way == ReadWay::Lease || way == ReadWay::Round;
  return reply.index.value == 0 ? "index 0" : proved ? nullptr : "a read without a proof";
}

Status failure(std::string text) {
  return {StatusCode::Internal, std::move(text), kDeviceFailed};
}

}  // namespace

bool is_probe_answer(const HostEventSlot& told) {
  return told.reply.shard == kProbeShard && told.reply.verdict == TurnVerdict::Refused;
}

const char* EventShape::fault_of(std::uint32_t lane, const HostEventSlot& told) const {
  const TurnReply& reply = told.reply;
  if (told.impossible) {
    return "an impossible count or node";
  }
  if (is_probe_answer(told)) {
    return nullptr;
  }
  if (row_of_shard(reply.shard) >= shape_.shard_count || stripe_of(shape_, reply.shard) != lane) {
    return "a row that it cannot have";
  }
  switch (reply.verdict) {
    case TurnVerdict::Committed:
      return told.entry.request == reply.tag ? fault_of_entry(told)
                                             : "an entry of a request that was never made";
    case TurnVerdict::Told:
      return is_told_tag(reply.tag) ? fault_of_entry(told) : "an entry with an impossible tag";
    case TurnVerdict::Installed:
    case TurnVerdict::Store:
      return reply.index.value == 0 ? "index 0" : nullptr;
    case TurnVerdict::Refused:
      return reply.detail < kIngressFaults ? nullptr : "a refusal without a reason that there is";
    case TurnVerdict::ReadReady:
      return fault_of_read(reply);
    case TurnVerdict::NotLeader:
    case TurnVerdict::Overloaded:
    case TurnVerdict::Transferring:
      return nullptr;
    case TurnVerdict::Noops:  // Taken apart by ResidentNode::pull().
    case TurnVerdict::None:
      break;
  }
  return "an invalid event";
}

const char* EventShape::fault_of_entry(const HostEventSlot& told) const {
  if (told.reply.index.value == 0) {
    return "index 0";
  }
  return LockTurnService::is_noop(told.entry) ? nullptr : fault_of_result(told);
}

// A row that the device does not apply says nothing else; of what says nothing to locks nothing was
// applied.
const char* EventShape::fault_of_result(const HostEventSlot& told) const {
  const TurnResult& result = told.reply.result;
  const LockTurnDone done = done_of(result);
  const bool known = done == LockTurnDone::Nothing || done == LockTurnDone::Applied;
  const bool absent = result.word[1] == static_cast<std::uint64_t>(LockTurnDone::Absent);
  const bool applies = !locks::is_nothing_to_locks(told.entry.kind());
  if (!(known || absent) || (done == LockTurnDone::Applied && !applies)) {
    return "an impossible outcome";
  }
  // Members of a group count what is free while others take and give back: a little too much for a
  // moment, never twice what there is.
  const bool fits = room_of(result) / 2 <= room_max_;
  return fits ? nullptr : "more room than its pools have";
}

Status impossible_event(std::uint32_t lane, const HostEventSlot& told, const char* fault) {
  return failure("the device reported " + std::string(fault) + " in lane " + std::to_string(lane) +
                 ", shard " + std::to_string(told.reply.shard.value));
}

Status out_of_order() {
  return failure("the device reported entries out of order");
}

Status lane_broken(std::uint32_t lane) {
  return failure("the device wrote what none writes to lane " + std::to_string(lane));
}

Status state_difference(const HostEventSlot& told, std::uint64_t own) {
  return failure(
      "the device and its host disagree on shard " + std::to_string(told.reply.shard.value) +
      " after entry " + std::to_string(told.reply.index.value) + ": state hash " +
      std::to_string(told.reply.result.word[0]) + " there, " + std::to_string(own) + " here");
}

}  // namespace gcoord::server
