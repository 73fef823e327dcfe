// Grid of decisions: every kind of request in every case, every right that it demands, and every
// way in which a grant can lie to the name. A judge that errs in one cell is named by it.
#pragma once

#include "server/rights/decision.h"
#include "tests/server/rights/request_samples.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

// Whether the sample may be made with these rights.
using Judge = std::function<bool(const Sample& sample, const security::RightsOf& rights)>;

inline bool judge_rightly(const Sample& sample, const security::RightsOf& rights) {
  return !missing_right(sample.demands(), rights, true).has_value();
}

inline constexpr std::string_view kGridName = "jobs/train/7";

// How a grant lies to kGridName, and whether it serves the name, and all names below it.
struct Nesting {
  std::string_view prefix;
  bool exact = false;
  bool serves_name = false;
  bool serves_below = false;
};

inline constexpr Nesting kNestings[] = {
    {"", false, true, true},
    {"j", false, true, true},
    {"jobs/", false, true, true},
    {"jobs/train/7", false, true, true},
    {"jobs/train/7", true, true, false},
    {"jobs/train/71", false, false, false},
    {"jobs/train/7/x", false, false, false},
    {"jobs/train/6", false, false, false},
    {"jobs/train/6", true, false, false},
    {"jobs/train/8", false, false, false},
    {"jobs/train/", true, false, false},
    {"Jobs/", false, false, false},
    {"zebra", false, false, false},
};

inline bool serves(const Nesting& nesting, DemandScope scope) {
  switch (scope) {
    case DemandScope::Name:
      return nesting.serves_name;
    case DemandScope::Below:
      return nesting.serves_below;
    case DemandScope::AnyName:
      return true;
    case DemandScope::Cluster:
      return nesting.prefix.empty();
    default:
      return true;
  }
}

inline std::vector<security::Grant> all_but(security::Right right) {
  return {{.prefix = {}, .exact = false, .rights = security::kAllRights & ~bit_of(right)}};
}

// One right of one sample, granted in one way, beside all other rights everywhere: how the judge
// errs.
inline std::vector<std::string> try_cell(const Sample& sample,
                                         const DemandRow& row,
                                         const Judge& judge) {
  std::vector<std::string> breaches;
  const std::string cell =
      sample.label() + ", right " + std::string{security::right_name(row.right)};
  if (judge(sample, security::RightsOf{all_but(row.right), 1})) {
    breaches.push_back(cell + " not granted at all");
  }
  for (const Nesting& nesting : kNestings) {
    std::vector<security::Grant> grants = all_but(row.right);
    grants.push_back({.prefix = std::string{nesting.prefix},
                      .exact = nesting.exact,
                      .rights = bit_of(row.right)});
    if (judge(sample, security::RightsOf{grants, 1}) != serves(nesting, row.scope)) {
      breaches.push_back(cell + " granted on " + (nesting.exact ? "exactly \"" : "\"") +
                         std::string{nesting.prefix} + '"');
    }
  }
  return breaches;
}

// A list of names with one foreign one, at each place of it.
inline void try_lists(const Judge& judge, std::vector<std::string>& breaches) {
  for (std::size_t foreign = 0; foreign < 3; ++foreign) {
    std::vector<std::string> names(3, std::string{kGridName});
    names[foreign] = "payroll/1";
    for (const Sample& sample : samples_of(names)) {
      const RequestDemands demands = sample.demands();
      if (!demands.is_list) {
        continue;
      }
      const security::RightsOf rights{
          {{.prefix = "jobs/", .exact = false, .rights = security::kAllRights}}, 1};
      if (judge(sample, rights)) {
        breaches.push_back(sample.label() + " with a foreign name at place " +
                           std::to_string(foreign));
      }
    }
  }
}

// The payload cut off, where the kind has one that it reads.
inline void try_cut_off(const Sample& whole,
                        const Judge& judge,
                        std::vector<std::string>& breaches) {
  Sample sample = whole;
  sample.payload.resize(sample.payload.size() / 4);
  if (!sample.demands().malformed) {
    return;
  }
  const security::RightsOf rights{{{.prefix = "j", .exact = false, .rights = security::kAllRights}},
                                  1};
  if (judge(sample, rights)) {
    breaches.push_back(sample.label() + " with a payload that cannot be read");
  }
}

// The cells in which the judge errs.
inline std::vector<std::string> breaches_of(const Judge& judge) {
  std::vector<std::string> breaches;
  const std::string name{kGridName};
  for (const Sample& sample : samples_of({name, name, name})) {
    const RequestDemands demands = sample.demands();
    for (const DemandRow& row : demands.rows) {
      const bool by_right =
          row.scope != DemandScope::Anyone && row.scope != DemandScope::Identified;
      if (demands.applies(row) && by_right) {
        const auto found = try_cell(sample, row, judge);
        breaches.insert(breaches.end(), found.begin(), found.end());
      }
    }
    try_cut_off(sample, judge, breaches);
  }
  try_lists(judge, breaches);
  return breaches;
}

}  // namespace gcoord::server
