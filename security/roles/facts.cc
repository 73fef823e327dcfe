#include "security/roles/facts.h"

#include "security/roles/grant_rules.h"

namespace gcoord::security {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

std::string joined(const std::vector<RecoveryMark>& marks) {
  std::string text;
  for (const RecoveryMark& mark : marks) {
    text += (text.empty() ? "" : " ") + std::to_string(mark.node.value);
  }
  return text;
}

bool is_of_role(AccessKind kind) {
  return kind == AccessKind::RoleAdd || kind == AccessKind::RoleDelete ||
         kind == AccessKind::RoleGrant || kind == AccessKind::RoleRevoke;
}

}  // namespace

std::string_view access_kind_name(AccessKind kind) {
  switch (kind) {
    case AccessKind::UserAdd:
      return "user_add";
    case AccessKind::UserDelete:
      return "user_delete";
    case AccessKind::UserPassword:
      return "user_password";
    case AccessKind::UserGrant:
      return "user_grant";
    case AccessKind::UserRevoke:
      return "user_revoke";
    case AccessKind::UserEnable:
      return "user_enable";
    case AccessKind::UserDisable:
      return "user_disable";
    case AccessKind::RoleAdd:
      return "role_add";
    case AccessKind::RoleDelete:
      return "role_delete";
    case AccessKind::RoleGrant:
      return "role_grant";
    case AccessKind::RoleRevoke:
      return "role_revoke";
    case AccessKind::Enable:
      return "auth_enable";
    case AccessKind::Disable:
      return "auth_disable";
    case AccessKind::Recover:
      return "auth_recover";
  }
  return "unknown";
}

std::vector<std::pair<std::string, std::string>> access_command_facts(
    const AccessCommand& command) {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("kind", access_kind_name(command.kind));
  const bool of_role = is_of_role(command.kind);
  if (!command.name.empty()) {
    facts.emplace_back(of_role ? "role" : "user", command.name);
  }
  if (command.kind == AccessKind::UserAdd || command.kind == AccessKind::UserPassword) {
    facts.emplace_back("password", command.verifier.is_none() ? "none" : "set");
  }
  if (!command.roles.empty()) {
    facts.emplace_back(of_role ? "includes" : "roles", joined(command.roles));
  }
  if (!command.grants.empty()) {
    facts.emplace_back("grants", grants_text(command.grants));
  }
  if (!command.marks.empty()) {
    facts.emplace_back("nodes", joined(command.marks));
  }
  // What somebody says of himself is no principal.
  facts.emplace_back(command.proven ? "principal" : "by", command.who);
  facts.emplace_back("roles_epoch", std::to_string(command.expected));
  return facts;
}

}  // namespace gcoord::security
