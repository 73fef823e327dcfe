#include "client/ledger/save_snapshot.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"

#include <utility>

namespace gcoord::client {

void open_snapshot(Core& core, NodeId node, Callback<Result<std::uint64_t>> callback) {
  OperationPtr operation = node_operation(core, protocol::RequestKind::SnapshotOpen, node);
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    callback(answer.status.ok() ? Result<std::uint64_t>{answer.slot.extra}
                                : Result<std::uint64_t>{answer.status});
  };
  core.submit(std::move(operation));
}

void read_snapshot(Core& core,
                   NodeId node,
                   const protocol::SnapshotRead& read,
                   Callback<Result<SnapshotBytes>> callback) {
  OperationPtr operation = node_operation(core, protocol::RequestKind::SnapshotRead, node);
  operation->payload = protocol::text_of(protocol::encode_snapshot_read(read));
  operation->waits_for_node = true;  // The node keeps the piece.
  const std::uint64_t offset = read.offset;
  operation->callback = [callback = std::move(callback), offset](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    if (answer.slot.extra != offset + answer.payload.size()) {
      return callback(failure(protocol::ErrorCode::ReplyMalformed, "snapshot piece"));
    }
    callback(SnapshotBytes{{answer.payload.begin(), answer.payload.end()},
                           answer.slot.has(protocol::ReplyFlag::Last)});
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
