#include "server/resident/engine/event_check.h"

#include "common/device/device_errors.h"
#include "server/resident/node/lock_turn_service.h"

#include <string>

namespace gcoord::server {
namespace {

// Of the requests that name no row (ResidentRequests::probe).
constexpr ShardId kProbeShard{~0u};

// What an entry of the first of a term may say of itself.
bool is_told_tag(std::uint64_t tag) {
  return tag == 0 || tag == (kOwnTermTag | static_cast<std::uint32_t>(tag));
}

}  // namespace

Status EventCheck::judge(std::uint32_t lane, const HostEventSlot& told) const {
  const char* const fault = fault_of(lane, told);
  if (fault == nullptr) {
    return {};
  }
  return {StatusCode::Internal,
          "the device reported " + std::string(fault) + " in lane " + std::to_string(lane) +
              ", shard " + std::to_string(told.reply.shard.value),
          kDeviceFailed};
}

const char* EventCheck::fault_of(std::uint32_t lane, const HostEventSlot& told) const {
  const TurnReply& reply = told.reply;
  if (told.impossible) {
    return "an impossible count or node";
  }
  if (reply.shard == kProbeShard && reply.verdict == TurnVerdict::Refused) {
    return requests_.is_given(reply.tag) ? nullptr : "the end of a request that was never made";
  }
  if (row_of_shard(reply.shard) >= shape_.shard_count || requests_.lane_of(reply.shard) != lane) {
    return "a row that it cannot have";
  }
  switch (reply.verdict) {
    case TurnVerdict::Committed:
      if (!requests_.is_possible(reply.shard, reply.tag) || told.entry.request != reply.tag) {
        return "an entry of a request that was never made";
      }
      return fault_of_entry(told);
    case TurnVerdict::Told:
      return is_told_tag(reply.tag) ? fault_of_entry(told) : "an entry with an impossible tag";
    case TurnVerdict::Installed:
    case TurnVerdict::Store:
      return reply.index.value == 0 ? "index 0" : nullptr;
    case TurnVerdict::Refused:
      if (reply.detail >= kIngressFaults) {
        return "a refusal without a reason that there is";
      }
      [[fallthrough]];
    case TurnVerdict::NotLeader:
    case TurnVerdict::Overloaded:
    case TurnVerdict::Transferring:
      return requests_.is_possible(reply.shard, reply.tag)
                 ? nullptr
                 : "the end of a request that was never made";
    case TurnVerdict::Noops:  // Taken apart by ResidentNode::pull().
    case TurnVerdict::None:
      break;
  }
  return "an invalid event";
}

const char* EventCheck::fault_of_entry(const HostEventSlot& told) const {
  if (told.reply.index.value == 0) {
    return "index 0";
  }
  return LockTurnService::is_noop(told.entry) ? nullptr : fault_of_result(told);
}

// A row that the device does not apply says nothing else; of what says nothing to locks nothing was
// applied.
const char* EventCheck::fault_of_result(const HostEventSlot& told) const {
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
  const bool fits = room_of(result) / 2 <= requests_.room_max();
  return fits ? nullptr : "more room than its pools have";
}

}  // namespace gcoord::server
