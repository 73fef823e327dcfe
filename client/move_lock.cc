#include "client/move_lock.h"

#include "client/failure.h"
#include "rpc/lock_messages.h"
#include "rpc/move_messages.h"
#include "rpc/validate.h"

#include <string>
#include <utility>

namespace gcoord::client {
namespace {

void send_move(Core& core, const std::string& name, ShardId to, Callback<Status> callback) {
  OperationPtr operation = name_operation(core, rpc::RequestKind::LockMove, name);
  operation->payload = rpc::text_of(rpc::encode_move({to, name}));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(answer.status);
  };
  core.submit(std::move(operation));
}

}  // namespace

void move_lock(Core& core,
               std::string_view name,
               std::uint32_t to_shard,
               Callback<Status> callback) {
  auto code = rpc::check_name(name);
  if (code == rpc::ErrorCode::None && to_shard >= core.shard_count()) {
    code = rpc::ErrorCode::ShardOutOfRange;
  }
  if (code == rpc::ErrorCode::None && !core.has(rpc::Feature::LockMoves)) {
    code = rpc::ErrorCode::FeatureMissing;
  }
  if (code != rpc::ErrorCode::None) {
    return refuse<Status>(core, std::move(callback), failure(code));
  }
  const auto moved = [&core, held = std::string{name}, to_shard, callback](const Status& status) {
    if (status.detail() != static_cast<std::uint32_t>(rpc::ErrorCode::MoveNotHome)) {
      return callback(status);
    }
    // From one shard to another a lock goes by way of the shard of its name.
    send_move(core,
              held,
              shard_of_name(core, held),
              [&core, held, to_shard, callback](const Status& home) {
                if (!home.ok()) {
                  return callback(home);
                }
                send_move(core, held, ShardId{to_shard}, callback);
              });
  };
  send_move(core, std::string{name}, ShardId{to_shard}, moved);
}

}  // namespace gcoord::client
