#include "server/rights/decision.h"

#include "common/text/printable.h"

namespace gcoord::server {

namespace {

struct Grantee {
  const security::RightsOf& rights;
  bool identified = false;
};

// Of a request that cannot be read.
bool allowed_everywhere(const DemandRow& row, const Grantee& grantee) {
  switch (row.scope) {
    case DemandScope::Anyone:
      return true;
    case DemandScope::Identified:
      return grantee.identified;
    default:
      return grantee.rights.allows_all_below(row.right, "");
  }
}

std::optional<MissingRight> missing_of_row(const RequestDemands& demands,
                                           const DemandRow& row,
                                           const Grantee& grantee) {
  const security::RightsOf& rights = grantee.rights;
  const auto missing = [&row](std::string_view name) {
    return MissingRight{row.right, row.scope, name};
  };
  switch (row.scope) {
    case DemandScope::Anyone:
      return std::nullopt;
    case DemandScope::Identified:
      return grantee.identified ? std::nullopt : std::optional(missing(""));
    case DemandScope::Cluster:
      return rights.allows_all_below(row.right, "") ? std::nullopt : std::optional(missing(""));
    case DemandScope::AnyName:
      return rights.allows_any(row.right) ? std::nullopt : std::optional(missing(""));
    case DemandScope::Below:
      return rights.allows_all_below(row.right, demands.subject())
                 ? std::nullopt
                 : std::optional(missing(demands.subject()));
    case DemandScope::Name:
      break;
  }
  if (!demands.is_list) {
    const std::string_view name = demands.subject();
    return rights.allows(row.right, name) ? std::nullopt : std::optional(missing(name));
  }
  if (demands.names.empty() && !rights.allows_any(row.right)) {
    return missing("");
  }
  for (const std::string_view name : demands.names) {
    if (!rights.allows(row.right, name)) {
      return missing(name);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MissingRight> missing_right(const RequestDemands& demands,
                                          const security::RightsOf& rights,
                                          bool identified) {
  const Grantee grantee{rights, identified};
  for (const DemandRow& row : demands.rows) {
    if (!demands.applies(row)) {
      continue;
    }
    if (demands.malformed) {
      if (!allowed_everywhere(row, grantee)) {
        return MissingRight{row.right, row.scope, ""};
      }
    } else if (const auto missing = missing_of_row(demands, row, grantee)) {
      return missing;
    }
  }
  return std::nullopt;
}

std::string refusal_text(std::string_view principal, const MissingRight& missing) {
  if (missing.scope == DemandScope::Identified) {
    return "the client has not said who it is";
  }
  std::string text{principal};
  text += " has no right ";
  text += security::right_name(missing.right);
  switch (missing.scope) {
    case DemandScope::Name:
      return text + " over " + in_quotes(missing.name);
    case DemandScope::Below:
      return text + " over all names below " + in_quotes(missing.name);
    case DemandScope::AnyName:
      return text + " over any name";
    default:
      return text;
  }
}

}  // namespace gcoord::server
