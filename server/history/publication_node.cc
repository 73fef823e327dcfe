#include "server/history/publication_node.h"

#include "common/assert.h"
#include "common/host/thread_name.h"
#include "ledger/cluster/bound_pruning.h"
#include "ledger/cluster/node_key_file.h"
#include "ledger/disk/posix_disk.h"
#include "ledger/notes/checkpoint_note.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gcoord::server {
namespace {

// More than a round's leaves and the small files beside them take.
constexpr std::uint64_t kWriteBytes = std::uint64_t{1} << 20;

// A leader on a device has at most 64 entries undecided in a shard. An entry of so many heads takes
// 25 of them, and clients of shard 0 have the others. Where they leave less room, entries shrink;
// one of one head takes three.
constexpr std::size_t kHeadsPerDeviceEntry = 20;

// Before the cluster log is locked: its readers do not wait as well.
Status await_space(ledger::DiskRoom* room) {
  return room == nullptr ? Status{} : room->await(kWriteBytes);
}

}  // namespace

PublicationNode::PublicationNode(PublicationNodeOptions options, MetricsRegistry& metrics)
    : options_(std::move(options)),
      dropped_(metrics.counter({"gcoord_server_publication_messages_lost_total",
                                "Messages of peers that found no room.",
                                "",
                                ""})) {}

Result<std::unique_ptr<PublicationNode>> PublicationNode::open(PublicationNodeOptions options,
                                                               MetricsRegistry& metrics) {
  std::unique_ptr<PublicationNode> node{new PublicationNode(std::move(options), metrics)};
  GCOORD_TRY_STATUS(node->open_files());
  GCOORD_TRY_STATUS(node->start(metrics));
  return node;
}

PublicationNode::~PublicationNode() {
  desk_.close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Status PublicationNode::open_files() {
  GCOORD_TRY(disk_,
             ledger::PosixDisk::open_directory(
                 options_.directory, options_.room, ledger::WhenFull::Waits));
  GCOORD_TRY(signer_, ledger::SignerState::open(*disk_));
  GCOORD_TRY(log_, ledger::ClusterLog::open(*disk_, signer_->last().size));
  const std::string name = ledger::node_key_name(options_.cluster.value, options_.node.value);
  GCOORD_TRY(auto key, ledger::open_node_key(*disk_, name, options_.key_seed));
  notary_ =
      std::make_unique<LedgerNotary>(options_.cluster, options_.shard_count, std::move(key), *log_);
  return Status{};
}

Status PublicationNode::start(MetricsRegistry& metrics) {
  PublicationOptions options{.self = options_.node,
                             .nodes = options_.nodes,
                             .shard_count = options_.shard_count,
                             .incarnation = options_.incarnation,
                             .key = notary_->public_key(),
                             .signed_size = signer_->last().size,
                             .keep = options_.keep};
  if (options_.on_device) {
    options.entry_heads_max = kHeadsPerDeviceEntry;
    options.entries_under_way = 1;
    options.shrinks_lost_entries = true;
  }
  PublicationPort& port = *this;
  publication_ = std::make_unique<Publication>(std::move(options), port, metrics);
  GCOORD_TRY_STATUS(publication_->start());
  // What was applied while the node recovered.
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    const auto tree = options_.trees.tree_of(ShardId{shard});
    publication_->touch(ShardId{shard}, tree == nullptr ? 0 : tree->size(), options_.now_ms());
  }
  view_ = publication_->view();
  thread_ = std::thread([this] {
    name_this_thread("publication");
    run();
  });
  return Status{};
}

void PublicationNode::run() {
  std::uint64_t wait_ms = 0;
  while (auto input = desk_.wait(wait_ms, publication_->sizes_wait_ms(wait_ms))) {
    const std::uint64_t now = options_.now_ms();
    const std::uint64_t settle = input->settle;
    take(*std::move(input), now);
    if (now >= publication_->next_due_ms()) {
      publication_->advance(now);
    }
    answer_settle(settle);
    answer_pruning();
    hand_over();
    const std::uint64_t due = publication_->next_due_ms();
    wait_ms = due > now ? due - now : 0;
  }
}

void PublicationNode::take(PublicationInput&& input, std::uint64_t now) {
  for (const auto& [shard, size] : input.applied) {
    publication_->touch(shard, size, now);
  }
  if (input.lost) {
    publication_->on_proposal_lost();
  }
  for (const RoundEntry& round : input.rounds) {
    publication_->on_round(round);
  }
  if (input.state) {
    state_ = *std::move(input.state);
    show_keys();
    publication_->on_state(state_);
  }
  if (input.members) {
    members_ = *input.members;
    show_keys();
    publication_->on_members(*std::move(input.members));
  }
  if (input.publisher) {
    publication_->on_role(*input.publisher);
  }
  for (const PublicationInput::Message& message : input.messages) {
    publication_->on_message(message.from, message.bytes, now);
  }
}

// Those by which the newest checkpoint can be checked: of the nodes that have a vote now.
void PublicationNode::show_keys() {
  std::map<NodeId, LedgerKey> keys = state_.keys();
  std::erase_if(keys, [this](const auto& each) {
    return members_ && !std::ranges::binary_search(members_->voters, each.first);
  });
  notary_->set_keys(keys);
}

void PublicationNode::hand_over() {
  {
    const std::lock_guard lock(view_mutex_);
    view_ = publication_->view();
  }
  if (!output_.empty() && desk_.put(std::exchange(output_, PublicationOutput{}))) {
    options_.wake();
  }
}

void PublicationNode::set_members(PublicationMembers members) {
  gathered_.members = std::move(members);
}

Result<PublicationNews> PublicationNode::exchange(ReplicatedLog& engine, std::uint64_t unix_ms) {
  // A publisher whose log takes no rounds yet would propose the same one again and again.
  const bool publishes = engine.abilities().publishes;
  if (publishes != std::exchange(publishes_, publishes)) {
    gathered_.publisher = leads_ && publishes;
  }
  if (!gathered_.empty()) {
    dropped_.add(desk_.put(std::exchange(gathered_, PublicationInput{})));
  }
  PublicationOutput output = desk_.take();
  if (!output.failure.ok()) {
    return output.failure;
  }
  const bool says = !output.messages.empty() || !output.proposals.empty();
  if (says && publishes) {
    for (const PublicationOutput::Message& message : output.messages) {
      engine.send_peer_message(message.to, message.bytes);
    }
    for (const std::vector<std::byte>& proposal : output.proposals) {
      engine.propose(kPublicationShard, publication_record(proposal, unix_ms), kPublicationCookie);
    }
  } else if (!output.proposals.empty()) {
    on_publication_lost();  // Not before all nodes can read it. Messages are sent again, too.
  }
  return PublicationNews{
      std::move(output.alarms), std::move(output.quarantine), std::move(output.refusal)};
}

Status PublicationNode::settle() {
  return settling_.wait([this](std::uint64_t number) {
    PublicationInput input;
    input.settle = number;
    desk_.put(std::move(input));
  });
}

void PublicationNode::answer_settle(std::uint64_t number) {
  if (number != 0) {
    settling_.answer(number, log_->sync());
  }
}

std::future<Result<ledger::PruneReport>> PublicationNode::prune(const ledger::PruneOrder& order,
                                                                std::function<void()> ended) {
  Pruning pruning{order, std::move(ended), {}};
  auto report = pruning.done.get_future();
  {
    const std::lock_guard lock(pruning_mutex_);
    prunings_.push_back(std::move(pruning));
  }
  PublicationInput input;
  input.prune = true;
  desk_.put(std::move(input));
  return report;
}

void PublicationNode::answer_pruning() {
  std::vector<Pruning> asked;
  {
    const std::lock_guard lock(pruning_mutex_);
    asked.swap(prunings_);
  }
  for (Pruning& each : asked) {
    const auto gone = publication_->prune(each.order.keep, each.order.below);
    if (!gone.ok()) {
      on_failure(gone.status());
      each.done.set_value(gone.status());
    } else {
      each.done.set_value(ledger::PruneReport{
          .shards = 1, .entries = gone.value(), .kept = log_->size() - log_->first()});
    }
    each.ended();
  }
}

PublicationView PublicationNode::view() const {
  const std::lock_guard lock(view_mutex_);
  return view_;
}

void PublicationNode::on_applied(ShardId shard, std::uint64_t size) {
  // Entries of one shard come in a row.
  if (!gathered_.applied.empty() && gathered_.applied.back().first == shard) {
    gathered_.applied.back().second = size;
  } else {
    gathered_.applied.emplace_back(shard, size);
  }
}

void PublicationNode::on_publication_round(const RoundEntry& round) {
  // At once: a checkpoint that holds it may be written before the loop comes round.
  PublicationInput input;
  input.rounds.push_back(round);
  desk_.put(std::move(input));
}

void PublicationNode::on_publication_state(const PublicationState& state) {
  gathered_.state = state;
}

void PublicationNode::on_publisher(bool publisher) {
  leads_ = publisher;
  gathered_.publisher = leads_ && publishes_;
}

void PublicationNode::on_publication_lost() {
  gathered_.lost = true;
}

void PublicationNode::on_publication_message(NodeId from, std::span<const std::byte> message) {
  gathered_.messages.push_back({from, {message.begin(), message.end()}});
}

void PublicationNode::send(NodeId to, std::vector<std::byte> message) {
  output_.messages.push_back({to, std::move(message)});
}

void PublicationNode::propose(std::vector<std::byte> entry) {
  output_.proposals.push_back(std::move(entry));
}

std::shared_ptr<const ledger::TreeReader> PublicationNode::tree(ShardId shard) {
  return options_.trees.tree_of(shard);
}

Result<std::vector<ledger::ShardHead>> PublicationNode::heads(std::span<const ShardId> shards) {
  return options_.trees.heads_of(shards);
}

Result<std::vector<ledger::ShardHead>> PublicationNode::heads_at(
    std::span<const ledger::ShardHead> named) {
  return options_.trees.heads_at(named);
}

const ledger::TreeReader& PublicationNode::cluster_log() const {
  return *log_;
}

Status PublicationNode::append_leaves(std::span<const ledger::ShardHead> leaves) {
  GCOORD_TRY_STATUS(await_space(options_.room));
  return log_->append(leaves);
}

Result<std::uint64_t> PublicationNode::prune_leaves(std::uint64_t wanted) {
  return ledger::prune_bound(*log_, *signer_, wanted);
}

ledger::ClusterHorizon PublicationNode::horizon() const {
  return log_->horizon();
}

Status PublicationNode::begin_log_at(const ledger::ClusterHorizon& horizon) {
  if (horizon.first % log_->segment_leaves() != 0) {
    return Status{};  // Of a release that cuts its files elsewhere: asked for again, from another.
  }
  GCOORD_TRY_STATUS(await_space(options_.room));
  return log_->begin_at(horizon);
}

Result<LedgerSignature> PublicationNode::sign(std::uint64_t size, const ledger::MerkleHash& root) {
  GCOORD_TRY_STATUS(await_space(options_.room));
  GCOORD_TRY_STATUS(log_->sync());
  GCOORD_TRY_STATUS(signer_->advance({size, root}, *log_));
  return notary_->sign(size, root);
}

bool PublicationNode::genuine(NodeId node, const SignatureMessage& message) {
  const auto key = state_.keys().find(node);
  return key != state_.keys().end() && notary_->genuine(node, key->second, message);
}

void PublicationNode::on_published(const PublishedLog& log) {
  if (const Status status = notary_->publish(log); !status.ok()) {
    on_failure(status);
  }
}

void PublicationNode::on_refusal(const Status& why) {
  output_.refusal = why;
}

void PublicationNode::on_alarm(const HistoryAlarm& alarm) {
  output_.alarms.push_back(alarm);
}

void PublicationNode::quarantine(std::span<const HistoryAlarm> shards) {
  output_.quarantine.assign(shards.begin(), shards.end());
}

void PublicationNode::on_failure(const Status& why) {
  output_.failure = why;
}

}  // namespace gcoord::server
