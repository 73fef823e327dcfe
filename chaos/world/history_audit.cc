#include "chaos/world/history_audit.h"

#include "chaos/world/world_node.h"
#include "chaos/world/world_options.h"
#include "common/name_hash.h"
#include "ledger/merkle/tree_proof.h"
#include "server/groups/group_machine.h"
#include "server/history/past_state.h"
#include "server/interfaces/log_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace gcoord::chaos {
namespace {

constexpr std::size_t kEntriesPerRead = 256;

// Applies what the leaves say, as a node would have from its log.
class Replay {
 public:
  Replay(const locks::LockOptions& options, ShardId shard)
      : locks_(options),
        groups_(options.shard_count, options.index_seed),
        machine_({groups_, rendezvous_, locks_}),
        shard_(shard),
        events_(locks::kLockEventsPerCommandMax) {}

  void take(LogIndex index, std::span<const std::byte> leaf) {
    const auto header = server::decode_record_header(leaf);
    if (header && header->kind == server::RecordKind::LockCommand) {
      locks::LockEvents events{events_.data(), static_cast<std::uint32_t>(events_.size()), 0};
      locks::LockCommand command{.kind = locks::LockCommandKind::Unknown};
      if (const auto decoded = locks::decode(server::record_body(leaf)); decoded.ok()) {
        command = decoded.value();
      }
      locks::LockReply reply = locks_.apply(shard_, index, command, Tick{1}, events);
      machine_.apply(shard_, command, reply);
    }
  }

  std::uint64_t state_hash() const { return machine_.state_hash(shard_); }

 private:
  locks::LockCpu locks_;
  membership::GroupCpu groups_;
  membership::RendezvousTable rendezvous_;
  server::GroupMachine machine_;
  ShardId shard_;
  std::vector<locks::LockEvent> events_;
};

std::string audit_state(const WorldNode& node,
                        ShardId shard,
                        const ledger::TreeReader& reader,
                        const std::string& name) {
  Replay replay(node.lock_options(), shard);
  for (std::uint64_t index = 0; index < reader.size(); index += kEntriesPerRead) {
    const auto count = std::min<std::uint64_t>(reader.size() - index, kEntriesPerRead);
    const auto entries = reader.entries(index, count);
    if (!entries.ok()) {
      return "I15: " + name + ": " + entries.status().message();
    }
    for (std::size_t k = 0; k < entries.value().size(); ++k) {
      replay.take(LogIndex{index + k + 1}, entries.value()[k]);
    }
  }
  return replay.state_hash() == node.service().state_hash(shard)
             ? std::string{}
             : "I15: " + name + ": its entries do not lead to the state that answers";
}

// The node's own tree: over what it kept, and of what it applied.
std::string audit_node(WorldNode& node, ShardId shard, ledger::ShardHead& head) {
  const std::string name =
      fmt::format("the history of shard {} on node {}", shard.value, node.id().value);
  const ledger::History& history = *node.history().worker().history();
  const auto heads = history.heads({&shard, 1});
  const std::uint64_t applied = node.engine().view(shard).applied.value;
  if (!heads.ok() || heads.value().front().size != applied) {
    return fmt::format("I15: {} has {} entries of {}", name, history.size(shard), applied);
  }
  head = heads.value().front();
  const auto reader = history.reader(shard);
  const auto root = ledger::root_at(*reader, head.size);
  if (!root.ok() || root.value() != head.root) {
    return "I15: " + name + " does not hash to its root: " + root.status().message();
  }
  return reader->first() == 0 ? audit_state(node, shard, *reader, name) : std::string{};
}

}  // namespace

std::string audit_histories(const WorldOptions& options, const std::vector<WorldNode*>& nodes) {
  for (std::uint32_t number = 0; number < options.shard_count; ++number) {
    const ShardId shard{number};
    ledger::ShardHead first;
    for (WorldNode* node : nodes) {
      ledger::ShardHead head;
      if (std::string wrong = audit_node(*node, shard, head); !wrong.empty()) {
        return wrong;
      }
      if (node != nodes.front() && head.size == first.size && head.root != first.root) {
        return fmt::format("I15: nodes {} and {} have {} entries of shard {} and different roots",
                           nodes.front()->id().value,
                           node->id().value,
                           head.size,
                           number);
      }
      first = node == nodes.front() ? head : first;
    }
  }
  return {};
}

std::string audit_places(const WorldOptions& options, const WorldNode& node) {
  const locks::LockCpu& locks = node.service().locks();
  for (std::uint32_t key = 0; key < options.key_count; ++key) {
    const std::string name = "key/" + std::to_string(key);
    const NameHash hash = hash_name(name);
    const ShardId home = shard_of(hash, options.shard_count);
    const auto said = locks.residence(home, hash);
    const bool away = said.has_value() && said->residence == locks::Residence::Away;
    const ShardId place = away ? said->away_to : home;
    for (std::uint32_t shard = 0; shard < options.shard_count; ++shard) {
      if (ShardId{shard} != place && locks.get(ShardId{shard}, hash).has_value()) {
        return fmt::format("I11: {} is held in shard {}, and its home says that it is in shard {}",
                           name,
                           shard,
                           place.value);
      }
    }
  }
  return {};
}

namespace {

std::shared_ptr<const ledger::TreeReader> whole_history(const std::vector<WorldNode*>& nodes,
                                                        ShardId shard) {
  for (WorldNode* node : nodes) {
    auto reader = node->history().worker().history()->reader(shard);
    if (reader->first() == 0) {
      return reader;
    }
  }
  return nullptr;
}

// Brings the state to the read's index; empty, or why the answer is not what was decided.
std::string audit_read(const ledger::TreeReader& history,
                       const WeakRead& read,
                       server::PastState& state) {
  const Status come = state.advance(history, read.index, read.index.value);
  if (!come.ok() || state.index() != read.index) {
    return fmt::format("R3: a read named index {} of shard {}, which has {} entries: {}",
                       read.index.value,
                       read.shard.value,
                       history.size(),
                       come.message());
  }
  const auto verdict = state.verdict(hash_name(read.key), read.token);
  return verdict == read.verdict
             ? std::string{}
             : fmt::format(
                   "R3: a {} read of {} at index {} of shard {} said {} of token {}, not {}",
                   consistency_name(read.consistency),
                   read.key,
                   read.index.value,
                   read.shard.value,
                   static_cast<int>(read.verdict),
                   read.token.value,
                   static_cast<int>(verdict));
}

}  // namespace

std::string audit_reads(const std::vector<WorldNode*>& nodes, std::vector<WeakRead> reads) {
  std::ranges::sort(reads, [](const WeakRead& a, const WeakRead& b) {
    return std::pair(a.shard, a.index) < std::pair(b.shard, b.index);
  });
  std::unique_ptr<server::PastState> state;
  std::shared_ptr<const ledger::TreeReader> history;
  std::optional<ShardId> shard;
  for (const WeakRead& read : reads) {
    if (shard != read.shard) {
      shard = read.shard;
      history = whole_history(nodes, read.shard);
      state = std::make_unique<server::PastState>();
    }
    if (history == nullptr) {
      continue;
    }
    if (std::string wrong = audit_read(*history, read, *state); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace gcoord::chaos
