#include "client/core/historical_reads.h"

#include "client/core/replica_reads.h"
#include "client/net/failure.h"
#include "protocol/past_messages.h"
#include "protocol/validate.h"

#include <utility>

namespace gcoord::client {
namespace {

Result<LockReading> reading_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto reply = protocol::decode_past_reply(answer.payload);
  if (!reply.ok()) {
    return failure(protocol::ErrorCode::ReplyMalformed, "lock_get_at");
  }
  LockReading reading;
  reading.at.shard = reply.value().shard.value;
  reading.at.index = reply.value().index.value;
  if (reply.value().present) {
    reading.lock = description_of(reply.value().row);
  }
  return reading;
}

}  // namespace

void read_past(Core& core, const PastRequest& request, Callback<Result<LockReading>> callback) {
  if (const auto code = protocol::check_name(request.name); code != protocol::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  if (!core.has(protocol::Feature::Past)) {
    return refuse(core, std::move(callback), failure(protocol::ErrorCode::PastUnsupported));
  }
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockGetAt, request.name);
  if (request.node != NodeId{}) {
    operation->target = Target::OneNode;
    operation->node = request.node;
    operation->try_once = true;
  }
  operation->payload =
      protocol::text_of(protocol::encode_past_query({LogIndex{request.index}, request.name}));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(reading_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
