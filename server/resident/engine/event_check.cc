#include "server/resident/engine/event_check.h"

namespace gcoord::server {

Status EventCheck::judge(std::uint32_t lane, const HostEventSlot& told) const {
  const char* const fault = shape_.fault_of(lane, told);
  return fault == nullptr ? judge_tag(lane, told) : impossible_event(lane, told, fault);
}

Status EventCheck::judge_tag(std::uint32_t lane, const HostEventSlot& told) const {
  const char* const fault = fault_of_tag(told);
  return fault == nullptr ? Status{} : impossible_event(lane, told, fault);
}

const char* EventCheck::fault_of_tag(const HostEventSlot& told) const {
  const TurnReply& reply = told.reply;
  if (is_probe_answer(told)) {
    return requests_.is_given(reply.tag) ? nullptr : "the end of a request that was never made";
  }
  switch (reply.verdict) {
    case TurnVerdict::Committed:
      return requests_.is_possible(reply.shard, reply.tag)
                 ? nullptr
                 : "an entry of a request that was never made";
    case TurnVerdict::NotLeader:
    case TurnVerdict::Overloaded:
    case TurnVerdict::Refused:
    case TurnVerdict::Transferring:
    case TurnVerdict::ReadReady:
      return requests_.is_possible(reply.shard, reply.tag)
                 ? nullptr
                 : "the end of a request that was never made";
    default:
      return nullptr;
  }
}

}  // namespace gcoord::server
