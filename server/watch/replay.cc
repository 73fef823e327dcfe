#include "server/watch/replay.h"

#include "ledger/merkle/entry_walk.h"
#include "locks/commands/ends.h"
#include "locks/commands/move_command.h"
#include "server/history/record_text.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

// Whether what the entry did is to be told, or it is only applied.
bool wanted(const WatchReplayJob& job, LogIndex index, const locks::LockCommand& command) {
  if (job.filter.arrival == 0) {
    return job.from <= index;
  }
  return command.kind == locks::LockCommandKind::MoveIn &&
         locks::move_number(command) == job.filter.arrival &&
         std::string_view{command.name, command.name_bytes} == job.filter.text;
}

// What the leaf does to locks; nothing: it is no command. `of_device`: as DeviceCommands::take().
std::optional<locks::LockCommand> command_of(const locks::LockCommand* of_device,
                                             std::span<const std::byte> entry) {
  if (of_device != nullptr) {
    return *of_device;
  }
  const auto header = is_device_entry(entry) ? std::nullopt : decode_record_header(entry);
  if (!header || header->kind != RecordKind::LockCommand) {
    return std::nullopt;
  }
  const auto decoded = locks::decode(record_body(entry));
  return decoded.ok() ? decoded.value()
                      : locks::LockCommand{.kind = locks::LockCommandKind::Unknown};
}

}  // namespace

WatchReplay::WatchReplay(Reader reader, std::function<void()> wake)
    : reader_(std::move(reader)),
      wake_(std::move(wake)),
      ended_(locks::kLockEventsPerCommandMax),
      thread_([this] { run(); }) {}

WatchReplay::~WatchReplay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

bool WatchReplay::can(ShardId shard, LogIndex to) const {
  const auto reader = reader_(shard);
  return reader != nullptr && reader->first() == 0 && to.value <= kReplayEntriesMax;
}

void WatchReplay::submit(std::shared_ptr<WatchReplayJob> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  work_.notify_one();
}

std::vector<std::shared_ptr<WatchReplayJob>> WatchReplay::taken() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void WatchReplay::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) {
      return;
    }
    const std::shared_ptr<WatchReplayJob> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    advance(*job);
    lock.lock();
    ready_.push_back(job);
    wake_();
  }
}

void WatchReplay::advance(WatchReplayJob& job) {
  const auto reader = reader_(job.shard);
  if (job.machine == nullptr) {
    job.machine = std::make_unique<locks::LockCpu>(locks::LockOptions{.rows_initial = 64});
  }
  std::size_t bytes = 0;
  job.failure = ledger::walk_entries(
      *reader,
      job.next,
      std::min(job.to.value, job.next + kReplayBatchEntries),
      [&] { return bytes < kReplayBatchBytes && !job.given_up.load(); },
      [&](std::span<const std::byte> entry) -> Status {
        const std::size_t before = job.batch.size();
        apply(job, entry);
        bytes += job.batch.size() > before ? memory_bytes(job.batch.back()) : 0;
        return {};
      });
  // Not done either while the worker of history has yet to come here.
  job.done = job.failure.ok() && job.next >= job.to.value;
}

void WatchReplay::apply(WatchReplayJob& job, std::span<const std::byte> entry) {
  const LogIndex index{job.next};
  const auto read = command_of(job.device.take(index, entry), entry);
  if (!read) {
    return;
  }
  const locks::LockCommand& command = *read;
  constexpr ShardId kOnly{0};
  locks::LockEvents ended{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
  if (!wanted(job, index, command)) {
    job.machine->apply(kOnly, index, command, Tick{1}, ended);
    return;
  }
  WatchRecord record{job.shard, index, {}};
  locks::apply_parts(command, ended, [&](const locks::LockCommand& part, std::uint32_t) {
    const std::uint32_t first = ended.count;
    job.changes.before(*job.machine, kOnly, part);
    const locks::LockReply reply = job.machine->apply(kOnly, index, part, Tick{1}, ended);
    const auto seen = job.changes.after(
        *job.machine, kOnly, part, reply, {ended_.data() + first, ended.count - first});
    record.changes.insert(record.changes.end(), seen.begin(), seen.end());
    record.move = watch_move(part, reply);
    return reply;
  });
  WatchNotice told = job.filter.filtered(record);
  job.filter.arrival = told.move ? 0 : job.filter.arrival;
  if (!told.empty()) {
    job.batch.push_back(std::move(told));
  }
}

}  // namespace gcoord::server
