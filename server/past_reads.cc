#include "server/past_reads.h"

#include "common/assert.h"
#include "common/name_hash.h"
#include "server/lock_replies.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

using rpc::ErrorCode;

PastReads::PastReads(const PastReadsOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      reads_(parts_.metrics.counter({.name = "gcoord_server_past_reads_total",
                                     .help = "Reads of the past that were answered"})),
      refused_(parts_.metrics.counter({.name = "gcoord_server_past_reads_refused_total",
                                       .help = "Reads of the past that got an error"})),
      entries_(parts_.metrics.counter({.name = "gcoord_server_past_entries_total",
                                       .help = "Entries applied again for reads of the past"})) {}

PastReads::~PastReads() {
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

void PastReads::on_request(ConnectionId connection,
                           const rpc::RequestSlot& request,
                           std::span<const std::byte> payload,
                           std::uint64_t now_ms) {
  GCOORD_ASSERT(is_request(request.kind));
  const auto query = rpc::decode_past_query(payload);
  auto job = std::make_shared<Job>();
  job->connection = connection;
  job->request = request;
  if (!query.ok() || request.flags != 0) {
    return refuse(*job, rpc::make_error(ErrorCode::SlotInvalid));
  }
  job->name = hash_name(query.value().name);
  job->shard = shard_of(job->name, options_.shard_count);
  job->to = query.value().index;
  job->deadline_ms = request.deadline_ms == 0 ? ~std::uint64_t{0} : now_ms + request.deadline_ms;
  if (job->to > parts_.applied(job->shard) && !parts_.leads(job->shard)) {
    refused_.add();
    const auto reply = not_leader_reply(request, parts_.leader_hint(job->shard));
    return parts_.replies.reply(connection, reply, {});
  }
  if (const ErrorCode error = admit(job->shard, job->to); error != ErrorCode::None) {
    return refuse(*job, rpc::make_error(error));
  }
  open_.push_back(job);
  ++job_count_;
  submit(std::move(job));
}

ErrorCode PastReads::admit(ShardId shard, LogIndex index) const {
  if (!parts_.history) {
    return ErrorCode::PastUnsupported;
  }
  if (index > parts_.applied(shard)) {
    return ErrorCode::PastFuture;
  }
  if (parts_.history(shard)->first() != 0) {
    return ErrorCode::PastCompacted;
  }
  if (index.value > options_.entries_max) {
    return ErrorCode::PastTooLong;
  }
  return job_count_ >= options_.jobs_max ? ErrorCode::Overloaded : ErrorCode::None;
}

void PastReads::refuse(const Job& job, const Status& status) {
  refused_.add();
  rpc::ReplySlot reply = rpc::reply_to(job.request);
  reply.code = status.code();
  reply.detail = status.detail();
  parts_.replies.reply(job.connection, reply, rpc::bytes_of(status.message()));
}

void PastReads::submit(JobPtr job) {
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  work_.notify_one();
}

void PastReads::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) {
      return;
    }
    const JobPtr job = std::move(jobs_.front());
    jobs_.pop_front();
    const LogIndex before = job->state.index();
    lock.unlock();
    work(*job);
    lock.lock();
    const bool goes_on = job->failure.ok() && !job->given_up.load() &&
                         job->state.index() < job->to && job->state.index() != before;
    if (goes_on) {
      jobs_.push_back(job);
    } else {
      ready_.push_back(job);
      parts_.wake();
    }
  }
}

void PastReads::work(Job& job) const {
  if (!job.given_up.load()) {
    job.failure = job.state.advance(*parts_.history(job.shard), job.to, kPastSliceEntries);
  }
}

void PastReads::answer(Job& job) {
  entries_.add(job.state.index().value);
  if (job.given_up.load()) {
    return;  // It was answered when its time was over.
  }
  std::erase_if(open_, [&](const JobPtr& each) { return each.get() == &job; });
  if (!job.failure.ok()) {
    return refuse(job, job.failure);
  }
  rpc::PastReply reply{.shard = job.shard, .index = job.to};
  const auto lock = job.state.get(job.name);
  reply.present = lock.has_value();
  if (reply.present) {
    reply.row = row_of(*lock);
    reply.row.shard = job.shard;
  }
  reads_.add();
  parts_.replies.reply(job.connection, rpc::reply_to(job.request), rpc::encode_past_reply(reply));
}

bool PastReads::advance(std::uint64_t now_ms) {
  if (job_count_ == 0) {
    return false;
  }
  std::erase_if(open_, [&](const JobPtr& job) {
    const bool late = job->deadline_ms <= now_ms;
    if (late) {
      job->given_up.store(true);
      refuse(*job, rpc::make_error(ErrorCode::DeadlineExceeded));
    }
    return late;
  });
  std::vector<JobPtr> back;
  {
    const std::lock_guard lock(mutex_);
    back = std::exchange(ready_, {});
  }
  bool waits = false;
  for (JobPtr& job : back) {
    const bool done = job->state.index() >= job->to || !job->failure.ok() || job->given_up.load();
    if (done) {
      --job_count_;
      answer(*job);
    } else {
      waits = true;  // The worker of history has yet to come there.
      submit(std::move(job));
    }
  }
  return waits;
}

}  // namespace gcoord::server
