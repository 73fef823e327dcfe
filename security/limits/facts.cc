#include "security/limits/facts.h"

namespace gcoord::security {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

void add_number(Facts& facts, const char* name, std::uint64_t number) {
  if (number != 0) {
    facts.emplace_back(name, std::to_string(number));
  }
}

void add_limit(Facts& facts, const Limit& limit) {
  add_number(facts, "rate", limit.rate);
  add_number(facts, "burst", limit.burst);
  add_number(facts, "connections", limit.connections);
  add_number(facts, "sessions", limit.sessions);
  add_number(facts, "locks", limit.locks);
  add_number(facts, "waiters", limit.waiters);
  add_number(facts, "watches", limit.watches);
  add_number(facts, "bytes", limit.bytes);
  add_number(facts, "session_ttl_ms_max", limit.session_ttl_ms);
}

}  // namespace

std::string_view limit_kind_name(LimitKind kind) {
  switch (kind) {
    case LimitKind::Set:
      return "limit_set";
    case LimitKind::Remove:
      return "limit_remove";
    case LimitKind::Deny:
      return "deny_add";
    case LimitKind::Allow:
      return "deny_remove";
    case LimitKind::OrderPrune:
      return "prune_order";
    case LimitKind::ConfirmPrune:
      return "prune_confirm";
    case LimitKind::CancelPrune:
      return "prune_cancel";
  }
  return "unknown";
}

std::string_view limit_scope_name(LimitScope scope) {
  switch (scope) {
    case LimitScope::Principal:
      return "principal";
    case LimitScope::Prefix:
      return "prefix";
    case LimitScope::Network:
      return "network";
  }
  return "unknown";
}

std::string_view denial_scope_name(DenialScope scope) {
  switch (scope) {
    case DenialScope::Principal:
      return "principal";
    case DenialScope::Serial:
      return "serial";
    case DenialScope::CertificateName:
      return "certificate_name";
    case DenialScope::Network:
      return "network";
  }
  return "unknown";
}

Facts prune_facts(const PruneBounds& bounds) {
  constexpr std::uint32_t kEachShard = 0xffff'ffff;
  Facts facts;
  facts.emplace_back("log", bounds.log == 1 ? "cluster" : "shards");
  if (bounds.log != 1) {
    facts.emplace_back("shard", bounds.shard == kEachShard ? "all" : std::to_string(bounds.shard));
  }
  add_number(facts, "below", bounds.below);
  add_number(facts, "entries", bounds.entries);
  add_number(facts, "bytes", bounds.bytes);
  add_number(facts, "age_ms", bounds.age_ms);
  return facts;
}

Facts limit_command_facts(const LimitCommand& command) {
  Facts facts;
  facts.emplace_back("kind", limit_kind_name(command.kind));
  if (command.prunes()) {
    for (auto& fact : prune_facts(command.prune)) {
      facts.push_back(std::move(fact));
    }
  } else {
    facts.emplace_back(command.denies() ? denial_scope_name(command.denial_scope)
                                        : limit_scope_name(command.limit_scope),
                       command.name);
  }
  if (command.kind == LimitKind::Set) {
    add_limit(facts, command.limit);
  } else if (command.kind == LimitKind::Deny) {
    facts.emplace_back("until_ms", std::to_string(command.denial.until_ms));
    facts.emplace_back("reason", command.denial.reason);
  }
  // What somebody says of himself is no principal.
  facts.emplace_back(command.proven ? "by_principal" : "by", command.who);
  facts.emplace_back("limits_epoch", std::to_string(command.expected));
  return facts;
}

}  // namespace gcoord::security
