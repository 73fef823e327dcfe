// Parts of asynchronous calls: requests to a name's shard, to one node or about the state of the
// cluster, and the way of a failure to its callback. Thread-safe; callbacks run on the client's
// thread.
#pragma once

#include "client/core/core.h"
#include "client/net/failure.h"
#include "common/ids.h"
#include "gcoord/status.h"
#include "gcoord/types.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::client {

template <typename R>
using Callback = std::function<void(R)>;

// Hands a failure to a callback on the client's thread.
template <typename R>
void refuse(Core& core, Callback<R> callback, Status status) {
  if (!core.post([callback, status] { callback(status); })) {
    callback(std::move(status));
  }
}

// The shard of a name in the connected cluster.
ShardId shard_of_name(const Core& core, std::string_view name);

// A request to one node and no other.
OperationPtr node_operation(const Core& core, protocol::RequestKind kind, NodeId node);

// A request about the state of the cluster (views, users and roles, limits), to the leader of shard
// 0, which has it.
OperationPtr system_operation(const Core& core, protocol::RequestKind kind);

// Number of an order, by which the cluster knows it when it comes once more; never 0.
std::uint64_t drawn_number();

struct StateOrder {
  NodeId node;  // 0: the leader of shard 0, which has the state of the cluster.
  std::vector<std::byte> payload;
};

// A row in the table of a family of verbs: a kind of request that earlier releases may lack, and
// how its answer is read. A constant.
template <typename T>
struct StateRequest {
  Result<T> outcome_of(const Answer& answer) const {
    if (answer.status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::KindUnknown)) {
      return failure(protocol::ErrorCode::FeatureMissing, feature);
    }
    if (!answer.status.ok()) {
      return answer.status;
    }
    auto taken = read(answer.payload);
    return taken.has_value() ? Result<T>{*std::move(taken)}
                             : failure(protocol::ErrorCode::ReplyMalformed, reply);
  }

  void submit(Core& core, const StateOrder& order, Callback<Result<T>> callback) const {
    auto operation = order.node == NodeId{} ? system_operation(core, kind)
                                            : node_operation(core, kind, order.node);
    operation->payload.assign(reinterpret_cast<const char*>(order.payload.data()),
                              order.payload.size());
    operation->callback = [this, callback = std::move(callback)](const Answer& answer) {
      callback(outcome_of(answer));
    };
    core.submit(std::move(operation));
  }

  protocol::RequestKind kind{};
  const char* feature;  // Missing in such a release (GC4005).
  const char* reply;    // For a reply that cannot be read (GC4014).
  std::optional<T> (*read)(std::span<const std::byte> payload);
};

// A request about one name, to the leader of its shard.
OperationPtr name_operation(const Core& core, protocol::RequestKind kind, std::string_view name);

}  // namespace gcoord::client
