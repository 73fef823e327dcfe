#include "server/reads/historical_reads.h"

#include "common/assert.h"
#include "common/host/thread_name.h"
#include "common/name_hash.h"
#include "server/history/past_state.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;

HistoricalReads::HistoricalReads(const HistoricalReadsOptions& options, Environment parts)
    : options_(options),
      environment_(std::move(parts)),
      reads_(environment_.metrics.counter({.name = "gcoord_server_past_reads_total",
                                           .help = "Reads of the past that were answered"})),
      refused_(environment_.metrics.counter({.name = "gcoord_server_past_reads_refused_total",
                                             .help = "Reads of the past that got an error"})),
      entries_(
          environment_.metrics.counter({.name = "gcoord_server_past_entries_total",
                                        .help = "Entries applied again for reads of the past"})) {}

HistoricalReads::~HistoricalReads() {
  for (const JobPtr& job : open_) {
    job->given_up.store(true);
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void HistoricalReads::on_request(protocol::ConnectionId connection,
                                 const protocol::RequestSlot& request,
                                 std::span<const std::byte> payload,
                                 std::uint64_t now_ms) {
  GCOORD_ASSERT(request.kind == protocol::RequestKind::LockGetAt);
  const auto query = protocol::decode_past_query(payload);
  auto job = std::make_shared<Job>();
  job->connection = connection;
  job->request = request;
  if (!query.ok() || request.flags != 0) {
    return refuse(*job, protocol::make_error(ErrorCode::SlotInvalid));
  }
  job->name = hash_name(query.value().name);
  job->shard = shard_of(job->name, options_.shard_count);
  job->to = query.value().index;
  job->deadline_ms = request.deadline_ms == 0 ? ~std::uint64_t{0} : now_ms + request.deadline_ms;
  if (!environment_.history) {
    return refuse(*job, protocol::make_error(ErrorCode::PastUnsupported));
  }
  const bool beyond = job->to > environment_.applied(job->shard);
  if (beyond && !environment_.leads(job->shard)) {
    refused_.add();
    const auto reply = not_leader_reply(request, environment_.leader_hint(job->shard));
    return environment_.replies.reply(connection, reply, {});
  }
  if (job_count_ >= options_.jobs_max) {
    return refuse(*job, protocol::make_error(ErrorCode::Overloaded));
  }
  ++job_count_;
  open_.push_back(job);
  if (!beyond) {
    return begin(std::move(job));
  }
  // A new leader may not have applied yet what others acknowledged, and a deposed one never will.
  const ShardId shard = job->shard;
  confirming_.emplace(++confirming_last_, std::move(job));
  environment_.confirm(shard, confirming_last_);
}

void HistoricalReads::on_confirmed(std::uint64_t number, const Status& status, NodeId leader_hint) {
  const auto found = confirming_.find(number);
  GCOORD_ASSERT(found != confirming_.end());
  JobPtr job = std::move(found->second);
  confirming_.erase(found);
  if (status.ok() && !job->given_up.load()) {
    return begin(std::move(job));
  }
  end(*job);
  if (!job->given_up.load()) {
    refused_.add();
    environment_.replies.reply(
        job->connection, engine_refusal(job->request, status, leader_hint), {});
  }
}

ErrorCode HistoricalReads::admit(ShardId shard, LogIndex index) const {
  if (index > environment_.applied(shard)) {
    return ErrorCode::PastFuture;
  }
  if (environment_.history(shard)->first() != 0) {
    return ErrorCode::PastCompacted;
  }
  return index.value > options_.entries_max ? ErrorCode::PastTooLong : ErrorCode::None;
}

// What is applied here is known to be enough to judge the job by.
void HistoricalReads::begin(JobPtr job) {
  if (const ErrorCode error = admit(job->shard, job->to); error != ErrorCode::None) {
    end(*job);
    return refuse(*job, protocol::make_error(error));
  }
  if (has_come(*job)) {
    submit(std::move(job));
  } else {
    lagging_.push_back(std::move(job));
  }
}

// The job is nobody's any more but the caller's.
void HistoricalReads::end(const Job& job) {
  GCOORD_ASSERT(job_count_ > 0);
  --job_count_;
  std::erase_if(open_, [&](const JobPtr& each) { return each.get() == &job; });
}

bool HistoricalReads::has_come(const Job& job) const {
  return environment_.history(job.shard)->size() >= job.to.value;
}

void HistoricalReads::refuse(const Job& job, const Status& status) {
  refused_.add();
  protocol::ReplySlot reply = protocol::reply_to(job.request);
  reply.code = status.code();
  reply.detail = status.detail();
  environment_.replies.reply(job.connection, reply, protocol::bytes_of(status.message()));
}

void HistoricalReads::submit(JobPtr job) {
  if (!thread_.joinable()) {
    thread_ = std::thread([this] {
      name_this_thread("past");
      run();
    });
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  work_.notify_one();
}

void HistoricalReads::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) {
      return;
    }
    const JobPtr job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    work(*job);
    lock.lock();
    ready_.push_back(job);
    environment_.wake();
  }
}

// The tables begin and end here: to make and to unmap them takes longer than a turn may.
void HistoricalReads::work(Job& job) const {
  if (job.given_up.load()) {
    return;
  }
  PastState state(options_.bytes_max);
  const auto history = environment_.history(job.shard);
  while (job.failure.ok() && !job.given_up.load() && state.index() < job.to) {
    const LogIndex before = state.index();
    job.failure = state.advance(*history, job.to, kPastSliceEntries);
    if (job.failure.ok() && state.index() == before) {
      job.failure = protocol::make_error(ErrorCode::NotReady);  // History has begun anew.
    }
  }
  job.applied_count = state.index().value;
  if (state.index() == job.to) {
    job.lock = state.get(job.name);
    job.moved_to = state.moved_to(job.name);
  }
}

void HistoricalReads::answer(const Job& job) {
  if (!job.failure.ok()) {
    return refuse(job, job.failure);
  }
  if (job.moved_to) {
    refused_.add();
    const std::string text = "the lock was in shard " + std::to_string(job.moved_to->value) +
                             " then, whose log has indexes of its own";
    return environment_.replies.reply(
        job.connection, moved_reply(job.request, *job.moved_to), protocol::bytes_of(text));
  }
  protocol::PastReply reply{.shard = job.shard, .index = job.to};
  reply.present = job.lock.has_value();
  if (reply.present) {
    reply.row = row_of(*job.lock);
    reply.row.shard = job.shard;
  }
  reads_.add();
  environment_.replies.reply(
      job.connection, protocol::reply_to(job.request), protocol::encode_past_reply(reply));
}

void HistoricalReads::advance(std::uint64_t now_ms) {
  if (job_count_ == 0) {
    return;
  }
  end_late(now_ms);
  look_at_history(now_ms);
  std::vector<JobPtr> back;
  {
    const std::lock_guard lock(mutex_);
    back = std::exchange(ready_, {});
  }
  for (const JobPtr& job : back) {
    entries_.add(job->applied_count);
    end(*job);
    if (!job->given_up.load()) {  // Else it was answered when its time was over.
      answer(*job);
    }
  }
}

void HistoricalReads::end_late(std::uint64_t now_ms) {
  std::erase_if(open_, [&](const JobPtr& job) {
    const bool late = job->deadline_ms <= now_ms;
    if (late) {
      job->given_up.store(true);
      refuse(*job, protocol::make_error(ErrorCode::DeadlineExceeded));
    }
    return late;
  });
}

void HistoricalReads::look_at_history(std::uint64_t now_ms) {
  const bool due = now_ms >= next_look_ms_;
  if (due) {
    next_look_ms_ = now_ms + kPastLookMs;
  }
  for (JobPtr& job : std::exchange(lagging_, {})) {
    if (job->given_up.load()) {
      end(*job);
    } else if (due && has_come(*job)) {
      submit(std::move(job));
    } else {
      lagging_.push_back(std::move(job));
    }
  }
}

}  // namespace gcoord::server
