#include "common/bytes.h"
#include "locks/commands/command.h"
#include "locks/snapshot/snapshot.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

namespace gcoord::locks {
namespace {

Status lost(const char* what) {
  return Status{StatusCode::DataLoss, std::string{"lock snapshot: "} + what};
}

// Codes that a request record may hold: answers to Acquire and Release, and ends of waits.
bool code_storable(LockCode code, std::uint16_t version) {
  const bool beyond_plain = (code >= LockCode::HeldAgain && code <= LockCode::LimitDiffers) ||
                            code == LockCode::HoldBroken || code == LockCode::LockDelayed ||
                            code == LockCode::Deadlock || code == LockCode::GroupTaken ||
                            (code >= LockCode::Proclaimed && code <= LockCode::TargetAbsent) ||
                            (code == LockCode::Moved && version == kLockSnapshotVersionMoves);
  return (code > LockCode::None && code < LockCode::NotWaiting) ||
         (version >= kLockSnapshotVersionHolds && beyond_plain);
}

// Reads the parts in their order and checks each on its own; the first fault ends it. Vectors grow
// with the bytes consumed, never with a count that was only claimed.
class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) : reader_(bytes) {}

  Status parse() {
    GCOORD_TRY_STATUS(read_header());
    for (std::uint32_t i = 0; i < session_count_; ++i) {
      GCOORD_TRY_STATUS(read_session());
    }
    for (const LockSnapshot::Session& session : snapshot_.sessions) {
      for (std::uint32_t i = 0; i < session.hold_count; ++i) {
        GCOORD_TRY_STATUS(read_lock(session.phase == SessionPhase::Keeper));
      }
    }
    return reader_.rest_bytes() == 0 ? Status{} : lost("trailing bytes");
  }

  LockSnapshot take() { return std::move(snapshot_); }

 private:
  Status read_header() {
    const auto magic = reader_.integer<std::uint32_t>();
    snapshot_.version = reader_.integer<std::uint16_t>();
    snapshot_.token_last = reader_.integer<std::uint64_t>();
    snapshot_.state_hash = reader_.integer<std::uint64_t>();
    snapshot_.serial_last = reader_.integer<std::uint32_t>();
    session_count_ = reader_.integer<std::uint32_t>();
    if (!reader_.ok() || magic != kLockSnapshotMagic) {
      return lost("not a lock snapshot");
    }
    const bool known = snapshot_.version == kLockSnapshotVersion || holds();
    return known ? Status{} : lost("unknown version");
  }

  Status read_session() {
    LockSnapshot::Session session;
    session.session = SessionId{reader_.integer<std::uint64_t>()};
    session.acked_below = RequestSequence{reader_.integer<std::uint64_t>()};
    session.forgotten_below = RequestSequence{reader_.integer<std::uint64_t>()};
    session.serial = reader_.integer<std::uint32_t>();
    session.ttl_ms = reader_.integer<std::uint32_t>();
    session.phase = static_cast<SessionPhase>(reader_.integer<std::uint8_t>());
    session.request_count = reader_.integer<std::uint8_t>();
    session.hold_count = reader_.integer<std::uint32_t>();
    session.request_first = static_cast<std::uint32_t>(snapshot_.requests.size());
    if (!reader_.ok()) {
      return lost("truncated session");
    }
    GCOORD_TRY_STATUS(check_session(session));
    snapshot_.sessions.push_back(session);
    for (std::uint32_t i = 0; i < session.request_count; ++i) {
      GCOORD_TRY_STATUS(read_request(session.request_first));
    }
    return {};
  }

  Status check_session(const LockSnapshot::Session& session) const {
    if (session.session.value == 0) {
      return lost("session 0");
    }
    // The list is newest first, and every registration takes the next serial.
    const bool first = snapshot_.sessions.empty();
    const std::uint32_t serial_max =
        first ? snapshot_.serial_last : snapshot_.sessions.back().serial - 1;
    if (session.serial == 0 || session.serial > serial_max) {
      return lost("session serials out of order");
    }
    if (session.ttl_ms == 0 || session.ttl_ms > kTtlMsMax) {
      return lost("TTL out of range");
    }
    if (session.acked_below.value == 0 || session.forgotten_below.value == 0) {
      return lost("sequence 0");
    }
    if (session.request_count > kSessionRequestsMax) {
      return lost("too many requests");
    }
    const bool keeps = session.phase == SessionPhase::Keeper;
    if (keeps != (session.session == kKeeperSession) || (keeps && !moves())) {
      return lost("impossible keeper");
    }
    if (session.phase == SessionPhase::Live) {
      return {};
    }
    const bool ends = session.phase == SessionPhase::Dying || keeps ||
                      (session.phase == SessionPhase::Failed && holds());
    // What it held may have been broken by force meanwhile.
    const bool dying_well = ends && session.request_count == 0;
    return dying_well ? Status{} : lost("impossible session phase");
  }

  Status read_request(std::uint32_t session_first) {
    LockSnapshot::Request request;
    request.sequence = RequestSequence{reader_.integer<std::uint64_t>()};
    request.token = FencingToken{reader_.integer<std::uint64_t>()};
    request.holder = SessionId{reader_.integer<std::uint64_t>()};
    request.enqueued_at = LogIndex{reader_.integer<std::uint64_t>()};
    request.argument_hash = reader_.integer<std::uint32_t>();
    request.code = static_cast<LockCode>(reader_.integer<std::uint8_t>());
    if (!reader_.ok()) {
      return lost("truncated request");
    }
    if (request.sequence.value == 0 || !code_storable(request.code, snapshot_.version)) {
      return lost("impossible request");
    }
    if (request.code == LockCode::Waiting) {
      GCOORD_TRY_STATUS(read_ask(request));
    }
    for (std::size_t i = session_first; i < snapshot_.requests.size(); ++i) {
      if (snapshot_.requests[i].sequence == request.sequence) {
        return lost("sequence twice in a session");
      }
    }
    snapshot_.requests.push_back(request);
    return {};
  }

  bool holds() const { return snapshot_.version == kLockSnapshotVersionHolds || moves(); }

  bool moves() const { return snapshot_.version == kLockSnapshotVersionMoves; }

  Status read_note(std::string_view& note) {
    note = reader_.bytes(reader_.integer<std::uint16_t>());
    return reader_.ok() && note.size() <= kNoteBytesMax ? Status{} : lost("impossible note");
  }

  // What a waiter asks for.
  Status read_ask(LockSnapshot::Request& request) {
    if (holds()) {
      GCOORD_TRY_STATUS(read_note(request.note));
    }
    const HoldOptions ask = unpack_ask(request.token.value);
    const bool sound = pack_ask(ask) == request.token.value &&
                       ask_sound(ask, !request.note.empty()) &&
                       (holds() || request.token.value == 0) && request.holder.value == 0;
    return sound ? Status{} : lost("impossible wait");
  }

  // What a hold beyond the plain has beside the rest.
  Status read_extra(LockSnapshot::Lock& lock) {
    const auto kind = reader_.integer<std::uint8_t>();
    lock.hold = static_cast<SnapshotHold>(kind);
    if (lock.marked()) {
      lock.hold_count = reader_.integer<std::uint32_t>();
      GCOORD_TRY_STATUS(read_note(lock.note));
      lock.delay_ms = lock.delays() ? reader_.integer<std::uint16_t>() : std::uint16_t{0};
    } else if (lock.shared()) {
      lock.permits = reader_.integer<std::uint8_t>();
    }
    if (lock.hold == SnapshotHold::OldestShare) {
      lock.permits_limit = reader_.integer<std::uint16_t>();
    }
    const bool delayed = lock.hold == SnapshotHold::Delayed;
    const bool counted = (lock.hold_count > 0) != delayed && lock.hold_count <= 0xffffu &&
                         lock.delays() == (lock.delay_ms > 0) && lock.delay_ms <= kDelayMsMax &&
                         (!delayed || lock.note.empty());
    const bool shared = lock.shared() == (lock.permits > 0);
    const bool known = kind <= static_cast<std::uint8_t>(SnapshotHold::Delayed);
    const bool sound = known && counted && shared;
    const bool queue = (lock.hold != SnapshotHold::Share && lock.hold != SnapshotHold::Broken) ||
                       lock.waiter_count == 0;
    return reader_.ok() && sound && queue ? Status{} : lost("impossible hold");
  }

  // What is said of a name that was moved.
  Status read_residence(LockSnapshot::Lock& lock) {
    const bool native = lock.hold == SnapshotHold::Plain || lock.hold == SnapshotHold::Share ||
                        lock.hold == SnapshotHold::Broken;
    if (lock.hold == SnapshotHold::Share || lock.hold == SnapshotHold::Broken || !moves()) {
      return lock.kept ? lost("a hold that the keeper cannot have") : Status{};
    }
    lock.residence = static_cast<Residence>(reader_.integer<std::uint8_t>());
    if (lock.residence > Residence::Away || (native && lock.residence != Residence::Native)) {
      return lost("impossible residence");
    }
    const bool away = lock.residence == Residence::Away;
    if (lock.residence != Residence::Native) {
      lock.move_number = reader_.integer<std::uint32_t>();
    }
    if (away) {
      lock.away_to = ShardId{reader_.integer<std::uint32_t>()};
      GCOORD_TRY_STATUS(read_export(lock));
    }
    const bool plain = lock.hold == SnapshotHold::Marked && lock.hold_count == 1 &&
                       lock.note.empty() && lock.waiter_count == 0;
    const bool sound = (lock.residence == Residence::Native) == (lock.move_number == 0) &&
                       (!lock.kept || (plain && lock.residence != Residence::Native)) &&
                       (!away || lock.kept);
    return reader_.ok() && sound ? Status{} : lost("impossible residence");
  }

  Status read_export(LockSnapshot::Lock& lock) {
    const auto blocks = reader_.integer<std::uint32_t>();
    if (blocks > kMoveWaitersMax + 1) {
      return lost("a moved lock with too many waiters");
    }
    lock.exported = reader_.bytes(std::size_t{blocks} * NameBlock::kBytes);
    return reader_.ok() ? Status{} : lost("truncated move");
  }

  Status read_lock(bool kept) {
    LockSnapshot::Lock lock;
    lock.kept = kept;
    lock.token = FencingToken{reader_.integer<std::uint64_t>()};
    lock.granted_at = LogIndex{reader_.integer<std::uint64_t>()};
    lock.waiter_count = reader_.integer<std::uint32_t>();
    lock.name = reader_.bytes(reader_.integer<std::uint16_t>());
    lock.waiter_first = static_cast<std::uint32_t>(snapshot_.waiters.size());
    if (!reader_.ok()) {
      return lost("truncated lock");
    }
    if (!check_name(lock.name).ok()) {
      return lost("bad name");
    }
    if ((lock.token.value == 0 && !kept) || lock.token.value > snapshot_.token_last) {
      return lost("token never granted");
    }
    if (holds()) {
      GCOORD_TRY_STATUS(read_extra(lock));
    }
    GCOORD_TRY_STATUS(read_residence(lock));
    lock.name_hash = hash_name(lock.name);
    snapshot_.locks.push_back(lock);
    for (std::uint32_t i = 0; i < lock.waiter_count; ++i) {
      GCOORD_TRY_STATUS(read_waiter());
    }
    return {};
  }

  Status read_waiter() {
    const auto session_place = reader_.integer<std::uint32_t>();
    const auto request_place = reader_.integer<std::uint8_t>();
    if (!reader_.ok()) {
      return lost("truncated waiter");
    }
    if (session_place >= snapshot_.sessions.size()) {
      return lost("waiter without a session");
    }
    const LockSnapshot::Session& session = snapshot_.sessions[session_place];
    if (request_place >= session.request_count) {
      return lost("waiter without a request");
    }
    const std::uint32_t place = session.request_first + request_place;
    if (snapshot_.requests[place].code != LockCode::Waiting) {
      return lost("request in a queue that does not wait");
    }
    // Queues are in log order; one entry of the log queues one request, or all that a lock brings.
    const bool first = snapshot_.waiters.size() == snapshot_.locks.back().waiter_first;
    if (!first && snapshot_.requests[place].enqueued_at <
                      snapshot_.requests[snapshot_.waiters.back()].enqueued_at) {
      return lost("queue out of order");
    }
    const LockSnapshot::Request& request = snapshot_.requests[place];
    if ((request.token.value != 0 || !request.note.empty()) &&
        snapshot_.locks.back().hold == SnapshotHold::Plain) {
      return lost("wait for more than its lock allows");
    }
    snapshot_.waiters.push_back(place);
    return {};
  }

  LockSnapshot snapshot_;
  ByteReader reader_;
  std::uint32_t session_count_ = 0;
};

// Whether all keys of the rows differ; sorts copies of them.
template <typename Key, typename Rows, typename KeyOf>
bool keys_unique(const Rows& rows, const KeyOf& key_of) {
  std::vector<Key> keys;
  keys.reserve(rows.size());
  for (const auto& row : rows) {
    keys.push_back(key_of(row));
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

// The holders of one lock, as a snapshot has them.
struct SeenLock {
  std::uint32_t records = 0;
  std::uint32_t oldest = 0;  // Shares that say to be the oldest one.
  std::uint32_t shares = 0;
  std::uint32_t permits = 0;
  std::uint16_t limit = 0;
  FencingToken oldest_token;
  FencingToken least_token;
  std::size_t session_last = 0;  // Place of the last session that has a share, and one.

  // The next record of this name; false when it cannot be.
  bool add(const LockSnapshot::Lock& lock, std::size_t session_place) {
    ++records;
    if (!lock.shared()) {
      return records == 1;
    }
    if (session_last == session_place + 1) {
      return false;  // A session has one share of a lock.
    }
    session_last = session_place + 1;
    ++shares;
    permits += lock.permits;
    least_token = shares == 1 ? lock.token : min_id(least_token, lock.token);
    if (lock.hold == SnapshotHold::OldestShare) {
      ++oldest;
      limit = lock.permits_limit;
      oldest_token = lock.token;
    }
    return true;
  }

  bool whole() const {
    if (shares == 0) {
      return true;
    }
    // Readers take one each, which the number of shares bounds.
    const bool fits = limit == 0 ? permits == shares : permits <= limit;
    return shares == records && oldest == 1 && shares <= kHoldersMax && fits &&
           oldest_token == least_token;
  }
};

// Locks in their delay are a failed session's, and follow its others.
bool delays_sound(const LockSnapshot::Session& session, std::span<const LockSnapshot::Lock> holds) {
  bool delayed = false;
  for (const LockSnapshot::Lock& hold : holds) {
    if (delayed && hold.hold != SnapshotHold::Delayed) {
      return false;
    }
    delayed = hold.hold == SnapshotHold::Delayed;
  }
  return !delayed || session.phase == SessionPhase::Failed;
}

// Each name is one lock's, alone or together.
Status check_names(const LockSnapshot& snapshot) {
  std::unordered_map<std::string_view, SeenLock> locks;
  std::size_t next = 0;
  for (std::size_t place = 0; place < snapshot.sessions.size(); ++place) {
    const std::span holds{snapshot.locks};
    if (!delays_sound(snapshot.sessions[place],
                      holds.subspan(next, snapshot.sessions[place].hold_count))) {
      return lost("delay that its session cannot have");
    }
    for (std::uint32_t i = 0; i < snapshot.sessions[place].hold_count; ++i, ++next) {
      const LockSnapshot::Lock& lock = snapshot.locks[next];
      if (lock.hold == SnapshotHold::Broken) {
        continue;
      }
      if (!locks[lock.name].add(lock, place)) {
        return lost("name twice");
      }
    }
  }
  for (const auto& [name, lock] : locks) {
    if (!lock.whole()) {
      return lost("holders of a lock that contradict each other");
    }
  }
  return {};
}

// What holds between parts: each session, name and token once, each waiting request in one queue.
Status check_whole(const LockSnapshot& snapshot) {
  if (!keys_unique<std::uint64_t>(snapshot.sessions,
                                  [](const auto& session) { return session.session.value; })) {
    return lost("session twice");
  }
  // What was moved here brought its token along, which another name may have been granted here; a
  // hold of it that was broken does not say any more where it came from.
  std::vector<LockSnapshot::Lock> natives;
  std::vector<LockSnapshot::Lock> broken;
  for (const LockSnapshot::Lock& lock : snapshot.locks) {
    if (lock.hold == SnapshotHold::Broken) {
      broken.push_back(lock);
    } else if (lock.residence == Residence::Native) {
      natives.push_back(lock);
    }
  }
  using NamedToken = std::pair<std::string_view, std::uint64_t>;
  if (!keys_unique<NamedToken>(broken, [](const auto& lock) {
        return NamedToken{lock.name, lock.token.value};
      })) {
    return lost("broken hold twice");
  }
  if (!keys_unique<std::uint64_t>(natives, [](const auto& lock) { return lock.token.value; })) {
    return lost("token twice");
  }
  GCOORD_TRY_STATUS(check_names(snapshot));
  if (!keys_unique<std::uint32_t>(snapshot.waiters, [](std::uint32_t place) { return place; })) {
    return lost("request in two queues");
  }
  const auto waiting = static_cast<std::size_t>(
      std::count_if(snapshot.requests.begin(), snapshot.requests.end(), [](const auto& request) {
        return request.code == LockCode::Waiting;
      }));
  return waiting == snapshot.waiters.size() ? Status{} : lost("waiting request without a queue");
}

}  // namespace

Result<LockSnapshot> parse_snapshot(std::span<const std::byte> bytes) {
  Parser parser{bytes};
  GCOORD_TRY_STATUS(parser.parse());
  LockSnapshot snapshot = parser.take();
  GCOORD_TRY_STATUS(check_whole(snapshot));
  return snapshot;
}

}  // namespace gcoord::locks
