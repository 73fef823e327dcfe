#include "server/history/record_text.h"

#include "common/base64.h"
#include "consensus/step/configuration.h"
#include "ledger/tiles/hidden_entry.h"
#include "locks/commands/command.h"
#include "locks/commands/ends.h"
#include "locks/commands/entry.h"
#include "locks/commands/group_command.h"
#include "locks/commands/move_command.h"
#include "locks/state/keys.h"
#include "membership/groups/command.h"
#include "membership/rendezvous/command.h"
#include "membership/view/command.h"
#include "security/audit/note.h"
#include "security/limits/command.h"
#include "security/limits/facts.h"
#include "security/roles/command.h"
#include "security/roles/facts.h"
#include "security/roles/rights.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

namespace gcoord::server {
namespace {

using locks::LockCommand;
using locks::LockCommandKind;

// Without it a reader gets changes of users without verifiers (hidden_records.h).
constexpr security::Right kHidingRight = security::Right::AuthAdmin;

std::string name_of(LockCommandKind kind) {
  switch (kind) {
    case LockCommandKind::Noop:
      return "noop";
    case LockCommandKind::Acquire:
      return "acquire";
    case LockCommandKind::Release:
      return "release";
    case LockCommandKind::CancelWait:
      return "cancel_wait";
    case LockCommandKind::BreakWait:
      return "break_wait";
    case LockCommandKind::RegisterSession:
      return "register_session";
    case LockCommandKind::ExpireSession:
      return "expire_session";
    case LockCommandKind::ExpireSessions:
      return "expire_sessions";
    case LockCommandKind::CloseSession:
      return "close_session";
    case LockCommandKind::BreakLock:
      return "break_lock";
    case LockCommandKind::EndDelay:
      return "end_delay";
    case LockCommandKind::Proclaim:
      return "proclaim";
    case LockCommandKind::Transfer:
      return "transfer";
    case LockCommandKind::MoveOut:
      return "move_out";
    case LockCommandKind::MoveIn:
      return "move_in";
    case LockCommandKind::MoveDone:
      return "move_done";
    case LockCommandKind::MoveLapse:
      return "move_lapse";
    case LockCommandKind::GroupRequest:
      return "group";
    case LockCommandKind::GroupWithdraw:
      return "group_withdraw";
    case LockCommandKind::Unknown:
      break;
  }
  return "unknown";
}

std::string name_of(protocol::RecordOrigin origin) {
  switch (origin) {
    case protocol::RecordOrigin::System:
      return "system";
    case protocol::RecordOrigin::Loopback:
      return "loopback";
    case protocol::RecordOrigin::Remote:
      return "remote";
  }
  return std::to_string(static_cast<unsigned>(origin));
}

std::string time_text(std::uint64_t time_ms) {
  const auto seconds = static_cast<std::time_t>(time_ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(
      text.data() + length, text.size() - length, ".%03uZ", static_cast<unsigned>(time_ms % 1000));
  return text.data();
}

template <typename Number>
void add_number(RecordFacts& facts, const char* name, Number number) {
  if (number != 0) {
    facts.emplace_back(name, std::to_string(number));
  }
}

// What nobody's session asked for. The text of an entry of a device stands in pieces before it.
void add_force(RecordFacts& facts, const LockCommand& command) {
  if (command.kind == LockCommandKind::BreakLock) {
    if (command.name != nullptr) {
      facts.emplace_back("name", std::string{command.name, command.name_bytes});
      const bool proven = (command.flags & locks::kBreakProven) != 0;
      facts.emplace_back(proven ? "principal" : "by", std::string{locks::break_who(command)});
      facts.emplace_back("reason", std::string{locks::break_reason(command)});
    }
    facts.emplace_back("holders", (command.flags & locks::kBreakAll) != 0 ? "all" : "one");
  }
  facts.emplace_back("name_hash", name_hash_text(command.name_hash));
  add_number(facts, "token", command.token.value);
}

// A lock on its way between shards. The text of an entry of a device stands in pieces before it.
void add_move(RecordFacts& facts, const LockCommand& command) {
  if (command.kind == LockCommandKind::MoveOut || command.kind == LockCommandKind::MoveIn) {
    if (command.name != nullptr) {
      facts.emplace_back("name", std::string{command.name, command.name_bytes});
    }
    const bool out = command.kind == LockCommandKind::MoveOut;
    facts.emplace_back(out ? "to_shard" : "from_shard",
                       std::to_string(locks::move_shard(command).value));
  }
  facts.emplace_back("name_hash", name_hash_text(command.name_hash));
  add_number(
      facts, "session", command.kind == LockCommandKind::MoveLapse ? command.session.value : 0);
  add_number(facts, "move", locks::move_number(command));
  add_number(facts, "token", command.token.value);
  if (command.kind == LockCommandKind::MoveIn) {
    facts.emplace_back("sessions", std::to_string(locks::moved_count(command)));
  }
}

// "5:1 6:3": each session that ends, with the serial of its registration.
void add_ends(RecordFacts& facts, const LockCommand& command) {
  const std::uint32_t count = locks::ends_count(command);
  facts.emplace_back("sessions", std::to_string(count));
  if (command.name == nullptr) {
    return;  // The list of an entry of a device stands in pieces before it.
  }
  std::string ends;
  for (std::uint32_t i = 0; i < count; ++i) {
    const locks::SessionEnd end = locks::session_end(command, i);
    ends +=
        (i == 0 ? "" : " ") + std::to_string(end.session.value) + ":" + std::to_string(end.serial);
  }
  facts.emplace_back("ends", std::move(ends));
}

std::string name_of(membership::GroupOp op) {
  switch (op) {
    case membership::GroupOp::Join:
      return "join";
    case membership::GroupOp::Leave:
      return "leave";
    case membership::GroupOp::Update:
      return "update";
    case membership::GroupOp::Arrive:
      return "arrive";
    case membership::GroupOp::Malformed:
      break;
  }
  return "unknown";
}

std::string name_of(membership::RendezvousOp op) {
  switch (op) {
    case membership::RendezvousOp::Arrive:
      return "rendezvous_arrive";
    case membership::RendezvousOp::Leave:
      return "rendezvous_leave";
    case membership::RendezvousOp::Malformed:
      break;
  }
  return "unknown";
}

void add_rendezvous(RecordFacts& facts, const LockCommand& command) {
  const membership::RendezvousCommand asked =
      membership::decode_rendezvous_command(locks::group_body(command));
  facts.emplace_back("op", name_of(asked.op));
  if (asked.op == membership::RendezvousOp::Arrive) {
    facts.emplace_back("members_min", std::to_string(asked.bounds.members_min));
    facts.emplace_back("members_max", std::to_string(asked.bounds.members_max));
    facts.emplace_back("last_call_ms", std::to_string(asked.bounds.last_call_ms));
    facts.emplace_back("payload_bytes", std::to_string(asked.payload.size()));
  }
  add_number(facts, "ttl_ms", command.ttl_ms);
}

// What a withdrawal takes back or ends.
std::string withdrawn_by(const LockCommand& command) {
  switch (command.flags) {
    case locks::kWithdrawRendezvous:
      return "rendezvous";
    case locks::kWithdrawLastCall:
      return "last_call";
    default:
      return "barrier";
  }
}

// What a session asked of a group or a rendezvous, or the end of a wait at one.
void add_group(RecordFacts& facts, const LockCommand& command) {
  facts.emplace_back("session", std::to_string(command.session.value));
  facts.emplace_back("sequence", std::to_string(command.sequence.value));
  if (command.name != nullptr) {
    facts.emplace_back("name", std::string{command.name, command.name_bytes});
  }
  facts.emplace_back("name_hash", name_hash_text(command.name_hash));
  if (command.kind == LockCommandKind::GroupWithdraw) {
    facts.emplace_back("of", withdrawn_by(command));
    add_number(facts, "generation", locks::group_generation(command));
    return;
  }
  if (command.name == nullptr) {
    // Name and body of an entry of a device stand in pieces before it.
    return add_number(facts, "ttl_ms", command.ttl_ms);
  }
  if (membership::is_rendezvous(locks::group_body(command))) {
    return add_rendezvous(facts, command);
  }
  const membership::GroupCommand asked =
      membership::decode_group_command(locks::group_body(command));
  facts.emplace_back("op", name_of(asked.op));
  if (asked.op == membership::GroupOp::Join) {
    facts.emplace_back("member", std::string{asked.id, asked.id_bytes});
    facts.emplace_back("payload_bytes", std::to_string(asked.payload_bytes));
  }
  if (asked.op == membership::GroupOp::Update) {
    facts.emplace_back("payload_bytes", std::to_string(asked.payload_bytes));
  }
  add_number(facts, "size", asked.barrier_size);
  add_number(facts, "ttl_ms", command.ttl_ms);
}

void add_command(RecordFacts& facts, const LockCommand& command) {
  if (locks::is_group_kind(command.kind)) {
    return add_group(facts, command);
  }
  if (command.kind == LockCommandKind::ExpireSessions) {
    return add_ends(facts, command);
  }
  if (locks::is_move_kind(command.kind)) {
    return add_move(facts, command);
  }
  if (command.kind == LockCommandKind::BreakLock || command.kind == LockCommandKind::EndDelay) {
    return add_force(facts, command);
  }
  facts.emplace_back("session", std::to_string(command.session.value));
  add_number(facts, "sequence", command.sequence.value);
  if (command.kind == LockCommandKind::Acquire) {
    if (command.name != nullptr) {
      facts.emplace_back("name", std::string{command.name, command.name_bytes});
    }
    facts.emplace_back("waits", (command.flags & locks::kAcquireWait) != 0 ? "yes" : "no");
  }
  if (locks::concerns_lock(command.kind)) {
    facts.emplace_back("name_hash", name_hash_text(command.name_hash));
  }
  const bool breaks = command.kind == LockCommandKind::BreakWait;
  add_number(facts, breaks ? "enqueued_at" : "token", command.token.value);
  if (command.kind == LockCommandKind::Transfer) {
    add_number(facts, "target_session", locks::office_word(command));
  }
  if (command.kind == LockCommandKind::Proclaim) {
    facts.emplace_back("note_bytes", std::to_string(command.note_bytes));
  }
  if (!locks::changes_office(command.kind)) {
    add_number(facts, "ttl_ms", command.ttl_ms);
    add_number(facts, "serial", command.serial);
  }
  if (command.kind == LockCommandKind::CancelWait) {
    facts.emplace_back("timed_out", (command.flags & locks::kCancelTimedOut) != 0 ? "yes" : "no");
  }
}

// "1 2 3": the nodes of the slots in a mask.
std::string nodes_of(const consensus::Configuration& configuration, std::uint32_t slots) {
  std::string text;
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    if ((slots >> slot & 1) != 0) {
      text += (text.empty() ? "" : " ") + std::to_string(configuration.node[slot].value);
    }
  }
  return text;
}

bool add_configuration(RecordFacts& facts, std::span<const std::byte> body) {
  consensus::Configuration configuration;
  if (body.size() != sizeof configuration) {
    return false;
  }
  std::memcpy(static_cast<void*>(&configuration), body.data(), body.size());
  facts.emplace_back("voters", nodes_of(configuration, configuration.voters));
  if (configuration.joint()) {
    facts.emplace_back("voters_outgoing", nodes_of(configuration, configuration.voters_outgoing));
  }
  facts.emplace_back("learners", nodes_of(configuration, configuration.learners));
  return true;
}

// Of a command that says its kind itself, first.
bool add_facts(RecordFacts& facts, std::vector<std::pair<std::string, std::string>> said) {
  for (auto& [name, text] : said) {
    if (name == "kind") {
      facts.front().second = std::move(text);
    } else {
      facts.emplace_back(name, std::move(text));
    }
  }
  return true;
}

bool add_view(RecordFacts& facts, std::span<const std::byte> body) {
  const auto command = membership::decode_view_command(body);
  return command && add_facts(facts, membership::view_command_facts(*command));
}

bool add_access(RecordFacts& facts, std::span<const std::byte> body) {
  const auto command = security::decode_access_command(body);
  return command && add_facts(facts, security::access_command_facts(*command));
}

bool add_note(RecordFacts& facts, std::span<const std::byte> body) {
  const auto note = security::decode_note(body);
  if (!note) {
    return false;
  }
  auto said = security::note_facts(*note);
  for (auto& [name, text] : said) {
    if (name == "order") {
      text = protocol::request_kind_name(protocol::RequestKind{note->order});
    }
  }
  return add_facts(facts, std::move(said));
}

bool add_limits(RecordFacts& facts, std::span<const std::byte> body) {
  const auto command = security::decode_limit_command(body);
  return command && add_facts(facts, security::limit_command_facts(*command));
}

// What stands behind the header; false if it cannot be read as what the header says.
bool add_body(RecordFacts& facts, RecordKind kind, std::span<const std::byte> body) {
  switch (kind) {
    case RecordKind::Noop:
      facts.front().second = "noop";
      return body.empty();
    case RecordKind::LockCommand: {
      const auto command = locks::decode(body);
      if (!command.ok()) {
        return false;
      }
      facts.front().second = name_of(command.value().kind);
      add_command(facts, command.value());
      return true;
    }
    case RecordKind::Configuration:
      facts.front().second = "configuration";
      return add_configuration(facts, body);
    case RecordKind::Publication:
      facts.front().second = "publication";
      facts.emplace_back("body", to_base64(body));
      return true;
    case RecordKind::Restore:
      facts.front().second = "restore";
      facts.emplace_back("body", to_base64(body));
      return true;
    case RecordKind::View:
      return add_view(facts, body);
    case RecordKind::Access:
      return add_access(facts, body);
    case RecordKind::SessionNote:
      return add_note(facts, body);
    case RecordKind::Limits:
      return add_limits(facts, body);
    case RecordKind::Part:
      facts.front().second = "part";
      return body.empty();
  }
  return false;
}

RecordFacts unknown(std::span<const std::byte> entry) {
  return {{"kind", "unknown"}, {"bytes", to_base64(entry)}};
}

// Of the turn on a device: nodes by their numbers, 1 for the least id of the cluster.
RecordFacts configuration_facts(const locks::LockEntry& entry) {
  RecordFacts facts = {{"kind", "configuration"}, {"nodes", "by number"}};
  add_configuration(facts,
                    std::as_bytes(std::span{entry.word}).first(sizeof(consensus::Configuration)));
  return facts;
}

RecordFacts device_facts(std::span<const std::byte> bytes) {
  locks::LockEntry entry;
  std::memcpy(static_cast<void*>(&entry), bytes.data(), sizeof entry);
  if (entry.kind() == locks::kEntryPiece) {
    const std::span<const std::byte> said =
        std::as_bytes(std::span{entry.word}).subspan(sizeof entry.word[0]);
    return {{"kind", "name_piece"},
            {"piece", std::to_string(entry.number())},
            {"bytes", to_base64(said)}};
  }
  if (entry.kind() == locks::kEntryConfiguration) {
    return configuration_facts(entry);
  }
  if (entry.kind() == locks::kEntryRecord) {
    return {{"kind", "record"}, {"bytes", std::to_string(entry.number())}};
  }
  if (entry.kind() == locks::kEntryBarrier || entry.kind() == 0) {
    return {{"kind", entry.kind() == 0 ? "noop" : "barrier"}};
  }
  const LockCommand command = locks::command_of(entry);
  if (command.kind == LockCommandKind::Unknown) {
    return unknown(bytes);
  }
  RecordFacts facts = {{"kind", name_of(command.kind)}};
  add_command(facts, command);
  return facts;
}

RecordFacts host_facts(std::span<const std::byte> entry) {
  const auto header = decode_record_header(entry);
  if (!header) {
    return unknown(entry);
  }
  RecordFacts facts = {{"kind", ""}, {"origin", name_of(header->origin)}};
  if (header->time_ms > kRecordTimeLeastMs) {
    facts.emplace_back("time", time_text(header->time_ms));
  }
  return add_body(facts, header->kind, record_body(entry)) ? facts : unknown(entry);
}

// What a stand-in says of a change of a user that has a verifier; nothing: it says anything else.
RecordFacts claims_of(std::span<const std::byte> shown) {
  const auto header = decode_record_header(shown);
  const auto command = header && header->kind == RecordKind::Access
                           ? security::decode_access_command(record_body(shown))
                           : std::nullopt;
  const bool of_password = command && (command->kind == security::AccessKind::UserAdd ||
                                       command->kind == security::AccessKind::UserPassword);
  return of_password && command->verifier.bytes.empty() ? host_facts(shown) : RecordFacts{};
}

// Anybody can write a stand-in, so what it says has names of its own: nobody takes it for proven.
RecordFacts hidden_facts(const ledger::HiddenEntry& hidden) {
  RecordFacts facts = {{"kind", "hidden"},
                       {"hidden", "yes"},
                       {"right_missing", std::string{security::right_name(kHidingRight)}},
                       {"leaf", to_base64(hidden.leaf)}};
  for (auto& [name, value] : claims_of(hidden.shown)) {
    facts.emplace_back(std::string{kClaim} + name, std::move(value));
  }
  return facts;
}

}  // namespace

// The high bytes of a record's time are not zero (kRecordTimeLeastMs); of an entry of a device they
// always are. Earlier releases wrote time 0 where they knew none: such a record of a command reads
// as an acquire of a name without bytes, which no device has.
bool is_device_entry(std::span<const std::byte> entry) {
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  if (entry.size() != sizeof(locks::LockEntry) ||
      !std::all_of(entry.begin() + 4, entry.begin() + 8, is_zero)) {
    return false;
  }
  const bool nameless = std::all_of(entry.begin() + 2, entry.begin() + 4, is_zero);
  return entry.front() != static_cast<std::byte>(RecordKind::LockCommand) || !nameless;
}

std::string name_hash_text(NameHash hash) {
  std::array<char, 33> text{};
  std::snprintf(text.data(),
                text.size(),
                "%016llx%016llx",
                static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text.data();
}

RecordFacts record_facts(std::span<const std::byte> entry) {
  if (const auto hidden = ledger::parse_hidden_entry(entry)) {
    return hidden_facts(*hidden);
  }
  return is_device_entry(entry) ? device_facts(entry) : host_facts(entry);
}

}  // namespace gcoord::server
