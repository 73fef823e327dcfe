#include "server/lock_service/node_requests.h"

#include "common/assert.h"
#include "protocol/lock_messages.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

void NodeRequests::answer(const ClientRequest& request, const std::string& json) {
  env_.replies.answer(request, protocol::bytes_of(json));
}

void NodeRequests::node_status(const ClientRequest& request) {
  answer(request, reports_->node_status());
}

void NodeRequests::shard_show(const ClientRequest& request) {
  answer(request, reports_->shard_show(ShardId{request.slot.shard}));
}

void NodeRequests::deadlocks(const ClientRequest& request) {
  answer(request, env_.deadlocks.report());
}

void NodeRequests::refuse_stateless(const ClientRequest& request) {
  const ShardId shard{request.slot.shard < shard_count_ ? request.slot.shard : 0};
  protocol::ReplySlot reply = error_reply(request.slot, protocol::ErrorCode::WitnessHasNoState);
  reply.leader = env_.log.view(shard).leader.value;
  env_.replies.send(request.connection, reply);
}

void NodeRequests::shard_range(const ClientRequest& request) {
  const auto decoded = protocol::decode_shard_range(request.payload);
  if (!decoded.ok() || decoded.value().first.value >= shard_count_) {
    return env_.replies.refuse(request,
                               decoded.ok() ? protocol::ErrorCode::ShardOutOfRange
                                            : protocol::ErrorCode::PayloadMalformed);
  }
  protocol::ShardRange range = decoded.value();
  range.count = std::min(range.count, shard_count_ - range.first.value);
  if (request.slot.kind == protocol::RequestKind::ShardList) {
    range.count = std::min(range.count, kShardRowsMax);
  }
  Range answer = begin(request, range);
  if (in_parts_ && range.count > kShardsOfPart) {
    GCOORD_ASSERT(!under_way());
    range_ = std::move(answer);
    return;
  }
  while (answer.left.count > 0) {
    add_part(answer);
  }
  finish(answer);
}

bool NodeRequests::is_small(const ClientRequest& request) {
  const auto decoded = protocol::decode_shard_range(request.payload);
  return !decoded.ok() || decoded.value().count <= kShardsOfPart;
}

NodeRequests::Range NodeRequests::begin(const ClientRequest& request,
                                        protocol::ShardRange range) const {
  const bool list = request.slot.kind == protocol::RequestKind::ShardList;
  return {request.connection,
          request.slot,
          range,
          {range.first, {}},
          list ? reports_->shard_list_begin(range.first) : std::string{}};
}

void NodeRequests::add_part(Range& range) const {
  const protocol::ShardRange part{range.left.first, std::min(range.left.count, kShardsOfPart)};
  if (range.slot.kind == protocol::RequestKind::ShardList) {
    range.rows += part.first == range.leaders.first ? "" : ",";
    range.rows += reports_->shard_rows(part);
  } else {
    for (std::uint32_t offset = 0; offset < part.count; ++offset) {
      range.leaders.leaders.push_back(env_.log.view(part.first + offset).leader);
    }
  }
  range.left = {part.first + part.count, range.left.count - part.count};
}

void NodeRequests::finish(Range& range) {
  const ClientRequest request{range.connection, range.slot, {}};
  if (range.slot.kind == protocol::RequestKind::ShardList) {
    answer(request, range.rows + kShardListEnd);
  } else {
    env_.replies.answer(request, protocol::encode_leader_map(range.leaders));
  }
}

void NodeRequests::go_on() {
  GCOORD_ASSERT(under_way());
  add_part(*range_);
  if (range_->left.count == 0) {
    finish(*range_);
    range_.reset();
  }
}

}  // namespace gcoord::server
