#include "server/resident/engine/rows.h"

#include "common/device/device_errors.h"
#include "server/interfaces/errors.h"
#include "server/resident/node/lock_turn_service.h"
#include "server/resident/stored/state.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

void mark_once(bool& mark, std::uint64_t& count) {
  count += mark ? 0 : 1;
  mark = true;
}

// Whether a term that was led here is over.
bool ends(const LeaderWord& before, const LeaderWord& now) {
  return before.leads() && (!now.leads() || before.term != now.term);
}

}  // namespace

ResidentRows::ResidentRows(const ResidentNode& node,
                           StateMachine& service,
                           ResidentRequests& requests)
    : service_(service),
      requests_(requests),
      names_(node.options().names),
      leaders_(node.options().self, node.options().shape, node.view().leaders, names_),
      ending_(requests.lane_count()),
      use_(requests.lane_count(), service),
      roles_(node.options().self),
      entry_builder_(names_),
      rows_(node.options().shape.shard_count),
      log_slots_(node.options().shape.log_slots) {}

// --- Who leads

const std::vector<ResidentLeaders::Change>& ResidentRows::look() {
  std::fill(ending_.begin(), ending_.end(), false);
  changes_ = &leaders_.look();
  for (const ResidentLeaders::Change& change : *changes_) {
    if (ends(leaders_.known(change.shard), change.word)) {
      const std::uint32_t lane = requests_.lane_of(change.shard);
      ending_[lane] = ending_[lane] || requests_.awaits(lane);
    }
  }
  return *changes_;
}

bool ResidentRows::follow() {
  const auto* const changes = std::exchange(changes_, nullptr);
  if (changes == nullptr || changes->empty()) {
    return false;
  }
  for (const ResidentLeaders::Change& change : *changes) {
    follow(change);
  }
  roles_.tell();
  return true;
}

// Nobody is told of what changed between two terms that others lead: there may be a third of a
// million such shards at once, and whoever wants to know asks (view).
void ResidentRows::follow(const ResidentLeaders::Change& change) {
  const LeaderWord before = leaders_.known(change.shard);
  const LeaderWord& now = change.word;
  const bool ended = ends(before, now);
  leaders_.set(change);
  roles_.note({.shard = change.shard,
               .before = {before.role, before.term, before.leader},
               .now = {now.role, now.term, now.leader}});
  if (ended) {
    end_all(change.shard);
  }
  if (ended && now.leads()) {
    // Lost and won between two looks: what waited for the old term must be asked for again.
    service_.on_role(change.shard, consensus::Role::Follower, now.term, NodeId{});
  }
  if (ended || now.leads() != before.leads()) {
    service_.on_role(change.shard, now.role, now.term, now.leader);
  }
}

// --- What the ring brings

Status ResidentRows::take(std::uint32_t lane, const CopyEvent& event) {
  const TurnReply& reply = event.told.reply;
  switch (reply.verdict) {
    case TurnVerdict::Installed:
      if (!rows_[reply.shard.value].absent) {
        commands_.put(reply.shard, event.pieces);  // From here on it is followed here.
      }
      break;
    case TurnVerdict::Committed:
    case TurnVerdict::Told:
      note_room(lane, event.told);
      return take_entry(event.told, event.read ? &event : nullptr);
    default:
      break;
  }
  return take(lane, event.told);
}

// What the followers know of a row they have from here.
void ResidentRows::follow_by(Followers* followers) {
  followers_ = followers;
  for (std::uint32_t number = 0; followers != nullptr && number < rows_.size(); ++number) {
    const ShardId shard{number};
    Follower& follower = followers->of(requests_.lane_of(shard));
    if (rows_[number].absent) {
      follower.begin_left(shard);
    } else {
      follower.begin(shard, rows_[number].applied, commands_.pieces(shard));
      commands_.forget(shard);
    }
  }
}

CommandReassembler::Pieces ResidentRows::pieces(ShardId shard) const {
  const bool followed = followers_ != nullptr && !rows_[shard.value].absent;
  return followed ? followers_->of(requests_.lane_of(shard)).pieces(shard)
                  : commands_.pieces(shard);
}

void ResidentRows::note_room(std::uint32_t lane, const HostEventSlot& told) {
  if (done_of(told.reply.result) != LockTurnDone::Absent && !LockTurnService::is_noop(told.entry)) {
    requests_.note_room(lane, room_of(told.reply.result));
  }
}

Status ResidentRows::take(std::uint32_t lane, const HostEventSlot& told) {
  if (told.reply.shard.value >= rows_.size()) {
    // A probe's answer, which ends nothing; or the device names a row that it cannot have.
    return told.reply.verdict == TurnVerdict::Refused
               ? Status{}
               : Status{StatusCode::Internal, "the device reported an unknown row", kDeviceFailed};
  }
  switch (told.reply.verdict) {
    case TurnVerdict::Installed:
      take_snapshot(told.reply);
      return {};
    case TurnVerdict::Committed:
    case TurnVerdict::Told:
      note_room(lane, told);
      return take_entry(told, nullptr);
    case TurnVerdict::NotLeader:
    case TurnVerdict::Overloaded:
    case TurnVerdict::Refused:
    case TurnVerdict::Transferring:
      take_refusal(told.reply);
      return {};
    case TurnVerdict::ReadReady:
      return take_read(told.reply);
    case TurnVerdict::Store:  // Not of a row's state: ResidentStorage takes it.
    case TurnVerdict::Noops:  // Taken apart by ResidentNode::pull().
    case TurnVerdict::None:
      break;
  }
  return {StatusCode::Internal, "the device reported an invalid event", kDeviceFailed};
}

void ResidentRows::end(Asked asked, StatusCode code, std::uint32_t detail, NodeId leader) {
  if (asked.kind == AskedKind::Command) {
    service_.on_proposal_failed(asked.cookie, Status{code, "the proposal ended", detail}, leader);
    return;
  }
  do {
    service_.on_read(asked.cookie, Status{code, "not the leader", detail}, leader);
  } while (requests_.next_rider(asked));
}

void ResidentRows::confirm(Asked read) {
  do {
    service_.on_read(read.cookie, Status{}, NodeId{});
  } while (requests_.next_rider(read));
}

// Whoever led and does not any more, or leads anew: what was under way is the log's to know. What
// is asked anew meanwhile is not.
void ResidentRows::end_all(ShardId shard) {
  const std::uint64_t last = requests_.order_last();
  while (const auto asked = requests_.take_first(shard, last)) {
    const bool read = asked->kind == AskedKind::Read;
    end(*asked,
        read ? StatusCode::Unavailable : StatusCode::Unknown,
        kLeadershipLost,
        leader_of(shard));
  }
}

void ResidentRows::take_snapshot(const TurnReply& told) {
  Row& row = rows_[told.shard.value];
  set_absent(told.shard);
  if (!is_wanted(told.shard) && row.applied >= told.index) {
    return;  // This host is ahead of its device.
  }
  commands_.forget(told.shard);
  row.waits = true;
  Waiting& waiting = waiting_[told.shard.value];
  waiting.from = told.index;
  waiting.entries.clear();
}

void ResidentRows::take_refusal(const TurnReply& told) {
  const bool unsound = told.verdict == TurnVerdict::Refused && told.detail != 0;
  counts_.unsound[unsound ? told.detail : 0] += unsound ? 1 : 0;
  const auto asked = requests_.take(told.tag);
  if (!asked.has_value()) {
    return;  // A piece of a name, whose command is told of too; or it ended before.
  }
  if (told.verdict == TurnVerdict::Overloaded) {
    end(*asked, StatusCode::ResourceExhausted, kOverloaded, told.leader);
  } else if (unsound) {
    end(*asked, StatusCode::InvalidArgument, kDeviceRefused, told.leader);
  } else if (told.verdict == TurnVerdict::Transferring) {
    const bool read = asked->kind == AskedKind::Read;
    end(*asked, StatusCode::Unavailable, read ? kLeadershipLost : kTransferring, told.leader);
  } else {
    end(*asked, StatusCode::FailedPrecondition, kNotLeader, told.leader);
  }
}

// An earlier term's may be told late, when it is decided by the entry of a later one.
void ResidentRows::note_own_term(const TurnReply& told) {
  if (is_own_term(told.tag)) {
    rows_[told.shard.value].own_term = static_cast<std::uint32_t>(told.tag);
    rows_[told.shard.value].own_index = told.index;
  }
}

Status ResidentRows::take_entry(const HostEventSlot& told, const CopyEvent* event) {
  ++counts_.entries;
  note_own_term(told.reply);
  if (is_wanted(told.reply.shard)) {
    return keep_waiting(told);
  }
  GCOORD_TRY_STATUS(apply(told, event));
  answer_read(told.reply.shard);
  return {};
}

// --- Reads

// The copy may be behind what the answer is about: it waits for a state, or its device has decided
// more than it has told. So much more at most as a log page holds: what the device applied before
// this turn it has told, and its page begins there at the latest.
Status ResidentRows::take_read(const TurnReply& told) {
  const auto kind = requests_.kind_of(told.tag);
  if (!kind.has_value()) {
    return {};  // It ended before.
  }
  if (*kind != AskedKind::Read) {
    return {StatusCode::Internal, "the device answered a command as a read", kDeviceFailed};
  }
  const Row& row = rows_[told.shard.value];
  const LogIndex heard = row.waits ? waiting_.at(told.shard.value).from + kWaitingMax : row.applied;
  if (told.index.value > heard.value + log_slots_) {
    return {StatusCode::Internal, "the device proved a read of what is not told", kDeviceFailed};
  }
  proved_.add(told.shard, {told.tag, told.index, static_cast<ReadWay>(told.detail)});
  answer_read(told.shard);
  return {};
}

// Answers what was proved of the shard once the copy has come there.
void ResidentRows::answer_read(ShardId shard) {
  const Row& row = rows_[shard.value];
  const auto read = row.waits ? std::nullopt : proved_.take(shard, row.applied);
  const auto asked = read ? requests_.take(read->tag) : std::nullopt;
  if (asked.has_value()) {
    ++(read->way == ReadWay::Lease ? counts_.leased_reads : counts_.round_reads);
    confirm(*asked);
  }
}

Status ResidentRows::keep_waiting(const HostEventSlot& told) {
  Waiting& waiting = waiting_.at(told.reply.shard.value);
  if (waiting.entries.size() >= kWaitingMax) {
    waiting.entries.clear();
    waiting.from = told.reply.index;
    end_all(told.reply.shard);
    return {};
  }
  waiting.entries.push_back(told);
  return {};
}

// The next entry of a row that nobody follows.
ResidentRows::Said ResidentRows::read(ShardId shard,
                                      LogIndex index,
                                      const locks::LockEntry& entry) {
  EntryMeaning meaning{.kind = commands_.take(shard, index, entry), .command = commands_.command()};
  if (meaning.command == nullptr) {
    encoded_.clear();
    commands_.append_to(encoded_);
    meaning.encoded = encoded_;
  }
  return {.meaning = meaning};
}

// The service hears of an entry of the device what an engine on the host would tell it.
AppliedEntry ResidentRows::entry_of(ShardId shard,
                                    const locks::LockEntry& entry,
                                    const Said& said) {
  Row& row = rows_[shard.value];
  if (is_stamped(entry)) {
    mark_once(row.has_stamps, counts_.stamped);
  }
  if (said.meaning.kind == ReassembledKind::Record) {
    mark_once(row.has_records, counts_.recorded);
  }
  AppliedEntry applied = entry_builder_.of(entry, said.meaning, row.has_stamps);
  applied.shard = shard;
  if (said.event != nullptr && said.event->deed == CopyDeed::Applied) {
    outcome_ = {said.event->reply, said.event->events, said.event->told.reply.result.word[0]};
    applied.outcome = &outcome_;
  }
  return applied;
}

Status ResidentRows::apply(const HostEventSlot& told, const CopyEvent* event) {
  const ShardId shard = told.reply.shard;
  Row& row = rows_[shard.value];
  if (row.absent && told.reply.index <= row.applied) {
    // Decided, and part of a state that came from another host, which may be ahead of this device:
    // whoever asks again is answered from it.
    if (const auto covered = requests_.take(told.reply.tag); covered.has_value()) {
      end(*covered, StatusCode::Unknown, kLeadershipLost, leader_of(shard));
    }
    return {};
  }
  if (row.applied.value != 0 && told.reply.index != row.applied + 1) {
    return out_of_order();
  }
  row.applied = told.reply.index;
  const Said said = event == nullptr ? read(shard, told.reply.index, told.entry)
                                     : Said{{.kind = event->kind,
                                             .command = event->known ? &event->command : nullptr,
                                             .encoded = event->encoded},
                                            event};
  const auto asked = requests_.take(told.reply.tag);
  if (asked.has_value() && asked->mark != entry_mark(told.entry)) {
    return {StatusCode::Internal,
            "the device answered a request of shard " + std::to_string(shard.value) +
                " with another one's entry",
            kDeviceFailed};
  }
  AppliedEntry entry = entry_of(shard, told.entry, said);
  entry.index = told.reply.index;
  entry.term = told.reply.term;
  entry.leader = leaders_.leads(shard);
  const bool says =
      said.meaning.kind == ReassembledKind::Command || said.meaning.kind == ReassembledKind::Record;
  if (says && asked.has_value()) {
    entry.cookie = asked->cookie;
  }
  service_.apply(entry);
  if (asked.has_value() && !says) {
    // A name or a record that did not arrive whole: nothing happened, as if there had been no room.
    end(*asked, StatusCode::ResourceExhausted, kOverloaded, leader_of(shard));
  }
  if (event != nullptr && event->deed != CopyDeed::Left) {
    counts_.compared += said.meaning.kind == ReassembledKind::Command ? 1 : 0;
    return {};  // The follower did.
  }
  return compare(told, said.meaning.kind);
}

Status ResidentRows::compare(const HostEventSlot& told, ReassembledKind kind) {
  const ShardId shard = told.reply.shard;
  if (rows_[shard.value].absent) {
    note_use(shard, kind == ReassembledKind::Command ? told.entry : locks::LockEntry{});
    return {};
  }
  if (LockTurnService::is_noop(told.entry)) {
    return {};  // Which changed nothing; and with others it says no hash.
  }
  const std::uint64_t own = service_.device_hash(shard);
  counts_.compared += kind == ReassembledKind::Command ? 1 : 0;
  return own == told.reply.result.word[0] ? Status{} : state_difference(told, own);
}

void ResidentRows::note_use(ShardId shard, const locks::LockEntry& entry) {
  const std::uint32_t lane = requests_.lane_of(shard);
  if (entry.kind() != 0) {
    use_.add(lane, shard, locks::demand_of(locks::command_of(entry)));
  }
  requests_.note_elsewhere(lane, use_.of_lane(lane));
}

ShardView ResidentRows::view(ShardId shard) const {
  const Row& row = rows_[shard.value];
  const LeaderWord word = leaders_.known(shard);
  ShardView view;
  view.shard = shard;
  view.role = word.role;
  view.term = word.term;
  view.leader = word.leader;
  view.last = row.applied;
  view.commit = row.applied;
  view.applied = row.applied;
  view.durable = row.applied;
  // The word may be ahead of the ring, and so of the copy.
  view.lease = word.leads() && row.own_term == low_term(word.term) && row.applied >= row.own_index;
  for (std::uint32_t slot = 0; slot < names_.count(); ++slot) {
    view.configuration.node[slot] = names_.id(NodeId{slot + 1});
    view.configuration.weight[slot] = 1;
  }
  view.configuration.voters = word.voters();
  view.configuration.voters_outgoing = word.voters_outgoing();
  view.configuration.learners = word.learners();
  return view;
}

std::vector<ResidentRows::Want> ResidentRows::wants() const {
  std::vector<Want> wants;
  for (const auto& [shard, waiting] : waiting_) {
    wants.push_back({ShardId{shard}, waiting.from});
  }
  return wants;
}

LogIndex ResidentRows::whole_at(ShardId shard) const {
  const bool whole = !is_wanted(shard) && pieces(shard).entries.empty();
  return whole ? rows_[shard.value].applied : LogIndex{};
}

Result<bool> ResidentRows::install(const HostState& state) {
  const ShardId shard = state.shard;
  const auto found = waiting_.find(shard.value);
  if (found == waiting_.end() || state.index < found->second.from ||
      !service_.plausible(shard, state.bytes)) {
    return false;
  }
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  rows_[shard.value].waits = false;
  GCOORD_TRY_STATUS(service_.install(shard, state.bytes));
  rows_[shard.value].applied = state.index;
  if (state.has_stamps) {
    mark_once(rows_[shard.value].has_stamps, counts_.stamped);
  }
  use_.measure(requests_.lane_of(shard), shard);
  note_use(shard, {});
  for (const HostEventSlot& told : waiting.entries) {
    GCOORD_TRY_STATUS(apply(told, nullptr));
  }
  answer_read(shard);
  return true;
}

void ResidentRows::encode(ShardId shard, StoredFor purpose, std::vector<std::byte>& bytes) const {
  const CommandReassembler::Pieces pieces = this->pieces(shard);
  const Row& row = rows_[shard.value];
  const StoredHead head{
      .index = row.applied.value,
      .pieces_next = pieces.next.value,
      .piece_count = static_cast<std::uint32_t>(pieces.entries.size()),
      .marks = (row.has_records ? kHasRecords : 0) | (row.has_stamps ? kHasStamps : 0)};
  begin_stored_state(bytes, head, std::as_bytes(std::span{pieces.entries}));
  if (purpose == StoredFor::Checkpoint) {
    service_.checkpoint(shard, bytes);
  } else {
    service_.serialize(shard, bytes);
  }
}

bool ResidentRows::well_formed(std::span<const std::byte> bytes) {
  return split_stored_state(bytes).has_value();
}

Status ResidentRows::decode(ShardId shard, std::span<const std::byte> bytes) {
  const auto stored = split_stored_state(bytes);
  if (!stored) {
    return {StatusCode::DataLoss, "an impossible stored state"};
  }
  Row& row = rows_[shard.value];
  row.applied = LogIndex{};
  commands_.forget(shard);
  if (bytes.empty()) {
    return service_.install(shard, bytes);
  }
  const StoredHead& head = stored->head;
  CommandReassembler::Pieces pieces{LogIndex{head.pieces_next}, {}};
  pieces.entries.resize(head.piece_count);
  std::ranges::copy(stored->pieces, std::as_writable_bytes(std::span{pieces.entries}).begin());
  row.applied = LogIndex{head.index};
  if ((head.marks & kHasRecords) != 0) {
    mark_once(row.has_records, counts_.recorded);
  }
  if ((head.marks & kHasStamps) != 0) {
    mark_once(row.has_stamps, counts_.stamped);
  }
  commands_.put(shard, pieces);
  return service_.install(shard, stored->service);
}

void ResidentRows::replay(ShardId shard, LogIndex index, const locks::LockEntry& entry) {
  Row& row = rows_[shard.value];
  if (index <= row.applied) {
    return;
  }
  row.applied = index;
  AppliedEntry applied = entry_of(shard, entry, read(shard, index, entry));
  applied.index = index;
  service_.apply(applied);
}

void ResidentRows::set_absent(ShardId shard) {
  Row& row = rows_[shard.value];
  if (!row.absent) {
    row.absent = true;
    ++counts_.absent;
    use_.measure(requests_.lane_of(shard), shard);
    note_use(shard, {});
  }
}

}  // namespace gcoord::server
