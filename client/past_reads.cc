#include "client/past_reads.h"

#include "client/failure.h"
#include "client/replica_reads.h"
#include "rpc/past_messages.h"
#include "rpc/validate.h"

#include <utility>

namespace gcoord::client {
namespace {

Result<LockReading> reading_of(const Answer& answer) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto reply = rpc::decode_past_reply(answer.payload);
  if (!reply.ok()) {
    return failure(rpc::ErrorCode::ReplyMalformed, "lock_get_at");
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
  if (const auto code = rpc::check_name(request.name); code != rpc::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  if (!core.has(rpc::Feature::Past)) {
    return refuse(core, std::move(callback), failure(rpc::ErrorCode::PastUnsupported));
  }
  OperationPtr operation = name_operation(core, rpc::RequestKind::LockGetAt, request.name);
  if (request.node != NodeId{}) {
    operation->target = Target::OneNode;
    operation->node = request.node;
    operation->try_once = true;
  }
  operation->payload =
      rpc::text_of(rpc::encode_past_query({LogIndex{request.index}, request.name}));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(reading_of(answer));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
