#include "cli/access/whoami.h"

#include "cli/terminal/any_node.h"
#include "cli/terminal/command.h"
#include "common/text/utc_text.h"
#include "protocol/error_codes.h"
#include "security/roles/rights.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

using client::AccessReport;
using client::AccessSelf;

// What all roles grant together: a line for each prefix or name.
struct Granted {
  std::string prefix;
  bool exact = false;
  security::RightMask rights = 0;

  std::string scope() const {
    if (prefix.empty()) {
      return "everything";
    }
    return exact ? prefix : prefix + "*";
  }

  bool all() const { return rights == security::kAllRights; }

  std::string text() const { return all() ? "all rights" : security::rights_text(rights); }
};

std::vector<Granted> granted_by(const std::vector<client::AccessRole>& roles) {
  std::map<std::pair<std::string, bool>, security::RightMask> masks;
  for (const client::AccessRole& role : roles) {
    for (const client::AccessGrant& grant : role.grants) {
      security::RightMask& mask = masks[{grant.prefix, grant.exact}];
      for (const std::string& name : grant.rights) {
        const auto right = security::parse_right(name);
        mask |= right ? security::bit_of(*right) : 0;
      }
    }
  }
  std::vector<Granted> granted;
  for (const auto& [scope, mask] : masks) {
    granted.push_back({scope.first, scope.second, mask});
  }
  return granted;
}

Json json_of(const Granted& granted) {
  Json rights = Json::array();
  for (const security::RightRow& row : security::right_rows()) {
    if ((granted.rights & security::bit_of(row.right)) != 0) {
      rights.push_back(std::string{row.name});
    }
  }
  return {{"prefix", granted.prefix}, {"only", granted.exact}, {"rights", rights}};
}

// Of a principal that users are looked up by: "enabled", "disabled", or "none" has its name.
std::string user_state(const AccessReport& report) {
  if (report.users.empty()) {
    return "none";
  }
  return report.users.front().disabled ? "disabled" : "enabled";
}

std::vector<std::string> own_roles(const AccessReport& report) {
  return report.users.empty() ? std::vector<std::string>{} : report.users.front().roles;
}

// Roles that it has by including ones.
std::vector<std::string> included_roles(const AccessReport& report) {
  const std::vector<std::string> own = own_roles(report);
  std::vector<std::string> included;
  for (const client::AccessRole& role : report.roles) {
    if (std::ranges::find(own, role.name) == own.end()) {
      included.push_back(role.name);
    }
  }
  return included;
}

// An answer, and the client that got it.
struct Answered {
  const AccessReport& report;
  const AccessSelf& self;
  const Globals& globals;
  std::uint32_t node = 0;
  std::int64_t token_left_s = 0;

  bool anonymous() const { return self.kind == "anonymous"; }

  std::string principal() const { return self.kind + (self.name.empty() ? "" : " " + self.name); }
};

Json json_of(const Answered& answered) {
  const AccessSelf& self = answered.self;
  Json grants = Json::array();
  for (const Granted& granted : granted_by(answered.report.roles)) {
    grants.push_back(json_of(granted));
  }
  return {{"kind", self.kind},
          {"name", self.name},
          {"proof", self.proof},
          {"until_ms", self.until_ms == 0 ? Json(nullptr) : Json(std::to_string(self.until_ms))},
          {"token_left_s", answered.token_left_s},
          {"address", self.address},
          {"node", answered.node},
          {"rights_checked", answered.report.enabled},
          {"epoch", std::to_string(answered.report.epoch)},
          {"user", user_state(answered.report)},
          {"roles", own_roles(answered.report)},
          {"included_roles", included_roles(answered.report)},
          {"grants", grants}};
}

std::string proof_text(const AccessSelf& self) {
  if (self.proof == "none") {
    return "nothing";
  }
  if (self.proof == "unix-socket") {
    return "the Unix socket: the kernel names the user of this process";
  }
  const std::string until = self.until_ms == 0 ? "" : ", until " + utc_text(self.until_ms);
  return (self.proof == "password" ? "a password, then its token" : "a " + self.proof) + until;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

void add_grants(const Answered& answered, Table& table) {
  std::string label = "MAY";
  for (const Granted& granted : granted_by(answered.report.roles)) {
    table.rows.push_back({std::exchange(label, ""), granted.text() + " on " + granted.scope()});
  }
  if (!label.empty()) {
    table.rows.push_back({label, "nothing that needs a right"});
  }
  if (answered.report.more) {
    table.notes.push_back("there are more roles than one answer holds: gcoordctl role list");
  }
}

// What to do next, where something is missing.
std::vector<std::string> advice(const Answered& answered) {
  std::vector<std::string> lines;
  const std::string user = user_state(answered.report);
  if (answered.anonymous() && !answered.globals.cert.empty()) {
    lines.push_back("The node knows nobody by this certificate (GC6738): gcoordctl cert verify " +
                    answered.globals.cert + " --cacert " + answered.globals.cacert +
                    " shows what it names; it must be of this cluster.");
  } else if (answered.anonymous()) {
    lines.push_back(
        "Nothing proves who you are. Give --cert and --key, --user, --token-file, or the "
        "endpoint unix:PATH of a node on this machine.");
  } else if (user == "none" && answered.self.kind != "node") {
    lines.push_back(
        "No user has this name, so it has no rights while they are checked: an "
        "administrator adds it by gcoordctl user add '" +
        answered.self.name + "' --no-password --role ROLE.");
  } else if (user == "disabled") {
    lines.push_back("The user is disabled: an administrator enables it by gcoordctl user enable '" +
                    answered.self.name + "'.");
  }
  if (!answered.report.enabled) {
    lines.push_back("Rights are off: everybody who reaches a node may do everything.");
  }
  return lines;
}

Table table_of(const Answered& answered) {
  const AccessReport& report = answered.report;
  Table table{{"YOU ARE", answered.principal()}, {}, {}, {}};
  table.rows.push_back({"PROVEN BY", proof_text(answered.self)});
  table.rows.push_back(
      {"SEEN AT",
       (answered.self.address == "unix" ? "a Unix socket" : answered.self.address) + " by node " +
           std::to_string(answered.node)});
  table.rows.push_back({"RIGHTS",
                        !report.enabled ? "not checked"
                        : answered.anonymous()
                            ? "checked"
                            : "checked, by epoch " + std::to_string(report.epoch)});
  if (!answered.anonymous()) {
    table.rows.push_back({"USER", user_state(report)});
    table.rows.push_back({"ROLES", listed(own_roles(report))});
    if (const auto included = included_roles(report); !included.empty()) {
      table.rows.push_back({"INCLUDED", listed(included)});
    }
    add_grants(answered, table);
  }
  for (const std::string& line : advice(answered)) {
    table.notes.push_back(line);
  }
  return table;
}

// An earlier release does not know the question, so only the client's own login is known.
bool is_unknown_question(const client::Status& status) {
  using protocol::ErrorCode;
  return status.detail() == static_cast<std::uint32_t>(ErrorCode::PayloadMalformed) ||
         status.detail() == static_cast<std::uint32_t>(ErrorCode::FeatureMissing);
}

int print_login(const Context& context, const client::Identity& identity) {
  talk("this node is of a release that only says who a login is");
  context.output().print_facts(
      Json{{"kind", identity.kind},
           {"name", identity.name},
           {"token_left_s", static_cast<std::int64_t>(identity.token_left.count())}});
  return 0;
}

}  // namespace

int whoami(Context& context) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const std::uint32_t node = any_node(*client);
  const auto report = client->access(
      {.subject = client::AccessSubject::Self, .name = {}, .after = {}, .node_id = node});
  const client::Identity identity = client->identity();
  if (!report.ok() && is_unknown_question(report.status())) {
    return print_login(context, identity);
  }
  if (!report.ok()) {
    return context.fail(*client, report.status());
  }
  if (!report.value().self) {
    return context.fail(protocol::make_error(protocol::ErrorCode::ReplyMalformed, "whoami"));
  }
  const Answered answered{.report = report.value(),
                          .self = *report.value().self,
                          .globals = context.globals(),
                          .node = node,
                          .token_left_s = identity.token_left.count()};
  context.output().print(json_of(answered), table_of(answered));
  return 0;
}

}  // namespace gcoord::cli
