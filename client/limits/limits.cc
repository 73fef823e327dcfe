#include "client/limits/limits.h"

#include "client/net/failure.h"
#include "protocol/limits/messages.h"
#include "security/limits/network.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using security::LimitCommand;

Limit limit_of(const protocol::LimitRow& row) {
  const security::Limit& limit = row.second;
  return {.scope = static_cast<LimitScope>(row.first.scope),
          .name = row.first.name,
          .rate = limit.rate,
          .burst = limit.burst,
          .connections = limit.connections,
          .sessions = limit.sessions,
          .locks = limit.locks,
          .waiters = limit.waiters,
          .watches = limit.watches,
          .bytes = limit.bytes,
          .session_ttl_ms_max = limit.session_ttl_ms};
}

Denial denial_of(const protocol::DenialRow& row) {
  return {.scope = static_cast<DenialScope>(row.first.scope),
          .name = row.first.name,
          .until_ms = row.second.until_ms,
          .reason = row.second.reason};
}

std::optional<LimitsReport> read_report(std::span<const std::byte> payload) {
  const auto decoded = protocol::decode_limits_answer(payload);
  if (!decoded.ok()) {
    return std::nullopt;
  }
  const protocol::LimitsAnswer& said = decoded.value();
  LimitsReport report;
  report.epoch = said.epoch;
  report.limit_count = said.limit_count;
  report.denial_count = said.denial_count;
  report.more = said.more;
  std::ranges::transform(said.limits, std::back_inserter(report.limits), limit_of);
  std::ranges::transform(said.denials, std::back_inserter(report.denials), denial_of);
  return report;
}

constexpr StateRequest<LimitsReport> kGet{
    protocol::RequestKind::LimitsGet, "limits", "limits", read_report};
constexpr StateRequest<LimitsReport> kChange{
    protocol::RequestKind::LimitsChange, "limits", "limits", read_report};

// The one text of what can be written in several ways: a network, a serial.
std::string canonical_network(const std::string& name) {
  const auto network = security::parse_network(name);
  return network ? security::to_string(*network) : name;
}

std::string canonical_serial(std::string name) {
  std::erase(name, ':');
  std::ranges::transform(name, name.begin(), [](char each) {
    return each >= 'a' && each <= 'f' ? static_cast<char>(each - 'a' + 'A') : each;
  });
  return name;
}

void add_limit(LimitCommand& command, const LimitsChange& change) {
  const Limit& limit = change.limit;
  command.limit_scope = static_cast<security::LimitScope>(limit.scope);
  command.name = limit.scope == LimitScope::Network ? canonical_network(limit.name) : limit.name;
  if (change.action == LimitsAction::Set) {
    command.limit = {.rate = limit.rate,
                     .burst = limit.burst,
                     .connections = limit.connections,
                     .sessions = limit.sessions,
                     .locks = limit.locks,
                     .waiters = limit.waiters,
                     .watches = limit.watches,
                     .bytes = limit.bytes,
                     .session_ttl_ms = limit.session_ttl_ms_max};
  }
}

void add_denial(LimitCommand& command, const LimitsChange& change) {
  const Denial& denial = change.denial;
  command.denial_scope = static_cast<security::DenialScope>(denial.scope);
  command.name = denial.scope == DenialScope::Network  ? canonical_network(denial.name)
                 : denial.scope == DenialScope::Serial ? canonical_serial(denial.name)
                                                       : denial.name;
  if (change.action == LimitsAction::Deny) {
    command.denial.reason = denial.reason;
  }
}

Result<protocol::LimitsOrder> order_of(const LimitsChange& change) {
  protocol::LimitsOrder order;
  LimitCommand& command = order.command;
  if (change.action < LimitsAction::Set || change.action > LimitsAction::Allow) {
    return failure(ErrorCode::OptionInvalid, "the action");
  }
  const bool denies = change.action == LimitsAction::Deny;
  if (change.denial.reason.size() > security::kDenialReasonBytesMax ||
      (denies && change.duration_ms == 0)) {
    return failure(ErrorCode::DenialInvalid, denies ? change.denial.name : "the reason");
  }
  order.dry_run = change.dry_run;
  order.duration_ms = denies ? change.duration_ms : 0;
  command.kind = static_cast<security::LimitKind>(change.action);
  command.expected = change.epoch;
  command.number = drawn_number();
  command.who = change.who.substr(0, security::kLimitWhoBytesMax);
  if (command.denies()) {
    add_denial(command, change);
  } else {
    add_limit(command, change);
  }
  if (command.name.size() > security::kLimitNameBytesMax) {
    return failure(command.denies() ? ErrorCode::DenialInvalid : ErrorCode::LimitInvalid,
                   "the name is too long");
  }
  return order;
}

}  // namespace

void limits(Core& core, const LimitsQuery& query, Callback<Result<LimitsReport>> callback) {
  if (query.after_name.size() > security::kLimitNameBytesMax) {
    return refuse(core, std::move(callback), failure(ErrorCode::LimitInvalid, "too long"));
  }
  const protocol::LimitsQuery asked{.denials = query.denials,
                                    .replica = query.node_id != 0,
                                    .after_scope = query.after_scope,
                                    .after_name = query.after_name};
  kGet.submit(
      core, {NodeId{query.node_id}, protocol::encode_limits_query(asked)}, std::move(callback));
}

void change_limits(Core& core,
                   const LimitsChange& change,
                   Callback<Result<LimitsReport>> callback) {
  const auto order = order_of(change);
  if (!order.ok()) {
    return refuse(core, std::move(callback), order.status());
  }
  // A node of an earlier release could not read it. Before the first Welcome there is nothing to go
  // by.
  if (order.value().command.is_safeguard() && core.shard_count() != 0 &&
      !core.has(protocol::Feature::Safeguards)) {
    return refuse(core, std::move(callback), failure(ErrorCode::SafeguardsNotReady));
  }
  kChange.submit(core, {{}, protocol::encode_limits_order(order.value())}, std::move(callback));
}

}  // namespace gcoord::client
