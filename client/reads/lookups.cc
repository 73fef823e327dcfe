#include "client/reads/lookups.h"

#include "client/net/failure.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/logs/level_messages.h"
#include "protocol/validate.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

static_assert(kHiddenSession == protocol::kHiddenSession.value);

Result<Verdict> verdict_of(std::uint64_t number) {
  const bool known = number >= static_cast<std::uint64_t>(Verdict::Valid) &&
                     number <= static_cast<std::uint64_t>(Verdict::Free);
  if (!known) {
    return failure(protocol::ErrorCode::ReplyMalformed, "verdict");
  }
  return static_cast<Verdict>(number);
}

bool is_unknown(const Status& status) {
  return status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::KindUnknown);
}

}  // namespace

LockDescription description_of(const protocol::LockRow& row) {
  LockDescription lock;
  lock.name = row.name;
  lock.shard = row.shard.value;
  lock.holder_session = row.holder.value;
  lock.hidden = row.holder == protocol::kHiddenSession;
  lock.token = row.token.value;
  lock.acquired_index = row.acquired_index.value;
  lock.ttl_left = milliseconds{row.ttl_left_ms};
  lock.waiter_count = row.waiter_count;
  lock.hold_count = row.hold_count;
  lock.note = row.note;
  lock.permits_max = row.permits_limit;
  for (const protocol::LockHolder& holder : row.holders) {
    lock.holders.push_back(
        {holder.session.value, holder.token.value, holder.acquired_index.value, holder.permits});
  }
  for (const protocol::LockWaiter& waiter : row.waiters) {
    lock.waiters.push_back(
        {waiter.session.value, waiter.sequence.value, milliseconds{waiter.waited_ms}});
  }
  return lock;
}

void check(Core& core,
           std::string_view name,
           std::uint64_t token,
           Callback<Result<Verdict>> callback) {
  if (const auto code = protocol::check_name(name); code != protocol::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  if (token == 0) {
    return refuse(core, std::move(callback), failure(protocol::ErrorCode::TokenZero));
  }
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockCheck, name);
  operation->slot.token = token;
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(answer.status.ok() ? verdict_of(answer.slot.extra) : answer.status);
  };
  core.submit(std::move(operation));
}

void get(Core& core,
         std::string_view name,
         bool waiters,
         Callback<Result<LockDescription>> callback) {
  if (const auto code = protocol::check_name(name); code != protocol::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockGet, name);
  if (waiters) {
    operation->slot.set(protocol::RequestFlag::Waiters);
  }
  const bool details = core.has(protocol::Feature::LockHolds);
  if (details) {
    operation->slot.set(protocol::RequestFlag::Details);
  }
  operation->callback = [details, callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    const auto row = details ? protocol::decode_lock_details(answer.payload)
                             : protocol::decode_lock_row(answer.payload);
    if (!row.ok()) {
      return callback(failure(protocol::ErrorCode::ReplyMalformed, "lock row"));
    }
    callback(description_of(row.value()));
  };
  core.submit(std::move(operation));
}

void list_node(Core& core,
               NodeId node,
               const ListOptions& options,
               Callback<Result<LockPage>> callback) {
  if (const auto code = protocol::check_prefix(options.prefix); code != protocol::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  OperationPtr operation = node_operation(core, protocol::RequestKind::LockList, node);
  if (options.waiters) {
    operation->slot.set(protocol::RequestFlag::Waiters);
  }
  if (options.quorum && core.has(protocol::Feature::Sessions)) {
    operation->slot.set(protocol::RequestFlag::Quorum);
  }
  operation->payload = protocol::text_of(
      protocol::encode_list_query({options.prefix, options.cursor, options.limit}));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    const auto decoded = protocol::decode_list_page(answer.payload);
    if (!decoded.ok()) {
      return callback(failure(protocol::ErrorCode::ReplyMalformed, "list page"));
    }
    LockPage page;
    page.next_cursor = decoded.value().next_cursor;
    page.complete = !answer.slot.has(protocol::ReplyFlag::Partial);
    for (const protocol::LockRow& row : decoded.value().rows) {
      page.locks.push_back(description_of(row));
    }
    callback(std::move(page));
  };
  core.submit(std::move(operation));
}

void report(Core& core, const ReportRequest& request, Callback<Result<std::string>> callback) {
  OperationPtr operation = node_operation(core, request.kind, request.node);
  if (request.kind == protocol::RequestKind::ShardShow) {
    operation->slot.shard = request.first_shard;
  } else if (request.kind == protocol::RequestKind::ShardList) {
    operation->payload = protocol::text_of(
        protocol::encode_shard_range({ShardId{request.first_shard}, request.shard_count}));
  } else if (request.kind == protocol::RequestKind::LogLevels) {
    operation->payload =
        protocol::text_of(protocol::encode_log_levels({request.order.levels, request.order.who}));
  }
  operation->callback = [kind = request.kind,
                         callback = std::move(callback)](const Answer& answer) {
    // An earlier release: what it lacks has a number of its own for callers.
    if (kind == protocol::RequestKind::LogLevels && is_unknown(answer.status)) {
      return callback(failure(protocol::ErrorCode::FeatureMissing, "levels of the log by request"));
    }
    callback(answer.status.ok()
                 ? Result<std::string>{std::string{protocol::text_of(answer.payload)}}
                 : Result<std::string>{answer.status});
  };
  core.submit(std::move(operation));
}

void leader_map(Core& core,
                std::uint32_t first,
                std::uint32_t count,
                Callback<Result<std::vector<std::uint32_t>>> callback) {
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::LeaderMap;
  operation->target = Target::AnyNode;
  operation->payload = protocol::text_of(protocol::encode_shard_range({ShardId{first}, count}));
  operation->deadline = core.request_deadline();
  operation->callback = [&core, callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    const auto map = protocol::decode_leader_map(answer.payload);
    if (!map.ok()) {
      return callback(failure(protocol::ErrorCode::ReplyMalformed, "leader map"));
    }
    std::vector<std::uint32_t> leaders;
    ShardId shard = map.value().first;
    for (const NodeId leader : map.value().leaders) {
      core.dispatcher().leaders().learn(shard, leader);
      leaders.push_back(leader.value);
      ++shard;
    }
    callback(std::move(leaders));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
