#include "locks/snapshot/snapshot.h"

#include "common/bytes.h"
#include "locks/commands/command.h"
#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/extra.h"
#include "locks/state/names.h"
#include "locks/state/queue.h"
#include "locks/state/requests.h"
#include "locks/state/session_locks.h"
#include "locks/state/share.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

namespace gcoord::locks {
namespace {

// Where a request stands in the snapshot: its session's place and its own place in that session.
struct RequestPosition {
  std::uint32_t session = 0;
  std::uint8_t request = 0;
};

// Whether version 1 cannot say the request.
bool beyond_plain(const RequestRecord& request) {
  const bool asks =
      request.code == LockCode::Waiting && (request.token.value != 0 || request.holder.value != 0);
  return asks || request.code >= LockCode::HeldAgain;
}

bool beyond_plain(const LockTables& tables, const SessionRecord& session) {
  if (session.phase == SessionPhase::Failed || session.phase == SessionPhase::Keeper) {
    return true;
  }
  for (LockRow row = session.hold_first; row.value != 0; row = tables.locks[row].hold_next) {
    if (is_marked(tables.locks[row])) {
      return true;
    }
  }
  for (RequestRow row = session.request_oldest; row.value != 0; row = tables.requests[row].next) {
    if (beyond_plain(tables.requests[row])) {
      return true;
    }
  }
  return false;
}

// Writes the parts of one shard in their order.
class ShardWriter {
 public:
  ShardWriter(const LockTables& tables, ShardId shard_id, std::vector<std::byte>& bytes)
      : tables_(tables), shard_(tables.shard(shard_id)), writer_(bytes) {}

  void write() {
    each_session([this](const SessionRecord& session) {
      holds_ = holds_ || beyond_plain(tables_, session);
      moves_ = moves_ || session.phase == SessionPhase::Keeper;
    });
    write_header();
    std::uint32_t session_place = 0;
    each_session([&](const SessionRecord& session) {
      write_session(session);
      write_requests(session, session_place);
      ++session_place;
    });
    each_session([this](const SessionRecord& session) {
      LockRow row = session.hold_first;
      for (; row.value != 0; row = tables_.locks[row].hold_next) {
        write_hold(tables_.locks[row]);
      }
      row = delayed_first(session);
      for (; row.value != 0; row = tables_.locks[row].hold_next) {
        write_hold(tables_.locks[row]);
      }
    });
  }

 private:
  template <typename Visit>
  void each_session(const Visit& visit) const {
    SessionRow row = shard_.session_first;
    for (; row.value != 0; row = tables_.sessions[row].shard_next) {
      visit(tables_.sessions[row]);
    }
  }

  void write_header() {
    writer_.integer(kLockSnapshotMagic);
    writer_.integer(moves_   ? kLockSnapshotVersionMoves
                    : holds_ ? kLockSnapshotVersionHolds
                             : kLockSnapshotVersion);
    writer_.integer(shard_.token_last);
    writer_.integer(shard_.state_hash);
    writer_.integer(shard_.serial_last);
    writer_.integer(shard_.session_count);
  }

  void write_session(const SessionRecord& session) {
    writer_.integer(session.session.value);
    writer_.integer(session.acked_below.value);
    writer_.integer(session.forgotten_below.value);
    writer_.integer(session.serial);
    writer_.integer(session.ttl_ms);
    writer_.integer(static_cast<std::uint8_t>(session.phase));
    writer_.integer(session.request_count);
    writer_.integer(session.hold_count);
  }

  void write_request(const RequestRecord& request) {
    const bool waits = request.code == LockCode::Waiting;
    writer_.integer(request.sequence.value);
    writer_.integer(request.token.value);
    writer_.integer(waits ? 0 : request.holder.value);
    writer_.integer(request.enqueued_at.value);
    writer_.integer(request.argument_hash);
    writer_.integer(static_cast<std::uint8_t>(request.code));
    if (waits && holds_) {
      write_text(note_of(request));  // Who waits to share has none.
    }
  }

  void write_requests(const SessionRecord& session, std::uint32_t session_place) {
    std::uint8_t place = 0;
    RequestRow row = session.request_count == 0 ? RequestRow{} : session.request_oldest;
    for (; row.value != 0; row = tables_.requests[row].next) {
      write_request(tables_.requests[row]);
      if (tables_.requests[row].code == LockCode::Waiting) {
        places_[row.value] = RequestPosition{session_place, place};
      }
      ++place;
    }
  }

  // A name or a note; no block: an empty one.
  void write_text(NameBlockRow first) {
    std::array<char, kNameBytesMax> text{};
    const std::uint32_t bytes = first.value == 0 ? 0 : load_name(tables_, first, text.data());
    writer_.integer(static_cast<std::uint16_t>(bytes));
    writer_.bytes(text.data(), bytes);
  }

  // A lock, or somebody's share of one.
  void write_hold(const LockRecord& hold) {
    if (is_broken(hold)) {
      return write_broken(hold);
    }
    const LockRecord& lock = is_share(hold) ? tables_.locks[head_of(hold)] : hold;
    // The queue of a lock follows its oldest share.
    const bool queue = !is_share(hold) || share_previous(hold).value == 0;
    writer_.integer(hold.token.value);
    writer_.integer(hold.granted_at.value);
    writer_.integer(queue ? lock.waiter_count : 0);
    write_text(name_of(tables_, lock));
    if (is_share(hold)) {
      write_share(hold, lock);
    } else if (holds_) {
      write_extra(lock);
    }
    RequestRow row = queue ? lock.queue_first : RequestRow{};
    for (; row.value != 0; row = tables_.requests[row].queue_next) {
      const RequestPosition place = places_.at(row.value);
      writer_.integer(place.session);
      writer_.integer(place.request);
    }
  }

  void write_broken(const LockRecord& broken) {
    writer_.integer(broken.token.value);
    writer_.integer(broken.granted_at.value);
    writer_.integer(std::uint32_t{0});
    write_text(lost_name(broken));
    write_kind(SnapshotHold::Broken);
  }

  void write_kind(SnapshotHold kind) { writer_.integer(static_cast<std::uint8_t>(kind)); }

  void write_share(const LockRecord& share, const LockRecord& lock) {
    const bool oldest = share_previous(share).value == 0;
    write_kind(oldest ? SnapshotHold::OldestShare : SnapshotHold::Share);
    writer_.integer(static_cast<std::uint8_t>(share_permits(share)));
    if (oldest) {
      writer_.integer(static_cast<std::uint16_t>(load_extra(tables_, lock).permits_limit));
      write_residence(lock);
    }
  }

  void write_residence(const LockRecord& lock) {
    if (!moves_) {
      return;
    }
    const LockExtra extra = is_marked(lock) ? load_extra(tables_, lock) : LockExtra{};
    writer_.integer(static_cast<std::uint8_t>(extra.residence));
    if (extra.residence != Residence::Native) {
      writer_.integer(extra.move_number);
    }
    if (extra.residence == Residence::Away) {
      writer_.integer(extra.away_to.value);
      write_export(extra.export_first);
    }
  }

  void write_export(NameBlockRow first) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = first.value; row != 0 && row != NameBlock::kEnd;
         row = tables_.name_blocks[NameBlockRow{row}].next) {
      rows.push_back(row);
    }
    writer_.integer(static_cast<std::uint32_t>(rows.size()));
    for (const std::uint32_t row : rows) {
      writer_.bytes(tables_.name_blocks[NameBlockRow{row}].words, NameBlock::kBytes);
    }
  }

  void write_extra(const LockRecord& lock) {
    if (!is_marked(lock)) {
      write_kind(SnapshotHold::Plain);
      return write_residence(lock);
    }
    const LockExtra extra = load_extra(tables_, lock);
    write_kind(extra.hold_count == 0 ? SnapshotHold::Delayed
               : extra.delay_ms != 0 ? SnapshotHold::Delaying
                                     : SnapshotHold::Marked);
    writer_.integer(extra.hold_count);
    write_text(extra.note_first);
    if (extra.delay_ms != 0) {
      writer_.integer(static_cast<std::uint16_t>(extra.delay_ms));
    }
    write_residence(lock);
  }

  const LockTables& tables_;
  const LockShardRow& shard_;
  ByteWriter writer_;
  bool holds_ = false;                                         // Something goes beyond plain holds.
  bool moves_ = false;                                         // Names were moved.
  std::unordered_map<std::uint32_t, RequestPosition> places_;  // Of waiters, by request row.
};

}  // namespace

std::vector<std::byte> write_snapshot(const LockTables& tables, ShardId shard_id) {
  std::vector<std::byte> bytes;
  ShardWriter{tables, shard_id, bytes}.write();
  return bytes;
}

namespace {

SessionRow install_session(const LockTables& tables,
                           ShardId shard_id,
                           const LockSnapshot::Session& source) {
  const SessionRow row = tables.sessions.take();
  SessionRecord& session = tables.sessions[row];
  session.session = source.session;
  session.acked_below = source.acked_below;
  session.forgotten_below = source.forgotten_below;
  session.shard = shard_id;
  session.serial = source.serial;
  session.ttl_ms = source.ttl_ms;
  session.phase = source.phase;
  link_session(tables, row, tables.session_hash(shard_id, source.session));
  return row;
}

NameBlockRow install_text(const LockTables& tables, std::string_view text) {
  return store_note(tables, text.data(), static_cast<std::uint32_t>(text.size()));
}

RequestRow install_request(const LockTables& tables,
                           SessionRow session_row,
                           const LockSnapshot::Request& source) {
  const RequestRow row = tables.requests.take();
  RequestRecord& request = tables.requests[row];
  request.sequence = source.sequence;
  request.token = source.token;
  request.holder = source.holder;
  request.enqueued_at = source.enqueued_at;
  request.session_row = session_row;
  request.argument_hash = source.argument_hash;
  request.code = source.code;
  if (source.code == LockCode::Waiting) {
    const HoldOptions ask = unpack_ask(source.token.value);
    const bool shares = (ask.flags & kHoldShared) != 0;
    keep_ask(tables,
             row,
             ask,
             shares ? tables.locks.take().value : install_text(tables, source.note).value);
  }
  link_request(tables, row);
  return row;
}

// A share that has its holder and waits for its head.
struct LooseShare {
  const LockSnapshot::Lock* source = nullptr;
  LockRow row;
};

// By the names of their locks.
using LooseShares = std::map<std::string_view, std::vector<LooseShare>>;

// Puts the parts of a shard together that a snapshot has taken apart. `request_rows` are those of
// the snapshot's requests.
class HoldInstaller {
 public:
  HoldInstaller(const LockTables& tables,
                ShardId shard_id,
                const LockSnapshot& snapshot,
                const std::vector<RequestRow>& request_rows)
      : tables_(tables), shard_id_(shard_id), snapshot_(snapshot), request_rows_(request_rows) {}

  // The next hold of the session.
  void install(SessionRow holder, const LockSnapshot::Lock& source) {
    if (source.hold == SnapshotHold::Broken) {
      const LostHold lost{shard_id_, holder, source.token, source.granted_at};
      keep_broken(tables_, lost, name_of_source(source));
      return;
    }
    const LockRow row = source.shared() ? tables_.locks.take() : make_lock(source);
    tables_.locks[row].token = source.token;
    tables_.locks[row].granted_at = source.granted_at;
    if (source.hold == SnapshotHold::Delayed) {
      return link_delayed(tables_, row, holder);
    }
    link_holder(tables_, row, holder);
    if (source.shared()) {
      shares_[source.name].push_back({&source, row});
    }
  }

  // After all holds: shares stand in the order of their tokens.
  void attach_shares() {
    for (auto& [name, shares] : shares_) {
      std::ranges::sort(
          shares, {}, [](const LooseShare& share) { return share.source->token.value; });
      const LockSnapshot::Lock& oldest = *shares.front().source;
      const LockRow head = make_lock(oldest);
      for (const LooseShare& share : shares) {
        attach_share(tables_,
                     head,
                     share.row,
                     {.flags = kHoldShared,
                      .permits = share.source->permits,
                      .limit = oldest.permits_limit});
      }
    }
  }

 private:
  static LockName name_of_source(const LockSnapshot::Lock& source) {
    return {source.name_hash, source.name.data(), static_cast<std::uint32_t>(source.name.size())};
  }

  // A record for the lock with all that hangs on it but a holder.
  LockRow make_lock(const LockSnapshot::Lock& source) {
    const LockRow row = create_lock(
        tables_, shard_id_, name_of_source(source), tables_.lock_hash(shard_id_, source.name_hash));
    if (source.hold != SnapshotHold::Plain) {
      mark(tables_, row);
      LockExtra extra = load_extra(tables_, tables_.locks[row]);
      extra.hold_count = source.hold_count;
      extra.note_first = install_text(tables_, source.note);
      extra.delay_ms = source.delay_ms;
      extra.residence = source.residence;
      extra.move_number = source.move_number;
      extra.away_to = source.away_to;
      extra.export_first = install_export(source.exported);
      store_extra(tables_, tables_.locks[row], extra);
    }
    for (std::uint32_t i = 0; i < source.waiter_count; ++i) {
      enqueue_waiter(tables_, row, request_rows_[snapshot_.waiters[source.waiter_first + i]]);
    }
    return row;
  }

  // Last block first, so that each can name its follower.
  NameBlockRow install_export(std::string_view blocks) {
    NameBlockRow first;
    for (std::size_t end = blocks.size(); end >= NameBlock::kBytes; end -= NameBlock::kBytes) {
      const NameBlockRow row = tables_.name_blocks.take();
      NameBlock& block = tables_.name_blocks[row];
      block.next = first.value != 0 ? first.value : NameBlock::kEnd;
      std::memcpy(block.words, blocks.data() + end - NameBlock::kBytes, NameBlock::kBytes);
      first = row;
    }
    return first;
  }

  const LockTables& tables_;
  ShardId shard_id_;
  const LockSnapshot& snapshot_;
  const std::vector<RequestRow>& request_rows_;
  LooseShares shares_;
};

}  // namespace

LockDemand demand_of(const LockSnapshot& snapshot) {
  LockDemand demand;
  demand.locks = static_cast<std::uint32_t>(snapshot.locks.size());
  demand.sessions = static_cast<std::uint32_t>(snapshot.sessions.size());
  demand.requests = static_cast<std::uint32_t>(snapshot.requests.size());
  const auto blocks = [](std::string_view text) {
    return name_block_count(static_cast<std::uint32_t>(text.size()));
  };
  for (const LockSnapshot::Lock& lock : snapshot.locks) {
    demand.locks += lock.hold == SnapshotHold::OldestShare ? 1 : 0;
    demand.name_blocks += lock.hold == SnapshotHold::Share ? 0 : blocks(lock.name);
    const bool plain = lock.hold == SnapshotHold::Plain || lock.hold == SnapshotHold::Broken;
    demand.name_blocks += plain ? 0 : 1 + blocks(lock.note);
    demand.name_blocks += static_cast<std::uint32_t>(lock.exported.size() / NameBlock::kBytes);
  }
  for (const LockSnapshot::Request& request : snapshot.requests) {
    demand.name_blocks += blocks(request.note);
    const bool shares = (unpack_ask(request.token.value).flags & kHoldShared) != 0;
    demand.locks += request.code == LockCode::Waiting && shares ? 1 : 0;
  }
  return demand;
}

// Lists grow at their front, so what stands last is put in first.
void install_snapshot(const LockTables& tables, ShardId shard_id, const LockSnapshot& snapshot) {
  LockShardRow& shard = tables.shard(shard_id);
  GCOORD_ASSERT(shard.session_count == 0);
  GCOORD_ASSERT(shard.lock_count == 0);
  shard.token_last = snapshot.token_last;
  shard.state_hash = snapshot.state_hash;
  shard.serial_last = snapshot.serial_last;
  std::vector<SessionRow> session_rows(snapshot.sessions.size());
  std::vector<RequestRow> request_rows(snapshot.requests.size());
  for (std::size_t place = snapshot.sessions.size(); place-- > 0;) {
    const LockSnapshot::Session& source = snapshot.sessions[place];
    session_rows[place] = install_session(tables, shard_id, source);
    for (std::uint32_t i = source.request_first; i < source.request_first + source.request_count;
         ++i) {
      request_rows[i] = install_request(tables, session_rows[place], snapshot.requests[i]);
    }
  }
  HoldInstaller holds{tables, shard_id, snapshot, request_rows};
  std::size_t lock_end = snapshot.locks.size();
  for (std::size_t place = snapshot.sessions.size(); place-- > 0;) {
    for (std::uint32_t i = 0; i < snapshot.sessions[place].hold_count; ++i) {
      --lock_end;
      holds.install(session_rows[place], snapshot.locks[lock_end]);
    }
  }
  holds.attach_shares();
}

}  // namespace gcoord::locks
