#include "client/locks/move_lock.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"
#include "protocol/move_messages.h"
#include "protocol/validate.h"

#include <string>
#include <utility>

namespace gcoord::client {
namespace {

void send_move(Core& core, const std::string& name, ShardId to, Callback<Status> callback) {
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockMove, name);
  operation->payload = protocol::text_of(protocol::encode_move({to, name}));
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
  auto code = protocol::check_name(name);
  if (code == protocol::ErrorCode::None && to_shard >= core.shard_count()) {
    code = protocol::ErrorCode::ShardOutOfRange;
  }
  if (code == protocol::ErrorCode::None && !core.has(protocol::Feature::LockMoves)) {
    code = protocol::ErrorCode::FeatureMissing;
  }
  if (code != protocol::ErrorCode::None) {
    return refuse<Status>(core, std::move(callback), failure(code));
  }
  const auto moved = [&core, held = std::string{name}, to_shard, callback](const Status& status) {
    if (status.detail() != static_cast<std::uint32_t>(protocol::ErrorCode::MoveNotHome)) {
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
