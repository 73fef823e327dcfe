#include "client/reads/replica_reads.h"

#include "client/net/failure.h"
#include "client/reads/lookups.h"
#include "protocol/validate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::ReadConsistency;

bool by_leader(Consistency consistency) {
  return consistency == Consistency::Linearizable || consistency == Consistency::Lease;
}

// Positions of the shards that the request is about, the client's own and the caller's.
protocol::ReadTerms terms_of(const Core& core,
                             const ReadOptions& options,
                             const std::vector<std::uint32_t>& shards) {
  protocol::ReadTerms terms;
  terms.consistency = static_cast<ReadConsistency>(options.consistency);
  terms.staleness_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(options.max_staleness.count(), 0, protocol::kAgeUnknown - 1));
  if (options.consistency != Consistency::Monotonic) {
    return terms;
  }
  std::map<std::uint32_t, std::uint64_t> given;
  for (const Position& each : options.after) {
    given[each.shard] = std::max(given[each.shard], each.index);
  }
  for (const std::uint32_t shard : shards) {
    const std::uint64_t index = std::max(core.positions().at(shard), given[shard]);
    if (index != 0) {
      terms.after.push_back({ShardId{shard}, LogIndex{index}});
    }
  }
  return terms;
}

// One read under way; lives until its last answer. On the client's thread only.
class ReadCall : public std::enable_shared_from_this<ReadCall> {
 public:
  ReadCall(Core& core, ReadRequest request, Callback<Result<ReadOutcome>> callback)
      : core_(core), request_(std::move(request)), callback_(std::move(callback)) {
    answers_.resize(request_.names.size());
  }

  void start() {
    if (by_leader(request_.options.consistency)) {
      for (std::size_t index = 0; index < request_.names.size(); ++index) {
        const std::uint32_t shard = shard_at(index).value;
        floors_.try_emplace(shard, core_.positions().floor(shard));
      }
    }
    std::map<NodeId, Part> by_node;
    for (std::size_t index = 0; index < request_.names.size(); ++index) {
      by_node[node_for(index)].indices.push_back(index);
    }
    ++outstanding_;  // Held until all are on their way, so that an early answer does not end it.
    for (const auto& [node, part] : by_node) {
      ask_in_parts(node, part);
    }
    answered();
  }

 private:
  // Names that are asked for together.
  struct Part {
    std::vector<std::size_t> indices;
    std::uint32_t round = 0;  // How often they were asked for before.
  };

  // Of one name: a batch of very many shards may find as many leaders changed.
  static constexpr std::uint32_t kRoundsMax = 64;

  ShardId shard_at(std::size_t index) const {
    return shard_of_name(core_, request_.names[index].name);
  }

  // Some node that is ready and is not known to be a witness; 0: there is none.
  NodeId any_with_state() const {
    NodeSet& nodes = core_.nodes();
    for (std::size_t left = nodes.ready_count(); left > 0; --left) {
      const NodeId node = nodes.any_ready();
      if (!nodes.known().is_witness(node)) {
        return node;
      }
    }
    return {};
  }

  // Node 0: the operation finds its way to the leader of its one shard.
  NodeId node_for(std::size_t index) {
    if (request_.options.node_id != 0) {
      return NodeId{request_.options.node_id};
    }
    if (!by_leader(request_.options.consistency)) {
      if (any_ == NodeId{}) {
        any_ = any_with_state();
      }
      return any_;
    }
    return core_.dispatcher().leaders().leader(shard_at(index));
  }

  void ask_in_parts(NodeId node, const Part& all) {
    if (node == NodeId{}) {
      return ask_by_shard(all);
    }
    Part part{{}, all.round};
    std::size_t part_bytes = 0;
    for (const std::size_t index : all.indices) {
      // Token and length, and a position of its shard.
      constexpr std::size_t kFixedBytes = 24;
      const std::size_t bytes = kFixedBytes + request_.names[index].name.size();
      if (part.indices.size() == protocol::kReadNamesMax ||
          part_bytes + bytes > protocol::kPayloadBytesMax / 2) {
        ask(node, ShardId{}, std::exchange(part, Part{{}, all.round}));
        part_bytes = 0;
      }
      part.indices.push_back(index);
      part_bytes += bytes;
    }
    if (!part.indices.empty()) {
      ask(node, ShardId{}, std::move(part));
    }
  }

  void ask_by_shard(const Part& all) {
    std::map<std::uint32_t, Part> by_shard;
    for (const std::size_t index : all.indices) {
      by_shard[shard_at(index).value].indices.push_back(index);
    }
    for (auto& [shard, part] : by_shard) {
      part.round = all.round;
      ask(NodeId{}, ShardId{shard}, std::move(part));
    }
  }

  void ask(NodeId node, ShardId shard, Part part) {
    protocol::LockRead read;
    read.question = request_.question;
    std::vector<std::uint32_t> shards;
    for (const std::size_t index : part.indices) {
      read.names.push_back({request_.names[index].name, FencingToken{request_.names[index].token}});
      shards.push_back(shard_at(index).value);
    }
    std::ranges::sort(shards);
    const auto repeated = std::ranges::unique(shards);
    shards.erase(repeated.begin(), repeated.end());
    read.terms = terms_of(core_, request_.options, shards);
    auto operation = std::make_unique<Operation>();
    operation->slot.kind = protocol::RequestKind::LockRead;
    operation->slot.shard = shard.value;
    const bool to_leader = node == NodeId{};
    operation->target = to_leader ? Target::ShardLeader : Target::OneNode;
    operation->node = node;
    operation->try_once = !to_leader;
    operation->payload = protocol::text_of(protocol::encode_lock_read(read));
    operation->deadline = core_.request_deadline();
    operation->callback = [self = shared_from_this(), part = std::move(part), to_leader](
                              const Answer& answer) { self->on_answer(part, to_leader, answer); };
    ++outstanding_;
    core_.dispatcher().submit(std::move(operation));
  }

  void on_answer(const Part& part, bool to_leader, const Answer& answer) {
    if (!answer.status.ok()) {
      const bool stateless =
          answer.status.detail() == static_cast<std::uint32_t>(ErrorCode::WitnessHasNoState);
      const bool elsewhere = (by_leader(request_.options.consistency) || stateless) && !to_leader &&
                             request_.options.node_id == 0;
      elsewhere ? ask_by_shard(part) : fail(answer.status);
      return answered();
    }
    auto decoded = protocol::decode_lock_read_reply(answer.payload);
    const bool usable = decoded.ok() && decoded.value().names.size() == part.indices.size();
    if (usable) {
      take(part, decoded.value());
    } else {
      fail(failure(ErrorCode::ReplyMalformed, "lock_read"));
    }
    answered();
  }

  void take(const Part& part, protocol::LockReadReply& reply) {
    std::map<std::uint32_t, ErrorCode> errors;
    for (const std::size_t index : part.indices) {
      errors[shard_at(index).value] = ErrorCode::None;
    }
    for (const protocol::ShardAnswer& shard : reply.shards) {
      const auto asked = errors.find(shard.shard.value);
      if (asked == errors.end()) {
        continue;  // What nobody asked for is not believed, and callers have no room for it.
      }
      asked->second = shard.error;
      const auto floor = floors_.find(shard.shard.value);
      if (shard.error == ErrorCode::None && floor != floors_.end() &&
          shard.index.value < floor->second.index) {
        return fail(failure(ErrorCode::AnswerBehind, behind(floor->second, shard.index.value)));
      }
      if (shard.error == ErrorCode::None) {
        core_.positions().learn(shard.shard.value, shard.index.value);
        learn(shard);
      } else if (shard.error == ErrorCode::NotLeader) {
        core_.dispatcher().leaders().forget(shard.shard);
      }
    }
    Part left{{}, part.round + 1};
    for (std::size_t at = 0; at < part.indices.size(); ++at) {
      const std::size_t index = part.indices[at];
      if (reply.names[at].answered) {
        answers_[index] = std::move(reply.names[at]);
        continue;
      }
      const ErrorCode error = errors[shard_at(index).value];
      const bool moved = error == ErrorCode::NotLeader && request_.options.node_id == 0;
      if (moved || error == ErrorCode::None) {  // None: the reply was full.
        left.indices.push_back(index);
      } else {
        fail(failure(error, "shard " + std::to_string(shard_at(index).value)));
      }
    }
    if (left.indices.empty()) {
      return;
    }
    if (left.round > kRoundsMax) {
      const std::string shard = std::to_string(shard_at(left.indices.front()).value);
      return fail(failure(ErrorCode::NoLeader, "shard " + shard));
    }
    again(left);
  }

  void again(const Part& left) {
    by_leader(request_.options.consistency) ? ask_by_shard(left) : ask_in_parts(any_, left);
  }

  // Of several answers for one shard the oldest counts.
  void learn(const protocol::ShardAnswer& answer) {
    const Freshness told = freshness_of(answer);
    const auto [known, added] = shards_.try_emplace(told.shard, told);
    if (!added && told.index < known->second.index) {
      known->second = told;
    }
  }

  void fail(Status status) { status_ = std::move(status); }

  void answered() {
    if (--outstanding_ > 0) {
      return;
    }
    if (!status_.ok()) {
      return callback_(status_);
    }
    ReadOutcome outcome{std::move(answers_), {}};
    for (const auto& [shard, freshness] : shards_) {
      outcome.shards.push_back(freshness);
    }
    callback_(std::move(outcome));
  }

  Core& core_;
  ReadRequest request_;
  Callback<Result<ReadOutcome>> callback_;
  std::vector<protocol::NameAnswer> answers_;
  std::map<std::uint32_t, Freshness> shards_;
  std::map<std::uint32_t, Position> floors_;  // Of reads from leaders: what they must show.
  NodeId any_;
  std::size_t outstanding_ = 0;
  Status status_;
};

ErrorCode first_mistake(const Core& core, const ReadRequest& request) {
  if (!core.has(protocol::Feature::Sessions)) {
    return ErrorCode::FeatureMissing;
  }
  for (const TokenCheck& each : request.names) {
    if (const ErrorCode code = protocol::check_name(each.name); code != ErrorCode::None) {
      return code;
    }
    if (request.question == protocol::ReadQuestion::Verdict && each.token == 0) {
      return ErrorCode::TokenZero;
    }
  }
  return request.options.after.size() > protocol::kReadShardsMax ? ErrorCode::BatchTooLarge
                                                                 : ErrorCode::None;
}

}  // namespace

Freshness freshness_of(const protocol::ShardAnswer& shard) {
  Freshness freshness;
  freshness.shard = shard.shard.value;
  freshness.index = shard.index.value;
  if (shard.age_ms != protocol::kAgeUnknown) {
    freshness.age = std::chrono::milliseconds{shard.age_ms};
  }
  return freshness;
}

void read_locks(Core& core, ReadRequest request, Callback<Result<ReadOutcome>> callback) {
  if (const auto code = first_mistake(core, request); code != ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  const auto call = std::make_shared<ReadCall>(core, std::move(request), callback);
  if (!core.post([call] { call->start(); })) {
    callback(failure(ErrorCode::ClientClosed));
  }
}

void read_list(Core& core,
               NodeId node,
               const ListOptions& list,
               const ReadOptions& options,
               Callback<Result<ReadPage>> callback) {
  if (!core.has(protocol::Feature::Sessions)) {
    return refuse(core, std::move(callback), failure(ErrorCode::FeatureMissing));
  }
  if (const ErrorCode code = protocol::check_prefix(list.prefix); code != ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  std::vector<std::uint32_t> shards;
  for (const Position& each : core.positions().all()) {
    shards.push_back(each.shard);
  }
  for (const Position& each : options.after) {
    shards.push_back(each.shard);
  }
  std::ranges::sort(shards);
  const auto repeated = std::ranges::unique(shards);
  shards.erase(repeated.begin(), repeated.end());
  if (shards.size() > protocol::kReadShardsMax) {
    return refuse(core, std::move(callback), failure(ErrorCode::BatchTooLarge));
  }
  OperationPtr operation = node_operation(core, protocol::RequestKind::LockReadList, node);
  operation->payload = protocol::text_of(protocol::encode_read_list(
      {terms_of(core, options, shards), {list.prefix, list.cursor, list.limit}}));
  operation->callback = [&core, node, callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    const auto decoded = protocol::decode_read_page(answer.payload);
    if (!decoded.ok()) {
      return callback(failure(ErrorCode::ReplyMalformed, "lock_read_list"));
    }
    ReadPage page;
    page.node_id = node.value;
    page.page.next_cursor = decoded.value().page.next_cursor;
    for (const protocol::LockRow& row : decoded.value().page.rows) {
      page.page.locks.push_back(description_of(row));
    }
    for (const protocol::ShardAnswer& shard : decoded.value().shards) {
      core.positions().learn(shard.shard.value, shard.index.value);
      page.shards.push_back(freshness_of(shard));
    }
    callback(std::move(page));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
