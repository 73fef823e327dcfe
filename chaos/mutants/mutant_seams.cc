#include "chaos/mutants/mutant_seams.h"

#include "common/bytes.h"
#include "locks/commands/command.h"
#include "locks/commands/group_command.h"
#include "membership/groups/command.h"
#include "membership/groups/snapshot.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace gcoord::chaos {
namespace {

class MutantFile final : public ledger::DiskFile {
 public:
  MutantFile(Mutant mutant, std::unique_ptr<DiskFile> file)
      : mutant_(mutant), file_(std::move(file)) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    return file_->read(offset, into);
  }

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return file_->write(offset, bytes);
  }

  Status sync() override {
    switch (mutant_) {
      case Mutant::SyncDoesNothing:
      case Mutant::IdentityNotSynced:
        return Status{};
      case Mutant::FailedSyncForgiven: {
        const Status ignored = file_->sync();
        return ignored.code() == StatusCode::Aborted ? ignored : Status{};
      }
      default:
        return file_->sync();
    }
  }

  Status drop_cached() override { return file_->drop_cached(); }

  Result<std::uint64_t> size_bytes() const override { return file_->size_bytes(); }

 private:
  Mutant mutant_;
  std::unique_ptr<DiskFile> file_;
};

class MutantDisk final : public ledger::Disk {
 public:
  MutantDisk(Mutant mutant, Disk& disk) : mutant_(mutant), disk_(disk) {}

  Result<std::unique_ptr<ledger::DiskFile>> open(const std::string& name) override {
    return wrap(disk_.open(name));
  }

  Result<std::unique_ptr<ledger::DiskFile>> create(const std::string& name,
                                                   std::uint64_t size_bytes) override {
    return wrap(disk_.create(name, size_bytes));
  }

  Status rename(const std::string& from, const std::string& to) override {
    return disk_.rename(from, to);
  }

  Status remove(const std::string& name) override { return disk_.remove(name); }

  Result<bool> exists(const std::string& name) override { return disk_.exists(name); }

  Result<std::vector<std::string>> list() override { return disk_.list(); }

  Status sync_directory() override {
    const bool lies = mutant_ == Mutant::DirectoryNotSynced || mutant_ == Mutant::IdentityNotSynced;
    return lies ? Status{} : disk_.sync_directory();
  }

  Result<ledger::DiskSpace> space() override { return disk_.space(); }

 private:
  Result<std::unique_ptr<ledger::DiskFile>> wrap(Result<std::unique_ptr<ledger::DiskFile>> file) {
    if (!file.ok()) {
      return file;
    }
    return std::unique_ptr<ledger::DiskFile>{
        std::make_unique<MutantFile>(mutant_, std::move(file).value())};
  }

  Mutant mutant_;
  Disk& disk_;
};

// The batch without the service state of its first shard.
ledger::CheckpointBatch without_a_value(const ledger::CheckpointBatch& batch) {
  ledger::CheckpointBatch rest;
  bool left_out = false;
  for (std::size_t k = 0; k < batch.change_count(); ++k) {
    const auto change = batch.change(k);
    if (change.column == ledger::CheckpointColumn::Meta) {
      rest.put_meta({reinterpret_cast<const char*>(change.key.data()), change.key.size()},
                    change.value.subspan(ledger::kValueCrcBytes));
      continue;
    }
    const ShardId shard = ledger::decode_shard_key(change.key);
    if (change.column == ledger::CheckpointColumn::Service && !std::exchange(left_out, true)) {
      continue;
    }
    if (change.value.empty()) {
      rest.remove(change.column, shard);
    } else {
      rest.put(change.column, shard, change.value.subspan(ledger::kValueCrcBytes));
    }
  }
  rest.covers(batch.lsn());
  return rest;
}

class MutantStore final : public ledger::CheckpointStore {
 public:
  MutantStore(Mutant mutant, std::unique_ptr<CheckpointStore> store)
      : mutant_(mutant), store_(std::move(store)) {
    set_covered_lsn(store_->covered_lsn());
  }

  Status write(const ledger::CheckpointBatch& batch) override {
    Status status;
    if (mutant_ == Mutant::CheckpointCoversMore && batch.lsn() > ledger::Lsn{0}) {
      ledger::CheckpointBatch more = batch;
      more.covers(batch.lsn() + 4);
      status = store_->write(more);
    } else {
      const ledger::CheckpointBatch less =
          mutant_ == Mutant::CheckpointLosesAValue ? without_a_value(batch) : batch;
      status = less.empty() ? Status{} : store_->write(less);
    }
    set_covered_lsn(store_->covered_lsn());
    return status;
  }

  Status load(ledger::CheckpointVisitor& visitor) const override { return store_->load(visitor); }

  Result<std::vector<std::byte>> get(ledger::CheckpointColumn column,
                                     ShardId shard) const override {
    return store_->get(column, shard);
  }

  Result<std::vector<std::byte>> get_meta(std::string_view key) const override {
    return store_->get_meta(key);
  }

 private:
  Mutant mutant_;
  std::unique_ptr<CheckpointStore> store_;
};

// The command under a number that was never used, so that no repetition is seen.
std::vector<std::byte> renumbered(std::span<const std::byte> payload, LogIndex index) {
  std::vector<std::byte> bytes(payload.begin(), payload.end());
  auto decoded = locks::decode(server::record_body(bytes));
  if (!decoded.ok()) {
    return bytes;
  }
  locks::LockCommand command = decoded.value();
  const bool numbered = command.kind == locks::LockCommandKind::Release ||
                        (command.kind == locks::LockCommandKind::Acquire &&
                         (command.flags & locks::kAcquireWait) == 0);
  if (!numbered || command.sequence == RequestSequence{0}) {
    return bytes;
  }
  command.sequence = command.acked_below = RequestSequence{index.value};
  std::vector<std::byte> encoded(bytes.begin(),
                                 bytes.begin() + std::ptrdiff_t{server::kRecordHeaderBytes});
  locks::encode(command, encoded);
  return encoded;
}

// The entry's request of a group, with its text kept beside it.
struct GroupRequestOf {
  explicit GroupRequestOf(const server::AppliedEntry& entry) {
    auto decoded = locks::decode(server::record_body(entry.payload));
    if (!decoded.ok() || decoded.value().kind != locks::LockCommandKind::GroupRequest) {
      return;
    }
    command = decoded.value();
    op = membership::decode_group_command(locks::group_body(command)).op;
  }

  // Its record with another body and number.
  std::vector<std::byte> record_of(const server::AppliedEntry& entry,
                                   const std::string& body,
                                   RequestSequence sequence) const {
    const std::string text = std::string{command.name, command.name_bytes} + body;
    std::vector<std::byte> bytes(
        entry.payload.begin(), entry.payload.begin() + std::ptrdiff_t{server::kRecordHeaderBytes});
    locks::encode(locks::make_group_request({.session = command.session,
                                             .sequence = sequence,
                                             .acked_below = command.acked_below,
                                             .ttl_ms = command.ttl_ms,
                                             .name_bytes = command.name_bytes,
                                             .text = text}),
                  bytes);
    return bytes;
  }

  locks::LockCommand command{.kind = locks::LockCommandKind::Unknown};
  membership::GroupOp op = membership::GroupOp::Malformed;
};

}  // namespace

std::unique_ptr<ledger::Disk> make_mutant_disk(Mutant mutant, ledger::Disk& disk) {
  return std::make_unique<MutantDisk>(mutant, disk);
}

std::unique_ptr<ledger::CheckpointStore> make_mutant_store(
    Mutant mutant, std::unique_ptr<ledger::CheckpointStore> store) {
  return std::make_unique<MutantStore>(mutant, std::move(store));
}

// False: the entry is to be applied as it is.
bool MutantStateMachine::apply_group(const server::AppliedEntry& entry) {
  const GroupRequestOf request(entry);
  server::AppliedEntry changed = entry;
  changed.command = nullptr;
  if (mutant_ == Mutant::BarrierReleasedEarly && request.op == membership::GroupOp::Arrive) {
    const std::uint32_t size =
        membership::decode_group_command(locks::group_body(request.command)).barrier_size;
    const std::vector<std::byte> record = request.record_of(
        entry, membership::encode_arrive(std::max(1u, size - 1)), request.command.sequence);
    changed.payload = record;
    service_.apply(changed);
    return true;
  }
  if (mutant_ == Mutant::GroupViewAppliedTwice && request.op == membership::GroupOp::Update) {
    constexpr std::uint64_t kNobodysNumbers = std::uint64_t{1} << 20;
    service_.apply(entry);
    const std::vector<std::byte> record =
        request.record_of(entry,
                          std::string{locks::group_body(request.command)},
                          RequestSequence{request.command.sequence.value + kNobodysNumbers});
    changed.payload = record;
    changed.cookie = 0;
    service_.apply(changed);
    return true;
  }
  return false;
}

// A shard that has no groups any more loses the epoch from which the next one counts on.
void MutantStateMachine::forget_epochs(ShardId shard) {
  std::vector<std::byte> state;
  service_.serialize(shard, state);
  const membership::StateParts parts = membership::split_state(state);
  const auto groups = membership::parse_snapshot(parts.groups);
  if (parts.groups.empty() || !groups.ok() || !groups.value().groups.empty() ||
      groups.value().epoch_last == 0) {
    return;
  }
  membership::GroupSnapshot less = groups.value();
  less.epoch_last = 0;
  std::vector<std::byte> forgotten;
  membership::write_snapshot(less, forgotten);
  forgotten.insert(forgotten.end(), parts.locks.begin(), parts.locks.end());
  static_cast<void>(service_.install(shard, forgotten));
}

void MutantStateMachine::apply(const server::AppliedEntry& entry) {
  if (of_groups(mutant_) && entry.kind == consensus::EntryKind::Command && apply_group(entry)) {
    return;
  }
  const bool command = entry.kind == consensus::EntryKind::Command;
  if (mutant_ == Mutant::EntrySkipped && command && entry.cookie == 0 && node_.node == NodeId{2} &&
      entry.index.value % 5 == 0) {
    return;
  }
  if (mutant_ == Mutant::DuplicateNotSeen && command) {
    const std::vector<std::byte> payload = renumbered(entry.payload, entry.index);
    server::AppliedEntry changed = entry;
    changed.payload = payload;
    changed.command = nullptr;
    return service_.apply(changed);
  }
  if (mutant_ == Mutant::HistoryRewritten && command && node_.node == NodeId{2} &&
      entry.index.value % 7 == 0 && entry.payload.size() >= server::kRecordHeaderBytes) {
    std::vector<std::byte> payload(entry.payload.begin(), entry.payload.end());
    payload[server::kRecordHeaderBytes - 1] ^= std::byte{1};
    server::AppliedEntry changed = entry;
    changed.payload = payload;
    changed.command = nullptr;
    return service_.apply(changed);
  }
  service_.apply(entry);
  if (mutant_ == Mutant::GroupEpochReused && command) {
    forget_epochs(entry.shard);
  }
}

// There are fewer shards than slices, so lanes take them in turn.
void MutantStateMachine::on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) {
  const bool of_first_lane = shard.value % node_.lane_count == 0;
  if (mutant_ != Mutant::LaneCallsLost || of_first_lane) {
    service_.on_role(shard, role, term, leader);
  }
}

void MutantStateMachine::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  if (mutant_ != Mutant::CheckpointOfThePast) {
    return service_.serialize(shard, bytes);
  }
  std::vector<std::byte> present;
  service_.serialize(shard, present);
  std::vector<std::byte>& before = serialized_[shard.value];
  bytes.insert(bytes.end(), before.begin(), before.end());
  before = std::move(present);
}

Status MutantStateMachine::install(ShardId shard, std::span<const std::byte> bytes) {
  return service_.install(shard,
                          mutant_ == Mutant::SnapshotInstalledEmpty ? bytes.first(0) : bytes);
}

void MutantLog::read(ShardId shard, std::uint64_t cookie) {
  if (mutant_ == Mutant::ReadWithoutQuorum) {
    reads_.push_back(cookie);
  } else {
    port_.read(shard, cookie);
  }
}

void MutantLog::read_by_round(ShardId shard, std::uint64_t cookie) {
  if (mutant_ == Mutant::ReadWithoutQuorum) {
    reads_.push_back(cookie);
  } else {
    port_.read_by_round(shard, cookie);
  }
}

void MutantLog::answer(server::StateMachine& service) {
  for (const std::uint64_t cookie : std::exchange(reads_, {})) {
    service.on_read(cookie, Status{}, NodeId{});
  }
}

}  // namespace gcoord::chaos
