#include "server/lock_service/node_requests.h"

#include "protocol/lock_messages.h"

#include <algorithm>

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
    return answer(request, reports_->shard_list(range));
  }
  protocol::LeaderMap map{range.first, {}};
  map.leaders.reserve(range.count);
  for (std::uint32_t offset = 0; offset < range.count; ++offset) {
    map.leaders.push_back(env_.log.view(range.first + offset).leader);
  }
  env_.replies.answer(request, protocol::encode_leader_map(map));
}

}  // namespace gcoord::server
