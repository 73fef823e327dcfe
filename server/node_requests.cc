#include "server/node_requests.h"

#include "rpc/lock_messages.h"

#include <algorithm>

namespace gcoord::server {

void NodeRequests::answer(const ClientRequest& request, const std::string& json) {
  env_.replies.answer(request, rpc::bytes_of(json));
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
  const auto decoded = rpc::decode_shard_range(request.payload);
  if (!decoded.ok() || decoded.value().first.value >= shard_count_) {
    return env_.replies.refuse(
        request, decoded.ok() ? rpc::ErrorCode::ShardOutOfRange : rpc::ErrorCode::PayloadMalformed);
  }
  rpc::ShardRange range = decoded.value();
  range.count = std::min(range.count, shard_count_ - range.first.value);
  if (request.slot.kind == rpc::RequestKind::ShardList) {
    return answer(request, reports_->shard_list(range));
  }
  rpc::LeaderMap map{range.first, {}};
  map.leaders.reserve(range.count);
  for (std::uint32_t offset = 0; offset < range.count; ++offset) {
    map.leaders.push_back(env_.log.view(range.first + offset).leader);
  }
  env_.replies.answer(request, rpc::encode_leader_map(map));
}

}  // namespace gcoord::server
