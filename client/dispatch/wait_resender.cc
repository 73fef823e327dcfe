#include "client/dispatch/wait_resender.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

// Node 0 when the answer names none.
NodeId leader_named(const Answer& answer) {
  const auto map = protocol::decode_leader_map(answer.payload);
  const bool named = answer.status.ok() && map.ok() && !map.value().leaders.empty();
  return named ? map.value().leaders.front() : NodeId{};
}

}  // namespace

WaitResender::WaitResender(Environment environment) : environment_(std::move(environment)) {}

void WaitResender::join(std::uint64_t id, Operation& operation) {
  operation.phase = OperationPhase::InLine;
  lines_.join(ShardId{operation.slot.shard}, id);
}

void WaitResender::join_refused(std::uint64_t id, Operation& operation, Status status) {
  operation.tries.last_failure = std::move(status);
  operation.tries.redirects = 0;
  operation.tries.moves_at_once = 0;
  ++operation.tries.attempt;
  ++environment_.statistics.retries;
  join(id, operation);
  WaitLine& line = *lines_.find(ShardId{operation.slot.shard});
  line.attempt = std::max(line.attempt, operation.tries.attempt - 1);
  if (line.asking) {
    line.refused = true;
  } else if (line.due <= environment_.options.clock->now()) {
    rest(line);
  }
}

void WaitResender::rest(WaitLine& line) {
  lines_.set_due(line,
                 environment_.options.clock->now() + environment_.backoff.delay(line.attempt));
  line.refused = false;
  ++line.attempt;
}

void WaitResender::advance(TimePoint now) {
  lines_.for_each_due(now, [this](ShardId shard) { go_on(shard); });
}

// To the leader in batches. To any node, who names it, if they are few. Else one question goes
// first, which is also the probe of a node whose breaker is not closed: a wait would be none.
void WaitResender::go_on(ShardId shard) {
  WaitLine& line = *lines_.find(shard);
  const NodeId leader = environment_.leaders.leader(shard);
  const bool known = environment_.nodes.closed(leader);
  if (!known) {
    // Once for each rest, however long the line: else who gave up would be remembered all the time.
    std::erase_if(line.ids, [&](std::uint64_t id) { return in_line(id, shard) == nullptr; });
  }
  if (line.ids.empty()) {
    return lines_.erase(shard);
  }
  if (!known && (environment_.nodes.admits(leader) || line.ids.size() > kLineShort ||
                 environment_.nodes.any_closed() == NodeId{})) {
    return ask(shard, environment_.nodes.admits(leader) ? leader : NodeId{});
  }
  std::deque<std::uint64_t> batch;
  while (!line.ids.empty() && batch.size() < kLineBatch) {
    batch.push_back(line.ids.front());
    line.ids.pop_front();
  }
  const bool more = !line.ids.empty();
  if (!more) {
    lines_.erase(shard);
  }
  for (const std::uint64_t id : batch) {
    if (Operation* operation = in_line(id, shard)) {
      environment_.send(id, *operation);
    }
  }
  if (more) {
    ask(shard, leader);
  }
}

Operation* WaitResender::in_line(std::uint64_t id, ShardId shard) {
  Operation* operation = environment_.operations.find(id);
  const bool stands = operation != nullptr && operation->phase == OperationPhase::InLine &&
                      operation->slot.shard == shard.value;
  return stands ? operation : nullptr;
}

// Who leads the shard? Asked of this node, or of any. A node takes the requests of a connection in
// their order, so its answer says also that it has taken the batch before.
void WaitResender::ask(ShardId shard, NodeId node) {
  lines_.find(shard)->asking = true;
  auto question = std::make_unique<Operation>();
  question->slot.kind = protocol::RequestKind::LeaderMap;
  question->payload = protocol::text_of(protocol::encode_shard_range({shard, 1}));
  question->target = node == NodeId{} ? Target::AnyNode : Target::OneNode;
  question->node = node;
  question->try_once = true;
  question->deadline =
      environment_.options.clock->now() + TimePoint{environment_.options.request_timeout};
  question->callback = [this, shard](const Answer& answer) { on_answer(shard, answer); };
  environment_.submit(std::move(question));
}

void WaitResender::on_answer(ShardId shard, const Answer& answer) {
  WaitLine* line = lines_.find(shard);
  if (line == nullptr) {
    return;
  }
  line->asking = false;
  const NodeId leader = leader_named(answer);
  if (!environment_.nodes.admits(leader)) {
    environment_.leaders.forget(shard);
    return rest(*line);
  }
  environment_.leaders.learn(shard, leader);
  if (line->refused) {
    return rest(*line);
  }
  line->attempt = 0;
  lines_.set_due(*line, environment_.options.clock->now());
}

}  // namespace gcoord::client
