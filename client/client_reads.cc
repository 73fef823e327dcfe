// The reads of Client that say how fresh their answer must be.
#include "client/blocking.h"
#include "client/client_impl.h"
#include "client/failure.h"
#include "client/past_reads.h"
#include "client/replica_reads.h"

#include <utility>

namespace gcoord::client {
namespace {

Result<ReadOutcome> outcome_of(Core& core, ReadRequest request) {
  return await<Result<ReadOutcome>>(
      core, [&](auto callback) { read_locks(core, std::move(request), std::move(callback)); });
}

ReadRequest rows_request(std::span<const std::string> names, const ReadOptions& options) {
  ReadRequest request{rpc::ReadQuestion::Row, {}, options};
  request.names.reserve(names.size());
  for (const std::string& name : names) {
    request.names.push_back({name, 0});
  }
  return request;
}

std::optional<LockDescription> lock_of(const rpc::NameAnswer& answer) {
  return answer.present ? std::optional{description_of(answer.row)} : std::nullopt;
}

}  // namespace

Result<LockReading> Client::read(std::string_view name, const ReadOptions& options) {
  const std::string names[] = {std::string{name}};
  auto outcome = outcome_of(*impl_->core(), rows_request(names, options));
  if (!outcome.ok()) {
    return outcome.status();
  }
  return LockReading{lock_of(outcome.value().answers.front()), outcome.value().shards.front()};
}

Result<VerdictReading> Client::read_check(std::string_view name,
                                          std::uint64_t token,
                                          const ReadOptions& options) {
  auto outcome = outcome_of(*impl_->core(),
                            {rpc::ReadQuestion::Verdict, {{std::string{name}, token}}, options});
  if (!outcome.ok()) {
    return outcome.status();
  }
  return VerdictReading{static_cast<Verdict>(outcome.value().answers.front().verdict),
                        outcome.value().shards.front()};
}

Result<BatchReading<std::optional<LockDescription>>> Client::read_batch(
    std::span<const std::string> names, const ReadOptions& options) {
  auto outcome = outcome_of(*impl_->core(), rows_request(names, options));
  if (!outcome.ok()) {
    return outcome.status();
  }
  BatchReading<std::optional<LockDescription>> reading{{}, std::move(outcome.value().shards)};
  reading.answers.reserve(names.size());
  for (const rpc::NameAnswer& each : outcome.value().answers) {
    reading.answers.push_back(lock_of(each));
  }
  return reading;
}

Result<BatchReading<Verdict>> Client::read_check_batch(std::span<const TokenCheck> checks,
                                                       const ReadOptions& options) {
  auto outcome = outcome_of(*impl_->core(),
                            {rpc::ReadQuestion::Verdict, {checks.begin(), checks.end()}, options});
  if (!outcome.ok()) {
    return outcome.status();
  }
  BatchReading<Verdict> reading{{}, std::move(outcome.value().shards)};
  reading.answers.reserve(checks.size());
  for (const rpc::NameAnswer& each : outcome.value().answers) {
    reading.answers.push_back(static_cast<Verdict>(each.verdict));
  }
  return reading;
}

Result<LockReading> Client::read_at(std::string_view name,
                                    std::uint64_t index,
                                    std::uint32_t node_id) {
  return await<Result<LockReading>>(*impl_->core(), [&](auto callback) {
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
