#include "cli/access/queries.h"

#include "cli/terminal/command.h"
#include "security/roles/rights.h"

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

using client::AccessReport;
using client::AccessSubject;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text.empty() ? "-" : text;
}

Json user_json(const client::AccessUser& user) {
  return {{"name", user.name},
          {"password", user.has_password},
          {"disabled", user.disabled},
          {"roles", user.roles},
          {"changed", std::to_string(user.changed)}};
}

Json grant_json(const client::AccessGrant& grant) {
  return {{"prefix", grant.prefix}, {"only", grant.exact}, {"rights", grant.rights}};
}

Json role_json(const client::AccessRole& role) {
  Json grants = Json::array();
  for (const client::AccessGrant& grant : role.grants) {
    grants.push_back(grant_json(grant));
  }
  return {{"name", role.name}, {"grants", grants}, {"includes", role.includes}};
}

std::string scope_of(const client::AccessGrant& grant) {
  return grant.exact ? grant.prefix : grant.prefix + "*";
}

Table table_of(const std::vector<client::AccessUser>& users) {
  Table table{{"USER", "PASSWORD", "STATE", "ROLES"}, {}, {}, {}};
  for (const client::AccessUser& user : users) {
    table.rows.push_back({user.name,
                          user.has_password ? "yes" : "no",
                          user.disabled ? "disabled" : "enabled",
                          joined(user.roles)});
  }
  return table;
}

// A line for each grant; a role without any has one, too.
Table table_of(const std::vector<client::AccessRole>& roles) {
  Table table{{"ROLE", "INCLUDES", "ON", "RIGHTS"}, {}, {}, {}};
  for (const client::AccessRole& role : roles) {
    if (role.grants.empty()) {
      table.rows.push_back({role.name, joined(role.includes), "-", "-"});
    }
    for (const client::AccessGrant& grant : role.grants) {
      table.rows.push_back(
          {role.name, joined(role.includes), scope_of(grant), joined(grant.rights)});
    }
  }
  return table;
}

// Nothing, and the error is printed, where the cluster did not answer.
std::optional<AccessReport> ask(Context& context, const client::AccessQuery& query) {
  auto client = context.connect();
  if (!client) {
    return std::nullopt;
  }
  auto report = client->access(query);
  if (!report.ok()) {
    context.refuse(*client, report.status());
    return std::nullopt;
  }
  return std::move(report).value();
}

client::AccessQuery query_of(AccessSubject subject, const AccessListFlags& flags) {
  client::AccessQuery query;
  query.subject = subject;
  query.name = flags.name;
  query.after = flags.after;
  query.limit = flags.limit;
  return query;
}

template <typename Rows>
Table list_table(const AccessReport& report, const Rows& rows) {
  Table table = table_of(rows);
  if (report.more) {
    table.notes.push_back("there are more: give --after " + rows.back().name);
  }
  return table;
}

Json list_json(const AccessReport& report, const char* name, Json rows) {
  Json json = {{"epoch", std::to_string(report.epoch)}, {"more", report.more}};
  json[name] = std::move(rows);
  return json;
}

}  // namespace

Json state_json(const AccessReport& report) {
  return {{"epoch", std::to_string(report.epoch)},
          {"enabled", report.enabled},
          {"users", report.user_count},
          {"roles", report.role_count},
          {"recoveries", std::to_string(report.recoveries)}};
}

int show_user(Context& context, const AccessListFlags& flags) {
  const auto report = ask(context, query_of(AccessSubject::Users, flags));
  if (!report) {
    return context.exit_code();
  }
  Json json = user_json(report->users.front());
  json["epoch"] = std::to_string(report->epoch);
  context.output().print(json, table_of(report->users));
  return 0;
}

int list_users(Context& context, const AccessListFlags& flags) {
  const auto report = ask(context, query_of(AccessSubject::Users, flags));
  if (!report) {
    return context.exit_code();
  }
  Json users = Json::array();
  for (const client::AccessUser& user : report->users) {
    users.push_back(user_json(user));
  }
  context.output().print(list_json(*report, "users", users), list_table(*report, report->users));
  return 0;
}

int show_role(Context& context, const AccessListFlags& flags) {
  const auto report = ask(context, query_of(AccessSubject::Roles, flags));
  if (!report) {
    return context.exit_code();
  }
  Json json = role_json(report->roles.front());
  json["epoch"] = std::to_string(report->epoch);
  context.output().print(json, table_of(report->roles));
  return 0;
}

int list_roles(Context& context, const AccessListFlags& flags) {
  const auto report = ask(context, query_of(AccessSubject::Roles, flags));
  if (!report) {
    return context.exit_code();
  }
  Json roles = Json::array();
  for (const client::AccessRole& role : report->roles) {
    roles.push_back(role_json(role));
  }
  context.output().print(list_json(*report, "roles", roles), list_table(*report, report->roles));
  return 0;
}

int show_auth_status(Context& context) {
  const auto report = ask(context, {});
  if (!report) {
    return context.exit_code();
  }
  context.output().print_facts(state_json(*report));
  return 0;
}

// No cluster is asked.
int list_rights(Context& context) {
  Json rights = Json::array();
  Table table{{"RIGHT", "ON", "WHAT IT ALLOWS"}, {}, {}, {}};
  for (const security::RightRow& row : security::right_rows()) {
    rights.push_back({{"right", std::string{row.name}},
                      {"over_names", row.over_names},
                      {"meaning", std::string{row.meaning}}});
    table.rows.push_back(
        {std::string{row.name}, row.over_names ? "names" : "cluster", std::string{row.meaning}});
  }
  Json words = Json::array();
  for (const security::RightAlias& alias : security::right_aliases()) {
    const std::string name{alias.name};
    const std::string meant = security::rights_text(alias.rights);
    words.push_back({{"word", name}, {"rights", meant}, {"meaning", std::string{alias.meaning}}});
    table.notes.push_back(name + ": " +
                          (alias.rights == security::kAllRights ? "all of them" : meant));
  }
  context.output().print(Json{{"rights", rights}, {"words", words}}, table);
  return 0;
}

}  // namespace gcoord::cli
