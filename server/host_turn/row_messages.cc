#include "server/host_turn/row_messages.h"

#include "consensus/step/log_runs.h"
#include "server/replicas/shard_codec.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace gcoord::server {

void RowMessages::send(std::uint32_t row, const consensus::Message& message) {
  if (message.kind != consensus::MessageKind::Snapshot) {
    env_.outflow.add(row, message, env_.rows.ref(row).log().floor);
  } else if (env_.calls.keeps()) {
    wanted_.push_back({row, message});
  } else {
    send_snapshot(row, message);
  }
}

void RowMessages::send_snapshots() {
  for (const WantedSnapshot& wanted : wanted_) {
    send_snapshot(wanted.row, wanted.message);
  }
  wanted_.clear();
}

// The service's state is that of the applied index: what this step wants applied waits for the
// turn's end.
void RowMessages::send_snapshot(std::uint32_t row, consensus::Message message) {
  if (!env_.sender.wants(message, env_.network)) {
    return;
  }
  const consensus::ShardRef shard = env_.rows.ref(row);
  message.index = shard.log().applied;
  message.log_term = consensus::term_at(shard.log(), shard.runs(), message.index);
  std::vector<std::byte> bytes;
  encode_snapshot_head(bytes, shard.configuration());
  if (env_.peers.is_witness(message.to)) {
    env_.calls.witness_state(shard.shard(), bytes);
  } else {
    env_.calls.serialize(shard.shard(), bytes);
  }
  env_.metrics.messages_out[static_cast<std::size_t>(message.kind)]->add();
  env_.sender.start(message, std::move(bytes), env_.network);
}

}  // namespace gcoord::server
