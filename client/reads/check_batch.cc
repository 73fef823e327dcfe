// Many token checks in few messages: grouped by the node that leads their shards, as far as known.
#include "client/net/failure.h"
#include "client/reads/lookups.h"
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

#include <map>
#include <memory>
#include <utility>

namespace gcoord::client {
namespace {

// One call under way; lives until its last answer. On the client's thread only.
class BatchCheck : public std::enable_shared_from_this<BatchCheck> {
 public:
  BatchCheck(Core& core,
             std::vector<TokenCheck> checks,
             Callback<Result<std::vector<Verdict>>> callback)
      : core_(core),
        checks_(std::move(checks)),
        callback_(std::move(callback)),
        verdicts_(checks_.size()) {}

  void start() {
    std::map<NodeId, std::vector<std::size_t>> by_node;
    for (std::size_t index = 0; index < checks_.size(); ++index) {
      const NodeId leader =
          core_.dispatcher().leaders().leader(shard_of_name(core_, checks_[index].name));
      by_node[leader].push_back(index);
    }
    ++outstanding_;  // Held until all are on their way, so that an early answer does not end it.
    for (const auto& [node, indices] : by_node) {
      // Without a known leader any node does: it answers for what it leads.
      const NodeId target = node != NodeId{} ? node : core_.nodes().any_ready();
      ask_in_parts(target, indices);
    }
    answered();
  }

 private:
  void ask_in_parts(NodeId node, const std::vector<std::size_t>& indices) {
    std::vector<std::size_t> part;
    std::size_t part_bytes = 0;
    for (const std::size_t index : indices) {
      constexpr std::size_t kFixedBytes = 16;  // Token, length and some of the count.
      const std::size_t bytes = kFixedBytes + checks_[index].name.size();
      if (part.size() == protocol::kCheckBatchMax ||
          part_bytes + bytes > protocol::kPayloadBytesMax) {
        ask(node, std::exchange(part, {}));
        part_bytes = 0;
      }
      part.push_back(index);
      part_bytes += bytes;
    }
    if (!part.empty()) {
      ask(node, std::move(part));
    }
  }

  void ask(NodeId node, std::vector<std::size_t> part) {
    std::vector<protocol::TokenCheck> checks;
    checks.reserve(part.size());
    for (const std::size_t index : part) {
      checks.push_back({checks_[index].name, FencingToken{checks_[index].token}});
    }
    auto operation = std::make_unique<Operation>();
    operation->slot.kind = protocol::RequestKind::LockCheckBatch;
    operation->target = Target::OneNode;
    operation->node = node;
    operation->try_once = true;
    operation->payload = protocol::text_of(protocol::encode_check_batch(checks));
    operation->deadline = core_.request_deadline();
    operation->callback = [self = shared_from_this(), part = std::move(part)](
                              const Answer& answer) { self->on_verdicts(part, answer); };
    ++outstanding_;
    core_.dispatcher().submit(std::move(operation));
  }

  void on_verdicts(const std::vector<std::size_t>& part, const Answer& answer) {
    const auto verdicts = protocol::decode_verdicts(answer.payload);
    const bool usable =
        answer.status.ok() && verdicts.ok() && verdicts.value().size() == part.size();
    for (std::size_t at = 0; at < part.size(); ++at) {
      if (usable && verdicts.value()[at] != protocol::CheckVerdict::NotLeader) {
        verdicts_[part[at]] = static_cast<Verdict>(verdicts.value()[at]);
      } else {
        ask_alone(part[at]);
      }
    }
    answered();
  }

  // Finds its way to the leader by itself.
  void ask_alone(std::size_t index) {
    ++outstanding_;
    check(core_,
          checks_[index].name,
          checks_[index].token,
          [self = shared_from_this(), index](Result<Verdict> verdict) {
            if (verdict.ok()) {
              self->verdicts_[index] = verdict.value();
            } else {
              self->status_ = verdict.status();
            }
            self->answered();
          });
  }

  void answered() {
    if (--outstanding_ == 0) {
      status_.ok() ? callback_(std::move(verdicts_)) : callback_(status_);
    }
  }

  Core& core_;
  std::vector<TokenCheck> checks_;
  Callback<Result<std::vector<Verdict>>> callback_;
  std::vector<Verdict> verdicts_;
  std::size_t outstanding_ = 0;
  Status status_;
};

protocol::ErrorCode first_mistake(std::span<const TokenCheck> checks) {
  for (const TokenCheck& each : checks) {
    const auto code =
        each.token == 0 ? protocol::ErrorCode::TokenZero : protocol::check_name(each.name);
    if (code != protocol::ErrorCode::None) {
      return code;
    }
  }
  return protocol::ErrorCode::None;
}

}  // namespace

void check_batch(Core& core,
                 std::span<const TokenCheck> checks,
                 Callback<Result<std::vector<Verdict>>> callback) {
  if (const auto code = first_mistake(checks); code != protocol::ErrorCode::None) {
    return refuse(core, std::move(callback), failure(code));
  }
  const auto batch = std::make_shared<BatchCheck>(
      core, std::vector<TokenCheck>(checks.begin(), checks.end()), callback);
  if (!core.post([batch] { batch->start(); })) {
    callback(failure(protocol::ErrorCode::ClientClosed));
  }
}

}  // namespace gcoord::client
