// Waits that must be asked for anew: who stands in line, and how a line goes on (wait_lines.h).
#include "client/core/dispatcher.h"
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

bool Dispatcher::lines_up(const Operation& operation) {
  return operation.waits() && operation.target == Target::ShardLeader &&
         operation.slot.sequence != 0;
}

// What says that this node does not take the shard's requests now, not that this one is refused.
bool Dispatcher::returns_in_line(const Operation& operation, protocol::ErrorCode code) {
  return lines_up(operation) &&
         (code == protocol::ErrorCode::NotLeader || code == protocol::ErrorCode::NoLeader ||
          code == protocol::ErrorCode::Overloaded || code == protocol::ErrorCode::ProposalDropped ||
          code == protocol::ErrorCode::QuorumUnavailable);
}

// Again what was sent before, or found no node; a wait in the line of its shard.
void Dispatcher::send_anew(std::uint64_t id, Operation& operation) {
  if (lines_up(operation)) {
    return stand_in_line(id, operation);
  }
  send(id, operation);
}

// To be sent again when its turn comes, which may be now.
void Dispatcher::stand_in_line(std::uint64_t id, Operation& operation) {
  operation.phase = OperationPhase::InLine;
  lines_.join(ShardId{operation.slot.shard}, id);
  schedule(operation);
}

// The same after a refusal: the line rests before it goes on.
void Dispatcher::rest_in_line(std::uint64_t id, Operation& operation, Status status) {
  operation.last_failure = std::move(status);
  operation.redirects = 0;
  operation.moves_at_once = 0;
  ++operation.attempt;
  ++statistics_.retries;
  stand_in_line(id, operation);
  WaitLine& line = *lines_.find(ShardId{operation.slot.shard});
  line.attempt = std::max(line.attempt, operation.attempt - 1);
  if (line.asking) {
    line.refused = true;
  } else if (line.due <= options_.clock->now()) {
    rest(line);
  }
}

void Dispatcher::rest(WaitLine& line) {
  lines_.set_due(line, options_.clock->now() + backoff_.delay(line.attempt));
  line.refused = false;
  ++line.attempt;
}

void Dispatcher::advance_lines(TimePoint now) {
  lines_.for_each_due(now, [this](ShardId shard) { go_on(shard); });
}

// To the leader in batches. To any node, who names it, if they are few. Else one question goes
// first, which is also the probe of a node whose breaker is not closed: a wait would be none.
void Dispatcher::go_on(ShardId shard) {
  WaitLine& line = *lines_.find(shard);
  const NodeId leader = leaders_.leader(shard);
  const bool known = nodes_.closed(leader);
  if (!known) {
    // Once for each rest, however long the line: else who gave up would be remembered all the time.
    std::erase_if(line.ids, [&](std::uint64_t id) { return in_line(id, shard) == nullptr; });
  }
  if (line.ids.empty()) {
    return lines_.erase(shard);
  }
  if (!known &&
      (nodes_.admits(leader) || line.ids.size() > kLineShort || nodes_.any_closed() == NodeId{})) {
    return ask_for_line(shard, nodes_.admits(leader) ? leader : NodeId{});
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
      send(id, *operation);
    }
  }
  if (more) {
    ask_for_line(shard, leader);
  }
}

Operation* Dispatcher::in_line(std::uint64_t id, ShardId shard) {
  Operation* operation = operations_.find(id);
  const bool stands = operation != nullptr && operation->phase == OperationPhase::InLine &&
                      operation->slot.shard == shard.value;
  return stands ? operation : nullptr;
}

// Who leads the shard? Asked of this node, or of any. A node takes the requests of a connection in
// their order, so its answer says also that it has taken the batch before.
void Dispatcher::ask_for_line(ShardId shard, NodeId node) {
  lines_.find(shard)->asking = true;
  auto question = std::make_unique<Operation>();
  question->slot.kind = protocol::RequestKind::LeaderMap;
  question->payload = protocol::text_of(protocol::encode_shard_range({shard, 1}));
  question->target = node == NodeId{} ? Target::AnyNode : Target::OneNode;
  question->node = node;
  question->try_once = true;
  question->deadline = options_.clock->now() + TimePoint{options_.request_timeout};
  question->callback = [this, shard](const Answer& answer) { on_line_answer(shard, answer); };
  submit(std::move(question));
}

void Dispatcher::on_line_answer(ShardId shard, const Answer& answer) {
  WaitLine* line = lines_.find(shard);
  if (line == nullptr) {
    return;
  }
  line->asking = false;
  const NodeId leader = leader_named(answer);
  if (!nodes_.admits(leader)) {
    leaders_.forget(shard);
    return rest(*line);
  }
  leaders_.learn(shard, leader);
  if (line->refused) {
    return rest(*line);
  }
  line->attempt = 0;
  lines_.set_due(*line, options_.clock->now());
}

}  // namespace gcoord::client
