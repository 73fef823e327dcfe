#include "client/reads/historical_reads.h"

#include "client/net/failure.h"
#include "client/reads/lookups.h"
#include "client/reads/replica_reads.h"
#include "protocol/past_messages.h"
#include "protocol/validate.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// The node lacks what the answer takes; another one may have it.
bool may_go_elsewhere(const Status& status) {
  return status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::PastCompacted) ||
         status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::PastUnsupported);
}

// One read under way, of no node by name: of the leader, then of each other node that is connected
// or may yet be, until one has the past. When none has it, the leader's refusal is the answer.
// Lives until its last answer; on the client's thread only.
class PastCall : public std::enable_shared_from_this<PastCall> {
 public:
  PastCall(Core& core, std::string payload, Callback<Result<LockReading>> callback)
      : core_(core),
        payload_(std::move(payload)),
        deadline_(core.request_deadline()),
        callback_(std::move(callback)) {}

  void on_leader_answer(const Answer& answer, ShardId shard) {
    if (!may_go_elsewhere(answer.status)) {
      return callback_(reading_of(answer));
    }
    refusal_ = answer.status;
    const NodeId asked = core_.dispatcher().leaders().leader(shard);
    const NodeSet& nodes = core_.nodes();
    for (const protocol::NodeAddress& each : nodes.cluster()->nodes) {
      // A client that has just begun has not heard of each node yet: its question waits there.
      if (each.node != asked && !nodes.failed(each.node)) {
        others_.push_back(each.node);
      }
    }
    ask_next();
  }

 private:
  void ask_next() {
    if (others_.empty()) {
      return callback_(refusal_);
    }
    OperationPtr operation =
        node_operation(core_, protocol::RequestKind::LockGetAt, others_.back());
    others_.pop_back();
    operation->try_once = true;
    operation->deadline = deadline_;
    operation->payload = payload_;
    operation->callback = [self = shared_from_this()](const Answer& answer) {
      answer.status.ok() ? self->callback_(reading_of(answer)) : self->ask_next();
    };
    core_.dispatcher().submit(std::move(operation));
  }

  Core& core_;
  const std::string payload_;
  const TimePoint deadline_;
  const Callback<Result<LockReading>> callback_;
  Status refusal_;
  std::vector<NodeId> others_;
};

}  // namespace

void read_past(Core& core, const PastRequest& request, Callback<Result<LockReading>> callback) {
  if (const auto code = protocol::check_name(request.name); code != protocol::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  if (!core.has(protocol::Feature::Past)) {
    return refuse(core, std::move(callback), failure(protocol::ErrorCode::PastUnsupported));
  }
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockGetAt, request.name);
  operation->payload =
      protocol::text_of(protocol::encode_past_query({LogIndex{request.index}, request.name}));
  if (request.node != NodeId{}) {
    operation->target = Target::OneNode;
    operation->node = request.node;
    operation->try_once = true;
    operation->callback = [callback = std::move(callback)](const Answer& answer) {
      callback(reading_of(answer));
    };
    return core.submit(std::move(operation));
  }
  const auto call = std::make_shared<PastCall>(core, operation->payload, std::move(callback));
  operation->callback = [call, shard = ShardId{operation->slot.shard}](const Answer& answer) {
    call->on_leader_answer(answer, shard);
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
