#include "server/resident/engine/resident_replicas.h"

#include "server/interfaces/errors.h"
#include "server/platform/device_choice.h"
#include "server/platform/service_message.h"
#include "server/replicas/node_view.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// After the last work the loop looks again and again for so long before it sleeps: longer than a
// command takes from node to node, shorter than anybody would notice on a core.
constexpr std::uint64_t kEagerUs = 300;
// How long it may sleep then: what a device does wakes nobody.
constexpr std::chrono::milliseconds kNapMs{1};
// The same of an emulation whose peers all have bells, at most: clocks and what a full ring put
// off.
constexpr std::uint32_t kBellNapMs = 5;

// Between two looks at the sockets of peers, while they carry no shard's messages: a look costs
// some calls of the system, and a client may be waiting for the device.
constexpr std::uint64_t kNetworkUs = 200;

// A directory that was called an old copy does not vote for so long, even if that is taken back
// sooner: the turn rests for every change.
constexpr std::uint64_t kDoubtUs = 1'000'000;

// A kernel leaves within microseconds, unless its device is shared in slices of time.
constexpr std::uint32_t kRestMs = 2000;

Status refusal(StatusCode code, std::uint32_t detail) {
  return {code, "refused", detail};
}

// A leader refuses where too many requests are under way.
RefusedRequest refused_read(const ResidentLeaders& leaders, ShardId shard, std::uint64_t cookie) {
  const Status why = leaders.leads(shard) ? refusal(StatusCode::ResourceExhausted, kOverloaded)
                                          : refusal(StatusCode::FailedPrecondition, kNotLeader);
  return {cookie, true, why, leaders.known(shard).leader};
}

}  // namespace

ResidentReplicas::ResidentReplicas(ResidentReplicasOptions options,
                                   StateMachine& service,
                                   MetricsRegistry& metrics)
    : options_(std::move(options)), service_(service), metrics_(metrics) {}

// A kernel that does not leave keeps the memory that it works in: the driver would wait for it.
ResidentReplicas::~ResidentReplicas() {
  constexpr std::uint32_t kPatienceMs = 2000;
  if (events_ != nullptr) {
    events_->stop_following();
  }
  links_.reset();
  if (device_.turn != nullptr && !device_.turn->stop(kPatienceMs).ok()) {
    static_cast<void>(device_.turn.release());
    static_cast<void>(device_.node.release());
  }
}

void ResidentReplicas::fail(const Status& status) {
  failure_.set(explain_device(status));
}

// --- Requests

void ResidentReplicas::propose(ShardId shard,
                               const ProposedCommand& proposed,
                               std::uint64_t cookie) {
  const ResidentLeaders& leaders = rows_->leaders();
  if (!leaders.leads(shard)) {
    refused_.add({cookie,
                  false,
                  refusal(StatusCode::FailedPrecondition, kNotLeader),
                  leaders.known(shard).leader});
    return;
  }
  if (!requests_->take(shard, proposed, cookie)) {
    refused_.add({cookie,
                  false,
                  refusal(StatusCode::ResourceExhausted, kOverloaded),
                  leaders.known(shard).leader});
  }
}

void ResidentReplicas::read(ShardId shard, std::uint64_t cookie) {
  const ResidentLeaders& leaders = rows_->leaders();
  if (!leaders.leads(shard) ||
      !requests_->read(shard, cookie, consensus::ReadProof::LeaseOrRound)) {
    refused_.add(refused_read(leaders, shard, cookie));
  }
}

void ResidentReplicas::read_by_round(ShardId shard, std::uint64_t cookie) {
  const ResidentLeaders& leaders = rows_->leaders();
  if (!leaders.leads(shard) || !requests_->read(shard, cookie, consensus::ReadProof::Round)) {
    refused_.add(refused_read(leaders, shard, cookie));
  }
}

// --- The turn

std::size_t ResidentReplicas::turn() {
  if (!failure_.ok()) {
    return 0;
  }
  note_gap();
  const std::uint64_t now_us = options_.engine.clock_us();
  due_.turned_us = now_us;
  if (const Status followed = events_->failure(); !followed.ok()) {
    fail(followed);  // Before anybody else is answered by these tables.
    return 0;
  }
  if (!links_->runs() || links_->proxies().live() || now_us >= due_.network_us) {
    due_.network_us = now_us + kNetworkUs;
    network_->progress(now_us / 1000, *this);
    if (!failure_.ok()) {
      return 0;  // The directory may be another life's already.
    }
    heartbeats_->send(*network_, Tick{now_us / 1000}, durable_word());
    network_->flush();
  }
  std::size_t done = refused_.answer(service_);
  links_->bells().take();
  const bool doubted = members_->claim().doubted();
  if (doubted != device_.node->votes_held() && (doubted || now_us >= due_.trust_us)) {
    due_.trust_us = now_us + kDoubtUs;
    fail(while_quiesced([&] { return device_.node->hold_votes(doubted); }));
  }
  if (!failure_.ok()) {
    return 0;
  }
  const auto worked = links_->runs() ? run(now_us) : meet(now_us / 1000);
  if (!worked.ok()) {
    fail(worked.status());
    return 0;
  }
  done += worked.value() + links_->proxies().pump(now_us / 1000);
  due_.sleep_us = done != 0 ? now_us + kEagerUs : due_.sleep_us;
  return done;
}

// --- Before it runs

Result<std::size_t> ResidentReplicas::meet(std::uint64_t now_ms) {
  if (links_->phase() == ResidentPhase::Prepares) {
    GCOORD_TRY_STATUS(device_.turn->prepare());
    links_->enter(ResidentPhase::Meets);
    return std::size_t{1};
  }
  GCOORD_TRY(const std::size_t joined, links_->join());
  links_->say_ready_when_due(now_ms);
  const bool established = admission_->established() && !members_->claim().doubted();
  if (established && due_.established_ms == 0) {
    due_.established_ms = now_ms;
  }
  if (!may_begin({.promised = has_promised_,
                  .established = established,
                  .all_ready = links_->all_ready() && device_.node->connected(),
                  .waited_ms = established ? now_ms - due_.established_ms : 0})) {
    return joined;
  }
  GCOORD_TRY_STATUS(stand_in_for(*device_.node, options_.engine.peers));
  // From here on the rows promise: the directory says so first.
  GCOORD_TRY_STATUS(identity_->mark_in_use());
  network_->tell_durable(durable_word());
  events_->begin_following();
  GCOORD_TRY_STATUS(device_.turn->start());
  links_->enter(ResidentPhase::Runs);
  return joined + 1;
}

// The turn goes on with the channels and the room that the node has then.
Status ResidentReplicas::while_quiesced(const std::function<Status()>& work) {
  const bool runs = links_->runs();
  if (runs) {
    GCOORD_TRY_STATUS(device_.turn->stop(kRestMs));
  }
  GCOORD_TRY_STATUS(work());
  if (!runs) {
    return {};
  }
  GCOORD_TRY_STATUS(device_.node->go_on());
  GCOORD_TRY_STATUS(device_.turn->start());
  events_->probe().rested(now_ms());
  return {};
}

// --- While it runs

// As HostReplicas's: a loop that stood still for a quarter of the election timeout has not heard
// what clients said meanwhile.
void ResidentReplicas::note_gap() {
  const ReplicaOptions& options = options_.engine;
  const std::uint64_t now_us = options.clock_us();
  const std::uint64_t tick_us = std::uint64_t{options.tick_ms} * 1000;
  const std::uint64_t since_us = std::max(due_.turned_us, due_.gap_told_us);
  const std::uint64_t gap_ticks =
      since_us == 0 ? 0 : (now_us - std::min(now_us, since_us)) / tick_us;
  if (failure_.ok() && gap_ticks > options.timing.election_ticks / 4) {
    due_.gap_told_us = now_us;
    service_.on_loop_gap(gap_ticks);
  }
}

Result<std::size_t> ResidentReplicas::run(std::uint64_t now_us) {
  // A log that shows stamps was written while all nodes could read them.
  if (!requests_->stamps() && (rows_->counts().stamped != 0 ||
                               (options_.nodes_keep_ledgers && options_.nodes_keep_ledgers()))) {
    requests_->begin_stamping();
  }
  states_->refresh(now_us / 1000);
  links_->say_ready_when_due(now_us / 1000);
  GCOORD_TRY(std::size_t done, links_->join());
  GCOORD_TRY_STATUS(tell_alive(now_us / 1000));
  if (is_durable()) {
    GCOORD_TRY(const std::size_t acks, storage_->take_acks(events_->sightings()));
    done += acks;
  }
  events_->set_time();
  done += requests_->push(events_->leases().may_lease(now_ms() * 1000)
                              ? consensus::ReadProof::LeaseOrRound
                              : consensus::ReadProof::Round);
  // Anew, since a pass may stand still before this: a lease must not be judged by an older time
  // than that of the newest read.
  GCOORD_TRY(const bool turned, device_.turn->turn(options_.engine.clock_us() * 1000));
  links_->ring(device_.turn->take_written());
  GCOORD_TRY_STATUS(due_.pools.tend(
      now_us / 1000,
      {*device_.node, *device_.turn, metrics_, [this](const std::function<Status()>& work) {
         return while_quiesced(work);
       }}));
  if (is_durable()) {
    storage_->set_time(Tick{now_ms() / options_.engine.tick_ms});
  }
  GCOORD_TRY(const std::size_t told, events_->drain());
  GCOORD_TRY_STATUS(members_->claim().rejoin_when_due(rows_->leaders().forgotten_count()));
  if (!device_.turn->needs_calls()) {
    GCOORD_TRY_STATUS(
        events_->probe().refresh(now_ms()));  // Who spoke while this host slept, lives.
  }
  if (is_durable()) {
    GCOORD_TRY(const std::size_t stored, store(now_us / 1000));
    done += stored;
  }
  metrics_.show(*rows_, *requests_);
  metrics_.show_copy(events_->copy_counts());
  metrics_.show_leases(events_->leases());
  links_->proxies().tell_metrics();
  metrics_.show_channels(*device_.node, now_ms());
  return done + told + (turned ? 1 : 0);
}

bool ResidentReplicas::disk_stands_still(std::uint64_t now_ms) const {
  const ReplicaOptions& options = options_.engine;
  const Tick now{now_ms / options.tick_ms};
  return is_durable() && storage_->waits_since(now) >= options.timing.election_ticks / 2;
}

// While the disk stands still, the device is not told: silence lets others lead (fault 8 of
// docs/internals/faults.md).
Status ResidentReplicas::tell_alive(std::uint64_t now_ms) {
  const ReplicaOptions& options = options_.engine;
  if (disk_stands_still(now_ms) || now_ms < due_.alive_ms) {
    return {};
  }
  due_.alive_ms = now_ms + host_patience_ms(options) / 8;
  return device_.node->tell_alive();
}

// One record for all that was told in this pass. A checkpoint store that fails is as bad as a log
// that fails, but for a full disk, which the log of record meets as well.
Result<std::size_t> ResidentReplicas::store(std::uint64_t now_ms) {
  storage_->submit();
  network_->tell_durable(storage_->durable_lsn());
  std::size_t done = 0;
  const auto advance = [&] {
    done = storage_->checkpoint(now_ms);
    return Status{};
  };
  GCOORD_TRY_STATUS(storage_->reads_states() ? events_->while_settled(advance) : advance());
  if (const auto end = storage_->take_checkpoint_end()) {
    if (!end->ok() && end->code() != StatusCode::ResourceExhausted) {
      return *end;
    }
    GCOORD_TRY_STATUS(admission_->remember());
  }
  return done;
}

bool ResidentReplicas::arm() {
  // Nothing wakes a loop when a device answers it, nor when a thread that follows a lane has done
  // its part; else an emulation is woken by what it waits for.
  const bool under_way = requests_->under_way() != 0;
  const bool awaits = device_.turn->needs_calls()
                          ? under_way && events_->followers() != nullptr
                          : under_way || options_.engine.clock_us() < due_.sleep_us;
  const bool eager = links_->runs() && (awaits || !refused_.empty());
  const bool stored = is_durable() && storage_->rearm();
  return failure_.ok() && !eager && !stored && network_->arm();
}

std::vector<int> ResidentReplicas::event_fds() const {
  std::vector<int> fds = is_durable() ? storage_->event_fds() : std::vector<int>{};
  if (network_->event_fd() >= 0) {
    fds.push_back(network_->event_fd());
  }
  if (const int fd = links_->bells().event_fd(); fd >= 0) {
    fds.push_back(fd);
  }
  return fds;
}

std::chrono::milliseconds ResidentReplicas::until_next_deadline() const {
  const bool wakes_all = links_->runs() && links_->all_have_bells();
  const std::uint32_t half_tick_ms = options_.engine.tick_ms / 2;
  return wakes_all ? std::chrono::milliseconds{std::clamp(half_tick_ms, 1u, kBellNapMs)} : kNapMs;
}

// --- Peers

bool ResidentReplicas::send_peer_message(NodeId to, std::span<const std::byte> message) {
  return send_service_message(*network_, to, message);
}

void ResidentReplicas::on_frame(NodeId from,
                                netcore::Band band,
                                std::span<const netcore::Slot> slots,
                                const netcore::PayloadView& payloads) {
  if (is_of_device(band)) {
    links_->proxies().deliver(from, band, slots, payloads, now_ms());
    return;
  }
  auto payload = payloads.begin();
  for (std::uint32_t k = 0; band == netcore::Band::Rpc && k < payloads.size(); ++k, ++payload) {
    const std::span<const std::byte> message = (*payload).bytes;
    if (is_resident_ready(message)) {
      links_->on_ready_bytes(from, message);
    } else if (is_link_hello(message)) {
      links_->on_hello_bytes(from, message);
    } else if (is_socket_folder(message)) {
      links_->on_folder_bytes(from, message);
    } else if (!ResidentStates::is_message(message)) {
      service_.on_peer_message(from, message);
    } else {
      fail(events_->while_settled([&] { return states_->on_message(from, message); }));
    }
  }
}

void ResidentReplicas::on_heartbeat(NodeId from, const netcore::Heartbeat& heartbeat) {
  admission_->on_durable(from, heartbeat.incarnation, heartbeat.durable);
  members_->claim().on_admitted(from);
  if (!is_durable()) {
    // A word that changes once; in durable mode it is kept with every checkpoint.
    if (const Status kept = admission_->remember(); !kept.ok()) {
      fail(kept);
    }
  }
  links_->on_heartbeat(from);
}

void ResidentReplicas::on_peer_up(NodeId from, Incarnation incarnation, std::uint32_t) {
  links_->on_peer_up(from, incarnation);
}

void ResidentReplicas::on_peer_down(NodeId from, std::string_view) {
  links_->on_peer_down(from);
}

void ResidentReplicas::on_refused(NodeId peer, const netcore::Refusal& refusal) {
  if (!failure_.ok()) {
    return;
  }
  if (const Status status = members_->claim().on_refused(peer, refusal, now_ms()); !status.ok()) {
    fail(status);
  }
}

// --- Members

void ResidentReplicas::set_members(const ClusterMembers& members) {
  const Status followed =
      members_->follow(members,
                       {.network = *network_,
                        .now_ms = [this] { return now_ms(); },
                        .life_of = [this](NodeId peer) { return links_->life_of(peer); },
                        .cut = [this](NodeId peer) { return links_->cut(peer); }});
  if (!followed.ok()) {
    fail(followed);
  }
}

MembersProgress ResidentReplicas::members_progress() const {
  const auto is_live = [this](NodeId node) {
    return node == options_.engine.node || links_->heard(node).live;
  };
  return members_->progress({.shard_count = options_.engine.shard_count,
                             .led = rows_->leaders().leader_count(),
                             .now_ms = now_ms(),
                             .view = [this](ShardId shard) { return rows_->view(shard); },
                             .is_live = is_live});
}

void ResidentReplicas::transfer(ShardId shard, NodeId to) {
  if (members_->keeps_leaderships(to)) {
    requests_->transfer(shard, to);
  }
}

// --- Views

NodeView ResidentReplicas::view() const {
  NodeView node =
      make_node_view(options_.engine, *identity_, Tick{now_ms() / options_.engine.tick_ms});
  node.leader_count = rows_->leaders().leader_count();
  node.checkpoint_count = is_durable() ? storage_->checkpoint_count() : 0;
  node.readmits = !is_durable() || members_->claim().any_replaced(identity_->peers());
  add_counts(node, rows_->leaders());
  node.voting_count = links_->runs() ? node.voting_count : 0;
  node.turn = NodeTurn::Resident;
  const std::uint64_t bytes = device_.node->device_bytes();
  const ResidentDeviceFacts& facts = device_.facts;
  node.stepper = {"cpu", "", 0, 0};
  if (facts.on_gpu()) {
    node.stepper = {
        "cuda:" + std::to_string(facts.index), facts.product, bytes, device_.calls->launches()};
  }
  node.stepper_why = facts.why;
  metrics_.show_memory(facts.on_gpu() ? bytes : 0);
  std::vector<netcore::PeerStatus> links = network_->status();
  for (netcore::PeerStatus& link : links) {
    const LinkKeeper::Heard heard = links_->heard(link.id);
    node.peers.push_back({std::move(link), heard.live, heard.last});
  }
  return node;
}

}  // namespace gcoord::server
