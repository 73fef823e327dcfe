#include "server/access/requests.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "security/credentials/password.h"
#include "security/roles/authorize.h"
#include "security/roles/command.h"
#include "server/access/command_errors.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

using protocol::AccessAnswer;
using protocol::AccessOrder;
using protocol::AccessQuery;
using protocol::AccessSubject;
using protocol::ErrorCode;
using protocol::RequestKind;
using security::AccessCode;
using security::AccessCommand;
using security::AccessKind;
using security::AccessTable;

// As long as the verifier of a password is, for what is judged before it is made.
security::Verifier some_verifier() {
  constexpr std::size_t kBytes = 128;
  return {.algorithm = 1, .bytes = std::vector<std::byte>(kBytes)};
}

// Whether earlier releases would refuse the command. What it takes away they take away alike.
bool grants_later_right(const AccessOrder& order) {
  return order.kind != AccessKind::RoleRevoke &&
         std::ranges::any_of(order.grants, [](const security::Grant& grant) {
           return (grant.rights & ~security::kEarlierRights & security::kAllRights) != 0;
         });
}

struct Password {
  std::string text;

  ~Password() { security::wipe(text); }
};

AccessAnswer state_of(const AccessTable& table) {
  AccessAnswer answer;
  answer.epoch = table.epoch;
  answer.enabled = table.enabled;
  answer.recoveries = table.recoveries;
  answer.user_count = static_cast<std::uint32_t>(table.users.size());
  answer.role_count = static_cast<std::uint32_t>(table.roles.size());
  return answer;
}

protocol::UserRow row_of(const std::string& name, const security::User& user) {
  return {.name = name,
          .has_password = !user.verifier.is_none(),
          .disabled = user.disabled,
          .changed = user.changed,
          .roles = user.roles};
}

protocol::RoleRow row_of(const std::string& name, const security::Role& role) {
  return {name, role};
}

security::Role root_role() {
  return {.grants = {{.prefix = {}, .exact = false, .rights = security::kAllRights}},
          .includes = {}};
}

// The rows that the query wants, as many as fit.
template <typename Rows, typename Into>
bool take_rows(const Rows& rows, const AccessQuery& query, std::vector<Into>& into) {
  std::size_t bytes = 0;
  for (auto row = rows.upper_bound(query.after); row != rows.end(); ++row) {
    bytes += security::bytes_of(row->first, row->second);
    if (into.size() >= query.limit || (bytes > protocol::kAccessAnswerBytes && !into.empty())) {
      return true;
    }
    into.push_back(row_of(row->first, row->second));
  }
  return false;
}

// False: there is no such row.
template <typename Rows, typename Into>
bool take_named(const Rows& rows, const std::string& name, std::vector<Into>& into) {
  const auto row = rows.find(name);
  if (row == rows.end()) {
    return false;
  }
  into.push_back(row_of(row->first, row->second));
  return true;
}

// The user of this name, and all roles that it has by its own; a disabled one has none.
void take_user(const AccessTable& table, const std::string& name, AccessAnswer& answer) {
  const auto user = table.users.find(name);
  if (user == table.users.end()) {
    return;
  }
  answer.users.push_back(row_of(user->first, user->second));
  if (user->second.disabled) {
    return;
  }
  std::size_t bytes = 0;
  for (const std::string_view role : security::closure_of(table, user->second.roles)) {
    const auto row = table.roles.find(role);
    const security::Role& granted = row == table.roles.end() ? root_role() : row->second;
    bytes += security::bytes_of(role, granted);
    if (bytes > protocol::kAccessAnswerBytes && !answer.roles.empty()) {
      answer.more = true;
      return;
    }
    answer.roles.emplace_back(role, granted);
  }
}

Result<AccessAnswer> answer_of(const AccessTable& table, const AccessQuery& query) {
  AccessAnswer answer = state_of(table);
  const bool users = query.subject == AccessSubject::Users;
  if (query.subject == AccessSubject::Status) {
    return answer;
  }
  if (query.name.empty()) {
    answer.more = users ? take_rows(table.users, query, answer.users)
                        : take_rows(table.roles, query, answer.roles);
    return answer;
  }
  if (!users && query.name == security::kRootRole) {
    answer.roles.emplace_back(query.name, root_role());
    return answer;
  }
  const bool found = users ? take_named(table.users, query.name, answer.users)
                           : take_named(table.roles, query.name, answer.roles);
  if (!found) {
    return protocol::make_error(users ? ErrorCode::UserUnknown : ErrorCode::RoleUnknown,
                                shown(query.name));
  }
  return answer;
}

}  // namespace

void AccessRequests::refuse(const Asker& asker, const Status& status) {
  refuse_asker(environment_.replies, asker, status);
}

void AccessRequests::refuse(const Asker& asker, AccessCode code, const AccessCommand& command) {
  refuse(asker, access_error(code, command, environment_.machine.table().epoch));
}

void AccessRequests::on_request(protocol::ConnectionId connection,
                                const protocol::RequestSlot& request,
                                std::span<const std::byte> payload) {
  const Asker asker{connection, request};
  if (request.flags != 0) {
    return refuse(asker, protocol::make_error(ErrorCode::SlotInvalid));
  }
  if (request.kind == RequestKind::AccessChange) {
    return change(asker, payload);
  }
  GCOORD_ASSERT(request.kind == RequestKind::AccessGet);
  get(asker, payload);
}

// The principal is of the connection, so any node answers. Nobody hears more than that rights are
// checked.
void AccessRequests::get_self(const Asker& asker) {
  const AccessTable& table = environment_.machine.table();
  AccessAnswer said;
  said.enabled = table.enabled;
  said.self = self(asker);
  const security::PrincipalKind kind = said.self->principal.kind;
  if (kind != security::PrincipalKind::Anonymous) {
    said.epoch = table.epoch;
  }
  if (security::may_be_user(kind)) {
    take_user(table, said.self->principal.name, said);
  }
  answer(asker, std::move(said));
}

bool AccessRequests::leads(const Asker& asker) {
  const ShardView shard = environment_.log.view(kAccessShard);
  if (shard.role == consensus::Role::Leader) {
    return true;
  }
  environment_.replies.reply(asker.connection, not_leader_reply(asker.request, shard.leader), {});
  return false;
}

void AccessRequests::answer(const Asker& asker, AccessAnswer answer) {
  protocol::ReplySlot reply = protocol::reply_to(asker.request);
  reply.extra = answer.epoch;
  environment_.replies.reply(asker.connection, reply, protocol::encode_access_answer(answer));
}

void AccessRequests::get(const Asker& asker, std::span<const std::byte> payload) {
  const auto query = protocol::decode_access_query(payload);
  if (!query.ok()) {
    return refuse(asker, query.status());
  }
  if (query.value().subject == AccessSubject::Self) {
    return get_self(asker);
  }
  if (!query.value().replica && !leads(asker)) {
    return;
  }
  auto found = answer_of(environment_.machine.table(), query.value());
  if (!found.ok()) {
    return refuse(asker, found.status());
  }
  answer(asker, std::move(found).value());
}

protocol::AccessSelf AccessRequests::self(const Asker& asker) const {
  return environment_.self ? environment_.self(asker.connection) : protocol::AccessSelf{};
}

std::string AccessRequests::proven(const Asker& asker) const {
  const security::Principal principal = self(asker).principal;
  return security::may_be_user(principal.kind) ? principal.name : std::string{};
}

Status AccessRequests::check(const Asker& asker, const AccessOrder& order) const {
  if (!is_printable(order.who)) {
    return protocol::make_error(ErrorCode::SlotInvalid);
  }
  const AccessTable& table = environment_.machine.table();
  const bool takes = environment_.log.abilities().takes_records;
  // The log gets the first admin before anything else, so that nothing can come between.
  if (environment_.machine.first_change()) {
    return protocol::make_error(ErrorCode::AccessNotReady);
  }
  if (!takes || (table.epoch == 0 && !environment_.all_have())) {
    return protocol::make_error(ErrorCode::AccessNotReady);
  }
  if (grants_later_right(order) && !environment_.all_guard()) {
    return protocol::make_error(ErrorCode::SafeguardsNotReady);
  }
  if (order.kind == AccessKind::Enable) {
    const auto rights = security::rights_of(table, proven(asker));
    if (!rights->allows(security::Right::AuthAdmin, {})) {
      return protocol::make_error(security::has_admin(table) ? ErrorCode::AdminUnproven
                                                             : ErrorCode::AdminMissing);
    }
  }
  if (!order.password.empty() && !environment_.hash) {
    return protocol::make_error(ErrorCode::PasswordsUnsupported);
  }
  return changes_.size() + *hashing_ < kChangesMax ? Status{}
                                                   : protocol::make_error(ErrorCode::Overloaded);
}

AccessCommand AccessRequests::command_of(const Asker& asker, const AccessOrder& order) const {
  AccessCommand command;
  command.kind = order.kind;
  command.expected = order.expected != 0 ? order.expected : environment_.machine.table().epoch;
  command.number = order.number;
  command.name = order.name;
  command.roles = order.roles;
  command.grants = order.grants;
  command.who = proven(asker);
  command.proven = !command.who.empty();
  if (!command.proven) {
    command.who = order.who;
  }
  if (!order.password.empty()) {
    command.verifier = some_verifier();
  }
  return command;
}

void AccessRequests::change(const Asker& asker, std::span<const std::byte> payload) {
  auto decoded = protocol::decode_access_order(payload);
  if (!decoded.ok()) {
    return refuse(asker, decoded.status());
  }
  AccessOrder& order = decoded.value();
  Password password{order.password};
  security::wipe(order.password);
  order.password = password.text.empty() ? "" : "x";  // That there is one is all that is judged.
  if (!leads(asker)) {
    return;
  }
  Change change{asker, command_of(asker, order), order.expected == 0};
  if (environment_.machine.state_of_access().made_by(order.number)) {
    return answer_change(change, AccessCode::Applied);  // Its first answer was lost.
  }
  if (const Status status = check(asker, order); !status.ok()) {
    return refuse(asker, status);
  }
  if (encode_access_command(change.command).size() > security::kAccessCommandBytesMax) {
    return refuse(asker, AccessCode::TableFull, change.command);
  }
  const AccessCode code = environment_.machine.state_of_access().preview(change.command);
  if (code != AccessCode::Applied) {
    return refuse(asker, code, change.command);
  }
  if (order.dry_run) {
    return answer(asker, state_of(environment_.machine.table()));
  }
  if (password.text.empty()) {
    return propose(std::move(change));
  }
  hash(std::move(change), password.text);
}

void AccessRequests::hash(Change change, std::string password) {
  ++*hashing_;
  // Who hashes has a copy of its own, and wipes that.
  const Password given{std::exchange(password, {})};
  environment_.hash(given.text,
                    [this,
                     alive = std::weak_ptr<std::size_t>(hashing_),
                     change = std::move(change)](Result<security::Verifier> verifier) mutable {
                      const auto hashing = alive.lock();
                      if (hashing == nullptr) {
                        return;
                      }
                      --*hashing;
                      if (!verifier.ok()) {
                        return refuse(change.asker, verifier.status());
                      }
                      change.command.verifier = std::move(verifier).value();
                      propose(std::move(change));
                    });
}

// The gate judged the request when it came. Since then a password was hashed, or others were
// faster, and one of their changes may have taken the right away. The command is for one epoch, so
// what is judged here is what it will be made in.
bool AccessRequests::still_may(const AccessCommand& command) const {
  const AccessTable& table = environment_.machine.table();
  return !table.enabled ||
         (command.proven && security::rights_of(table, command.who)
                                ->allows_all_below(security::Right::AuthAdmin, {}));
}

// Nor is a change made for a connection that is somebody else by now, or nobody: whoever proved it
// by a password of before may have sent it. A client that only hung up sends it again.
void AccessRequests::propose(Change change) {
  const bool is_same = !change.command.proven || proven(change.asker) == change.command.who;
  if (!is_same || !still_may(change.command)) {
    return refuse(change.asker,
                  protocol::make_error(ErrorCode::NotAllowed,
                                       shown(change.command.who) + " has no right auth.admin now"));
  }
  if (change.newest) {
    change.command.expected = environment_.machine.table().epoch;
  }
  ++change.attempts;
  const std::uint64_t cookie = cookies_.next();
  const std::vector<std::byte> record =
      access_record(encode_access_command(change.command),
                    environment_.replies.origin(change.asker.connection),
                    environment_.wall_ms());
  changes_.emplace(cookie, std::move(change));
  environment_.log.propose(kAccessShard, record, cookie);
}

void AccessRequests::answer_change(const Change& change, AccessCode code) {
  const auto made = environment_.machine.state_of_access().made_by(change.command.number);
  if (code != AccessCode::Applied && !made) {
    return refuse(change.asker, code, change.command);
  }
  AccessAnswer said = state_of(environment_.machine.table());
  said.epoch = made.value_or(said.epoch);
  answer(change.asker, std::move(said));
}

void AccessRequests::on_decided(std::uint64_t cookie, AccessCode code) {
  auto found = changes_.extract(cookie);
  if (found.empty()) {
    return;
  }
  Change& change = found.mapped();
  const bool again = code == AccessCode::Stale && change.newest && change.attempts < kAttemptsMax;
  if (again) {
    return propose(std::move(change));
  }
  answer_change(change, code);
}

void AccessRequests::on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (auto found = changes_.extract(cookie); !found.empty()) {
    const Asker& asker = found.mapped().asker;
    environment_.replies.reply(
        asker.connection, engine_refusal(asker.request, status, leader_hint), {});
  }
}

}  // namespace gcoord::server
