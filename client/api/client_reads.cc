// The reads of Client that say how fresh their answer must be.
#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/net/failure.h"
#include "client/reads/historical_reads.h"
#include "client/reads/lookups.h"
#include "client/reads/replica_reads.h"

#include <utility>

namespace gcoord::client {
namespace {

using LocksReading = BatchReading<std::optional<LockDescription>>;

ReadRequest rows_request(std::span<const std::string> names, const ReadOptions& options) {
  ReadRequest request{protocol::ReadQuestion::Row, {}, options};
  request.names.reserve(names.size());
  for (const std::string& name : names) {
    request.names.push_back({name, 0});
  }
  return request;
}

ReadRequest row_request(std::string_view name, const ReadOptions& options) {
  return {protocol::ReadQuestion::Row, {{std::string{name}, 0}}, options};
}

ReadRequest verdicts_request(std::span<const TokenCheck> checks, const ReadOptions& options) {
  return {protocol::ReadQuestion::Verdict, {checks.begin(), checks.end()}, options};
}

ReadRequest verdict_request(std::string_view name,
                            std::uint64_t token,
                            const ReadOptions& options) {
  return {protocol::ReadQuestion::Verdict, {{std::string{name}, token}}, options};
}

// What each kind of read makes of its outcome.

std::optional<LockDescription> lock_of(const protocol::NameAnswer& answer) {
  return answer.present ? std::optional{description_of(answer.row)} : std::nullopt;
}

LockReading lock_reading(const ReadOutcome& outcome) {
  return {lock_of(outcome.answers.front()), outcome.shards.front()};
}

VerdictReading verdict_reading(const ReadOutcome& outcome) {
  return {static_cast<Verdict>(outcome.answers.front().verdict), outcome.shards.front()};
}

LocksReading locks_reading(const ReadOutcome& outcome) {
  LocksReading reading{{}, outcome.shards};
  reading.answers.reserve(outcome.answers.size());
  for (const protocol::NameAnswer& each : outcome.answers) {
    reading.answers.push_back(lock_of(each));
  }
  return reading;
}

BatchReading<Verdict> verdicts_reading(const ReadOutcome& outcome) {
  BatchReading<Verdict> reading{{}, outcome.shards};
  reading.answers.reserve(outcome.answers.size());
  for (const protocol::NameAnswer& each : outcome.answers) {
    reading.answers.push_back(static_cast<Verdict>(each.verdict));
  }
  return reading;
}

// The blocking form and the future form of a read.

template <typename Reading>
Result<Reading> in_time(Core& core, ReadRequest request, Reading (*reading)(const ReadOutcome&)) {
  const auto outcome = await<Result<ReadOutcome>>(
      core, [&](auto callback) { read_locks(core, std::move(request), std::move(callback)); });
  return outcome.ok() ? Result<Reading>{reading(outcome.value())}
                      : Result<Reading>{outcome.status()};
}

template <typename Reading>
Future<Result<Reading>> in_future(Core& core,
                                  ReadRequest request,
                                  Reading (*reading)(const ReadOutcome&)) {
  return future_of<Result<Reading>>(core, [&](auto callback) {
    const auto answered = [callback, reading](const Result<ReadOutcome>& outcome) {
      callback(outcome.ok() ? Result<Reading>{reading(outcome.value())}
                            : Result<Reading>{outcome.status()});
    };
    read_locks(core, std::move(request), answered);
  });
}

}  // namespace

Result<LockReading> Client::read(std::string_view name, const ReadOptions& options) {
  return in_time<LockReading>(*impl_->core(), row_request(name, options), lock_reading);
}

Future<Result<LockReading>> Client::read_async(std::string_view name, const ReadOptions& options) {
  return in_future<LockReading>(*impl_->core(), row_request(name, options), lock_reading);
}

Result<VerdictReading> Client::read_check(std::string_view name,
                                          std::uint64_t token,
                                          const ReadOptions& options) {
  return in_time<VerdictReading>(
      *impl_->core(), verdict_request(name, token, options), verdict_reading);
}

Future<Result<VerdictReading>> Client::read_check_async(std::string_view name,
                                                        std::uint64_t token,
                                                        const ReadOptions& options) {
  return in_future<VerdictReading>(
      *impl_->core(), verdict_request(name, token, options), verdict_reading);
}

Result<LocksReading> Client::read_batch(std::span<const std::string> names,
                                        const ReadOptions& options) {
  return in_time<LocksReading>(*impl_->core(), rows_request(names, options), locks_reading);
}

Future<Result<LocksReading>> Client::read_batch_async(std::span<const std::string> names,
                                                      const ReadOptions& options) {
  return in_future<LocksReading>(*impl_->core(), rows_request(names, options), locks_reading);
}

Result<BatchReading<Verdict>> Client::read_check_batch(std::span<const TokenCheck> checks,
                                                       const ReadOptions& options) {
  return in_time<BatchReading<Verdict>>(
      *impl_->core(), verdicts_request(checks, options), verdicts_reading);
}

Future<Result<BatchReading<Verdict>>> Client::read_check_batch_async(
    std::span<const TokenCheck> checks, const ReadOptions& options) {
  return in_future<BatchReading<Verdict>>(
      *impl_->core(), verdicts_request(checks, options), verdicts_reading);
}

Result<LockReading> Client::read_at(std::string_view name,
                                    std::uint64_t index,
                                    std::uint32_t node_id) {
  return await<Result<LockReading>>(*impl_->core(), [&](auto callback) {
    read_past(*impl_->core(), {name, index, NodeId{node_id}}, std::move(callback));
  });
}

Future<Result<LockReading>> Client::read_at_async(std::string_view name,
                                                  std::uint64_t index,
                                                  std::uint32_t node_id) {
  return future_of<Result<LockReading>>(*impl_->core(), [&](auto callback) {
    read_past(*impl_->core(), {name, index, NodeId{node_id}}, std::move(callback));
  });
}

Result<ReadPage> Client::read_list(const ListOptions& list, const ReadOptions& options) {
  std::uint32_t node = options.node_id;
  for (const NodeView& each : cluster().nodes) {
    if (node == 0 && each.connected) {
      node = each.node_id;
    }
  }
  return await<Result<ReadPage>>(*impl_->core(), [&](auto callback) {
    client::read_list(*impl_->core(), NodeId{node}, list, options, std::move(callback));
  });
}

std::vector<Position> Client::positions() const {
  return impl_->core()->positions().all();
}

}  // namespace gcoord::client
