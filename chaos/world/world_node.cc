#include "chaos/world/world_node.h"

#include "common/assert.h"
#include "sessions/sweep_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

constexpr std::uint64_t kNoWake = ~std::uint64_t{0};
// Of an idle log, as in ledger/wal/writer.h.
constexpr std::uint64_t kSealDelayUs = 100'000;
// Passes without a pause in between: a node that is busy for longer hears its peers first.
constexpr int kPassesMax = 4;

// Whatever their size, and every time the host looks, too.
Status start_sweeps(server::DeviceChoice device, server::LockService& service) {
  auto opened = server::open_sweep_device(device);
  if (opened.ok() && opened.value() != nullptr) {
    opened = sessions::guard_sweep_device(std::move(opened).value(), {});
  }
  return service.sweeps().start(std::move(opened),
                                {.rows_min = 0, .edges_min = 0, .check_one_in = 1, .clock_us = {}});
}

// Whether a majority of the other voters that the node knows is there to say that it has left: it
// ends by no fewer words. Who was away for long knows voters that have left before it. Empty: not.
std::string who_says_that_it_left(NodeId self,
                                  const protocol::ClusterView& known,
                                  const protocol::ClusterView& newest) {
  std::vector<NodeId> others = server::voters_of(known);
  std::erase(others, self);
  std::string names;
  std::size_t there = 0;
  for (const NodeId node : others) {
    const protocol::Member* const member = protocol::find_member(newest, node);
    if (member != nullptr && member->state != protocol::MemberState::Removed) {
      names += " " + std::to_string(node.value);
      ++there;
    }
  }
  return there > others.size() / 2
             ? fmt::format("{} of {} voters of view {}", names, others.size(), known.epoch)
             : std::string{};
}

}  // namespace

WorldNode::WorldNode(const WorldOptions& options, NodeId id, WorldNodeEnvironment doors)
    : options_(options), id_(id), environment_(std::move(doors)) {}

WorldNode::~WorldNode() {
  stop();
}

void WorldNode::inject_device(DeviceFaultPlan plan) {
  if (running() && device_ != nullptr) {
    device_->inject(plan);
  }
}

std::uint64_t WorldNode::steps_checked() const {
  return steps_checked_ + (running() ? life_->engine->view().stepper.steps_checked : 0);
}

void WorldNode::start_views(Life& life) {
  if (life.views == nullptr) {
    life.router.emplace(server::RequestOwners{.service = life.service});
    return;
  }
  life.views->start({.log = *life.mutant_port,
                     .service = life.service,
                     .replies = *this,
                     .metrics = life.metrics,
                     .wall_ms = [this] { return clock_.at(now_us_) / 1000; },
                     .keep = [this](const auto& members) { disk_->members = members; }},
                    disk_->kept_members());
  life.router.emplace(
      server::RequestOwners{.service = life.service, .members = &life.views->members()});
}

std::string WorldNode::why_differs(const protocol::Member& wanted,
                                   const protocol::ClusterView& view,
                                   std::size_t nodes) {
  const std::string name = "node " + std::to_string(id_.value);
  if (wanted.state == protocol::MemberState::Removed || !running()) {
    const std::string by =
        running() ? who_says_that_it_left(id_, disk_->kept_members().view, view) : "";
    return by.empty() ? by : name + " goes on although it has left; that could say" + by;
  }
  const std::uint64_t epoch = life_->views == nullptr ? 0 : life_->views->epoch();
  if (epoch != view.epoch) {
    return fmt::format("{} has view {} of {}", name, epoch, view.epoch);
  }
  const bool observes = wanted.role == protocol::MemberRole::Observer;
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    const auto members = engine().view(ShardId{shard}).configuration;
    const std::uint8_t slot = consensus::slot_of(members, id_);
    const bool right = slot != consensus::kSlotNone && !members.joint() &&
                       consensus::has_slot(observes ? members.learners : members.voters, slot) &&
                       consensus::count_slots(members.members()) == nodes;
    if (!right) {
      return fmt::format("shard {} has {} otherwise than view {}", shard, name, view.epoch);
    }
  }
  // Where all drain, somebody has to lead.
  const bool drains = wanted.state == protocol::MemberState::Draining;
  const bool others = std::ranges::any_of(view.nodes, [](const protocol::Member& each) {
    return each.state == protocol::MemberState::Active && each.role == protocol::MemberRole::Voter;
  });
  return drains && others && engine().view().leader_count != 0
             ? name + " leads although it is to lead nothing"
             : std::string{};
}

Status WorldNode::start(std::uint64_t now_us) {
  GCOORD_ASSERT(!running());
  now_us_ = now_us;
  ++life_count_;
  if (server::has_left(disk_->kept_members().view, id_)) {
    return {
        StatusCode::FailedPrecondition, "its directory says that it left", server::kNodeRemoved};
  }
  disk_due_us_ = 0;
  wake_us_ = 0;
  lane_ = 0;
  protocol::ReplySink& replies = *this;
  auto life = std::make_unique<Life>(service_options(), replies);
  life->service.set_time(clock_.at(now_us_));
  server::ReplicaOptions engine = engine_options();
  server::StateMachine& service = open_services(*life, engine);
  GCOORD_TRY(life->engine, server::HostReplicas::open(std::move(engine), service, life->metrics));
  life->history->recovered();
  life->mutant_port = std::make_unique<MutantLog>(options_.mutant, *life->engine);
  life->service.start(*life->mutant_port, life->engine->incarnation(), *this);
  GCOORD_TRY_STATUS(start_sweeps(options_.device, life->service));
  start_views(*life);
  life_ = std::move(life);
  return Status{};
}

void WorldNode::stop() {
  if (life_ == nullptr) {
    return;
  }
  steps_checked_ = steps_checked();
  device_ = nullptr;
  disk_->crash();
  const std::unique_ptr<Life> ended = std::move(life_);
  life_ = nullptr;
  ended->engine.reset();
  requests_.clear();
  environment_.network.forget(id_);
}

std::optional<LogIndex> WorldNode::lease_of(ShardId shard, std::uint64_t now_us) {
  now_us_ = now_us;  // The engine looks at the clock again.
  const server::ShardView view = life_->engine->view(shard);
  return view.lease ? std::optional{view.commit} : std::nullopt;
}

std::vector<std::string> WorldNode::recovered() const {
  const server::NodeView node = life_->engine->view();
  std::vector<std::string> facts = {fmt::format("directory {:x}, incarnation {}, log to {}{}",
                                                node.directory_id,
                                                node.incarnation.value,
                                                node.durable_lsn.value,
                                                node.vote_after == kTickNever ? ", waits" : "")};
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    const server::ShardView view = life_->engine->view(ShardId{shard});
    const consensus::Configuration& members = view.configuration;
    std::string fact = fmt::format(
        "shard {}: term {}, vote {}, last {}, commit {}, applied {}, floor {}, state {:x}, voters "
        "{} "
        "{} {}, nodes",
        shard,
        view.term.value,
        view.vote.value,
        view.last.value,
        view.commit.value,
        view.applied.value,
        view.floor.value,
        life_->service.state_hash(ShardId{shard}),
        members.voters,
        members.voters_outgoing,
        members.learners);
    for (const NodeId member : members.node) {
      fact += fmt::format(" {}", member.value);
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::optional<Status> WorldNode::take_failure() {
  return std::exchange(failure_, std::nullopt);
}

std::unique_ptr<WorldDisk> WorldNode::swap_disk(std::unique_ptr<WorldDisk> disk) {
  GCOORD_ASSERT(!running());
  return std::exchange(disk_, std::move(disk));
}

void WorldNode::set_paused(bool paused) {
  paused_ = paused;
  wake_us_ = 0;
}

void WorldNode::take_request(protocol::ConnectionId connection,
                             const protocol::RequestSlot& request,
                             std::span<const std::byte> payload) {
  if (running()) {
    requests_.push_back({connection, request, {payload.begin(), payload.end()}});
  }
}

void WorldNode::reply(protocol::ConnectionId connection,
                      const protocol::ReplySlot& slot,
                      std::span<const std::byte> payload) {
  if (life_ != nullptr) {
    environment_.reply(id_, connection, slot, payload);
  }
}

bool WorldNode::due(std::uint64_t now_us) const {
  return now_us >= wake_us_ || !requests_.empty() ||
         (disk_due_us_ != 0 && now_us >= disk_due_us_) ||
         environment_.network.next_due(id_) <= environment_.network.now();
}

// The disk's answer to what was asked of it before, and when it will answer what is asked now.
void WorldNode::advance_disk() {
  server::HostReplicas& engine = *life_->engine;
  if (disk_due_us_ != 0 && now_us_ >= disk_due_us_) {
    disk_due_us_ = engine.advance_storage() ? now_us_ + kSealDelayUs : 0;
  }
  if (engine.storage_queued()) {
    const std::uint64_t done_us = now_us_ + disk_delay_us_ + 1;
    disk_due_us_ = disk_due_us_ == 0 ? done_us : std::min(disk_due_us_, done_us);
  }
}

void WorldNode::serve_requests() {
  for (const Request& request : std::exchange(requests_, {})) {
    const bool at_once =
        options_.mutant == Mutant::ReleaseAcknowledgedAtOnce &&
        request.slot.kind == protocol::RequestKind::LockRelease &&
        life_->engine->view(ShardId{request.slot.shard}).role == consensus::Role::Leader;
    if (at_once) {
      reply(request.connection, protocol::reply_to(request.slot), {});
    }
    life_->router->on_request({request.connection, request.slot, request.payload});
  }
  life_->mutant_port->answer(life_->service);
}

void WorldNode::pass(std::uint64_t now_us) {
  if (!running() || paused_ || !due(now_us)) {
    return;
  }
  now_us_ = now_us;
  std::size_t done = 0;
  for (int k = 0; k < kPassesMax && (k == 0 || done > 0); ++k) {
    const std::uint64_t fast = options_.mutant == Mutant::SessionsExpireEarly ? 2 : 1;
    life_->service.set_time(clock_.at(now_us_) * fast);
    serve_requests();
    life_->service.on_tick();
    if (const Status failure = turn(done); !failure.ok()) {
      environment_.on_failing(id_);
      stop();
      failure_ = failure;
      return;
    }
    advance_disk();
  }
  plan_wake(done);
}

// As a node's loop does after its clients' requests.
Status WorldNode::turn(std::size_t& done) {
  GCOORD_TRY_STATUS(life_->service.sweeps().failure());
  done = life_->engine->turn();
  const Status kept = life_->history->end_turn(true);
  GCOORD_TRY_STATUS(life_->engine->failure());
  if (life_->views != nullptr) {
    GCOORD_TRY_STATUS(life_->views->advance(clock_.at(now_us_) / 1000));
  }
  return kept;
}

void WorldNode::plan_wake(std::size_t done) {
  if (done > 0 || !life_->engine->arm()) {
    wake_us_ = 0;
    return;
  }
  const auto engine_ms = static_cast<std::uint64_t>(life_->engine->until_next_deadline().count());
  std::uint64_t wait_ms = std::min(engine_ms, life_->service.until_next_deadline_ms());
  if (life_->views != nullptr) {
    wait_ms = std::min(wait_ms, life_->views->until_next_deadline_ms());
  }
  const std::uint64_t shows_us = clock_.at(now_us_);
  wake_us_ = wait_ms >= kNoWake / 2000 ? kNoWake : clock_.world_at(shows_us + wait_ms * 1000);
}

}  // namespace gcoord::chaos
