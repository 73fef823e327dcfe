#include "server/limits/requests.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "server/interfaces/replies.h"
#include "server/limits/command_errors.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using protocol::LimitsAnswer;
using protocol::LimitsOrder;
using protocol::LimitsQuery;
using protocol::RequestKind;
using security::LimitCode;
using security::LimitCommand;
using security::LimitKind;

bool has_ended(const security::Denial& denial, std::uint64_t now_ms) {
  return denial.until_ms <= now_ms;
}

// A limit does not end.
bool has_ended(const security::Limit&, std::uint64_t) {
  return false;
}

// Rows that a query wants, as many as fit.
struct RowQuery {
  const LimitsQuery& query;
  std::uint64_t now_ms = 0;

  // Whether there are more.
  template <typename Rows, typename Into>
  bool take(const Rows& rows, Into& into) const {
    using Key = typename Rows::key_type;
    const Key after{static_cast<decltype(Key::scope)>(query.after_scope), query.after_name};
    std::size_t bytes = 0;
    for (auto row = rows.upper_bound(after); row != rows.end(); ++row) {
      if (has_ended(row->second, now_ms)) {
        continue;
      }
      bytes += row->first.name.size() + security::kDenialReasonBytesMax;
      if (bytes > protocol::kLimitsAnswerBytes && !into.empty()) {
        return true;
      }
      into.emplace_back(row->first, row->second);
    }
    return false;
  }
};

}  // namespace

void LimitRequests::refuse(const Asker& asker, const Status& status) {
  refuse_asker(environment_.replies, asker, status);
}

void LimitRequests::on_request(protocol::ConnectionId connection,
                               const protocol::RequestSlot& request,
                               std::span<const std::byte> payload) {
  const Asker asker{connection, request};
  if (request.flags != 0) {
    return refuse(asker, protocol::make_error(ErrorCode::SlotInvalid));
  }
  if (request.kind == RequestKind::LimitsChange) {
    return change(asker, payload);
  }
  GCOORD_ASSERT(request.kind == RequestKind::LimitsGet);
  get(asker, payload);
}

bool LimitRequests::leads(const Asker& asker) {
  const ShardView shard = environment_.log.view(kLimitsShard);
  if (shard.role == consensus::Role::Leader) {
    return true;
  }
  environment_.replies.reply(asker.connection, not_leader_reply(asker.request, shard.leader), {});
  return false;
}

LimitsAnswer LimitRequests::state() const {
  const security::LimitTable& table = environment_.machine.table();
  LimitsAnswer answer;
  answer.epoch = table.epoch;
  answer.limit_count = static_cast<std::uint32_t>(table.limits.size());
  const std::uint64_t now_ms = environment_.wall_ms();
  answer.denial_count = static_cast<std::uint32_t>(std::ranges::count_if(
      table.denials, [&](const auto& row) { return !has_ended(row.second, now_ms); }));
  return answer;
}

void LimitRequests::answer(const Asker& asker, const LimitsAnswer& answer) {
  protocol::ReplySlot reply = protocol::reply_to(asker.request);
  reply.extra = answer.epoch;
  environment_.replies.reply(asker.connection, reply, protocol::encode_limits_answer(answer));
}

void LimitRequests::get(const Asker& asker, std::span<const std::byte> payload) {
  const auto query = protocol::decode_limits_query(payload);
  if (!query.ok()) {
    return refuse(asker, query.status());
  }
  if (!query.value().replica && !leads(asker)) {
    return;
  }
  const security::LimitTable& table = environment_.machine.table();
  LimitsAnswer found = state();
  const RowQuery rows{query.value(), environment_.wall_ms()};
  found.more = query.value().denials ? rows.take(table.denials, found.denials)
                                     : rows.take(table.limits, found.limits);
  answer(asker, found);
}

Status LimitRequests::check(const Asker& asker, const LimitsOrder& order) const {
  const LimitCommand& command = order.command;
  if (!is_printable(command.who) || !is_printable(command.denial.reason)) {
    return protocol::make_error(ErrorCode::SlotInvalid);
  }
  const bool takes = environment_.log.abilities().takes_records;
  if (!takes || (environment_.machine.table().epoch == 0 && !environment_.all_have())) {
    return protocol::make_error(ErrorCode::LimitsNotReady);
  }
  // No command of this kind before all nodes know it; some are known to once the table has one.
  if (command.is_safeguard() && !security::has_safeguards(environment_.machine.table()) &&
      !environment_.all_guard()) {
    return protocol::make_error(ErrorCode::SafeguardsNotReady);
  }
  const DenialSubject* const self = command.kind == LimitKind::Deny && environment_.subject
                                        ? environment_.subject(asker.connection)
                                        : nullptr;
  if (self != nullptr && is_about(command.denial_scope, command.name, *self)) {
    return protocol::make_error(ErrorCode::DeniesSelf, shown(command.name));
  }
  return changes_.size() < kChangesMax ? Status{} : protocol::make_error(ErrorCode::Overloaded);
}

void LimitRequests::complete(Change& change) const {
  LimitCommand& command = change.command;
  if (change.newest) {
    command.expected = environment_.machine.table().epoch;
  }
  command.now_ms = environment_.wall_ms();
  if (command.kind == LimitKind::Deny) {
    const std::uint64_t duration_ms = std::min(change.duration_ms, security::kDenialMsMax + 1);
    command.denial.until_ms = command.now_ms + duration_ms;
  }
  const std::string proven =
      environment_.proven ? environment_.proven(change.asker.connection) : std::string{};
  if (!proven.empty()) {
    command.who = proven;
    command.proven = true;
  }
}

void LimitRequests::change(const Asker& asker, std::span<const std::byte> payload) {
  const auto order = protocol::decode_limits_order(payload);
  if (!order.ok()) {
    return refuse(asker, order.status());
  }
  if (!leads(asker)) {
    return;
  }
  Change change{
      asker, order.value().command, order.value().duration_ms, order.value().command.expected == 0};
  complete(change);
  const security::LimitCpu& state_now = environment_.machine.state_of_limits();
  if (state_now.made_by(change.command.number)) {
    return answer_change(change, LimitCode::Applied);  // Its first answer was lost.
  }
  if (const Status status = check(asker, order.value()); !status.ok()) {
    return refuse(asker, status);
  }
  const LimitCode code = state_now.preview(change.command);
  if (code != LimitCode::Applied) {
    return refuse(asker, limits_error(code, change.command, state_now.table().epoch));
  }
  if (encode_limit_command(change.command).size() > security::kLimitCommandBytesMax) {
    return refuse(asker,
                  limits_error(LimitCode::TableFull, change.command, state_now.table().epoch));
  }
  if (order.value().dry_run) {
    return answer(asker, state());
  }
  propose(std::move(change));
}

void LimitRequests::propose(Change change) {
  complete(change);
  ++change.attempts;
  const std::uint64_t cookie = cookies_.next();
  const std::vector<std::byte> record =
      limits_record(encode_limit_command(change.command),
                    environment_.replies.origin(change.asker.connection),
                    change.command.now_ms);
  changes_.emplace(cookie, std::move(change));
  environment_.log.propose(kLimitsShard, record, cookie);
}

void LimitRequests::answer_change(const Change& change, LimitCode code) {
  const security::LimitCpu& state_now = environment_.machine.state_of_limits();
  const auto made = state_now.made_by(change.command.number);
  if (code != LimitCode::Applied && !made) {
    return refuse(change.asker, limits_error(code, change.command, state_now.table().epoch));
  }
  LimitsAnswer said = state();
  said.epoch = made.value_or(said.epoch);
  answer(change.asker, said);
}

void LimitRequests::on_decided(std::uint64_t cookie, LimitCode code) {
  auto found = changes_.extract(cookie);
  if (found.empty()) {
    return;
  }
  Change& change = found.mapped();
  const bool again = code == LimitCode::Stale && change.newest && change.attempts < kAttemptsMax;
  if (again) {
    return propose(std::move(change));
  }
  answer_change(change, code);
}

void LimitRequests::on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (auto found = changes_.extract(cookie); !found.empty()) {
    const Asker& asker = found.mapped().asker;
    environment_.replies.reply(
        asker.connection, engine_refusal(asker.request, status, leader_hint), {});
  }
}

}  // namespace gcoord::server
