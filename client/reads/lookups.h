// The requests of one answer that change nothing, as asynchronous calls: checks, looks, lists and
// reports. Thread-safe; callbacks run on the client's thread.
#pragma once

#include "client/core/calls.h"
#include "common/ids.h"
#include "gcoord/status.h"
#include "gcoord/types.h"
#include "protocol/lock_messages.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

void check(Core& core,
           std::string_view name,
           std::uint64_t token,
           Callback<Result<Verdict>> callback);

// One message per leading node; what a node turns out not to lead is asked one by one.
void check_batch(Core& core,
                 std::span<const TokenCheck> checks,
                 Callback<Result<std::vector<Verdict>>> callback);

void get(Core& core,
         std::string_view name,
         bool waiters,
         Callback<Result<LockDescription>> callback);

// A page of one node's locks; the cursor is the node's own.
void list_node(Core& core,
               NodeId node,
               const ListOptions& options,
               Callback<Result<LockPage>> callback);

// A report of one node: NodeStatus, ShardList (with a range), ShardShow (with a shard), LogLevels
// (with an order).
struct ReportRequest {
  protocol::RequestKind kind{};
  NodeId node;
  std::uint32_t first_shard = 0;
  std::uint32_t shard_count = 0;
  LogLevelChange order = {};
};

void report(Core& core, const ReportRequest& request, Callback<Result<std::string>> callback);

void leader_map(Core& core,
                std::uint32_t first,
                std::uint32_t count,
                Callback<Result<std::vector<std::uint32_t>>> callback);

LockDescription description_of(const protocol::LockRow& row);

}  // namespace gcoord::client
