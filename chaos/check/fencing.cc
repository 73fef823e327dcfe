#include "chaos/check/fencing.h"

#include "chaos/check/hold_ends.h"
#include "chaos/check/linearizability.h"
#include "chaos/check/lock_model.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace gcoord::chaos {

namespace {

using KeyOperations = std::vector<const Operation*>;

bool happened(const Operation& operation, Op op) {
  return operation.op == op && operation.outcome == Outcome::Ok;
}

// Operations by key, of those that `wanted` accepts.
template <typename Wanted>
std::map<std::string, KeyOperations> by_key(const std::vector<Operation>& operations,
                                            Wanted&& wanted) {
  std::map<std::string, KeyOperations> keys;
  for (const Operation& operation : operations) {
    if (wanted(operation)) {
      keys[operation.key].push_back(&operation);
    }
  }
  return keys;
}

CheckReport begin(const char* checker, const char* invariants) {
  CheckReport report;
  report.checker = checker;
  report.invariants = invariants;
  return report;
}

void violate(CheckReport& report,
             const char* what,
             std::initializer_list<const Operation*> operations) {
  Finding finding{.invariant = report.invariants, .key = (*operations.begin())->key, .what = what};
  for (const Operation* operation : operations) {
    finding.evidence.push_back(to_json_line(*operation));
  }
  report.violate(std::move(finding));
}

// Of operations with tokens: what was told earlier must not be above what was asked for later.
// Going down in tokens, the earliest return of all higher ones must not be before the call.
template <typename OnBreach>
void find_falling_tokens(KeyOperations operations, OnBreach&& on_breach) {
  std::sort(operations.begin(), operations.end(), [](const auto* a, const auto* b) {
    return a->token > b->token;
  });
  const Operation* earliest = nullptr;        // Of all tokens above the present one.
  const Operation* earliest_equal = nullptr;  // Of the present one too.
  for (const Operation* operation : operations) {
    if (earliest_equal != nullptr && operation->token < earliest_equal->token) {
      earliest = earliest_equal;
    }
    // earliest_equal is the earliest of all met so far; of equal tokens only once one is lower.
    if (earliest != nullptr && earliest->token > operation->token &&
        earliest->return_ns < operation->call_ns) {
      on_breach(*earliest, *operation);
    }
    if (earliest_equal == nullptr || operation->return_ns < earliest_equal->return_ns) {
      earliest_equal = operation;
    }
  }
}

struct Hold {
  const Operation* grant = nullptr;
  std::uint64_t from_ns = 0;
  std::uint64_t lease_until_ns = kNever;  // Of its newest renewal.
  std::uint64_t until_ns = kNever;
};

// The holds of one name, as its holders saw them.
std::vector<Hold> holds_of(KeyOperations operations, const HoldEnds& ends) {
  std::stable_sort(operations.begin(), operations.end(), [](const auto* a, const auto* b) {
    return a->return_ns < b->return_ns;
  });
  std::vector<Hold> holds;
  std::unordered_map<std::uint64_t, std::size_t> by_token;
  for (const Operation* operation : operations) {
    if (happened(*operation, Op::Acquire) &&
        by_token.emplace(operation->token, holds.size()).second) {
      holds.push_back(
          {operation, operation->return_ns, lease_end_ns(*operation), ends.of_grant(*operation)});
    }
  }
  for (const Operation* operation : operations) {
    const auto found = by_token.find(operation->token);
    if (found == by_token.end()) {
      continue;
    }
    Hold& hold = holds[found->second];
    if (session_of(*operation) != session_of(*hold.grant)) {
      continue;  // Nobody ends or renews the hold of another session.
    }
    if (operation->op == Op::Release) {
      hold.until_ns = std::min(hold.until_ns, operation->call_ns);
    } else if (happened(*operation, Op::Renew)) {
      hold.lease_until_ns = std::max(hold.lease_until_ns, lease_end_ns(*operation));
    }
  }
  for (Hold& hold : holds) {
    hold.until_ns = std::min(hold.until_ns, hold.lease_until_ns);
  }
  return holds;
}

void judge_overlaps(std::vector<Hold> holds, CheckReport& report) {
  std::sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) {
    return a.from_ns < b.from_ns;
  });
  const Hold* longest = nullptr;
  for (const Hold& hold : holds) {
    if (hold.until_ns <= hold.from_ns) {
      continue;  // It was over when its holder learned of it.
    }
    if (longest != nullptr && hold.from_ns < longest->until_ns) {
      violate(report, "two held it at once", {longest->grant, hold.grant});
    }
    if (longest == nullptr || hold.until_ns > longest->until_ns) {
      longest = &hold;
    }
  }
}

// Whether two lines can be one request that was told twice.
bool same_request(const Operation& a, const Operation& b) {
  const bool same_question = a.op == b.op && a.key == b.key;
  const bool both_known = a.outcome != Outcome::Unknown && b.outcome != Outcome::Unknown;
  const bool same_answer = a.outcome == b.outcome && a.token == b.token && a.value == b.value;
  return same_question && (!both_known || same_answer);
}

void judge_sequences(const std::vector<Operation>& operations, CheckReport& report) {
  using Request = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;
  std::map<Request, const Operation*> requests;
  for (const Operation& operation : operations) {
    if (operation.sequence == 0) {
      continue;
    }
    ++report.judged;
    const Request request{operation.session, operation.shard, operation.sequence};
    const auto [known, added] = requests.emplace(request, &operation);
    if (!added && !same_request(*known->second, operation)) {
      violate(report,
              "one request was executed twice, or answered in two ways",
              {known->second, &operation});
    }
  }
}

void judge_tokens_once(KeyOperations grants, CheckReport& report) {
  report.judged += grants.size();
  std::stable_sort(grants.begin(), grants.end(), [](const auto* a, const auto* b) {
    return a->token < b->token;
  });
  const Operation* first = nullptr;
  for (const Operation* grant : grants) {
    const bool retold = first != nullptr && grant->sequence != 0 &&
                        grant->sequence == first->sequence && grant->session == first->session;
    if (first != nullptr && grant->token == first->token && !retold) {
      violate(report, "one token was granted twice", {first, grant});
    }
    first = grant;
  }
}

}  // namespace

CheckReport check_acknowledged(const std::vector<Operation>& operations) {
  CheckReport report = begin("acknowledged durability", "I8");
  const HoldEnds ends(operations);
  for (const Operation& operation : operations) {
    if (!happened(operation, Op::Check) || operation.expected == TokenState::None) {
      continue;
    }
    ++report.judged;
    const bool excused =
        operation.expected == TokenState::Valid && ends.of_grant(operation) <= operation.return_ns;
    if (operation.verdict != operation.expected && !excused) {
      violate(report,
              operation.expected == TokenState::Valid
                  ? "an acknowledged grant is not valid"
                  : "an acknowledged release left the token valid",
              {&operation});
    }
  }
  report.conclude();
  return report;
}

CheckReport check_tokens(const std::vector<Operation>& operations) {
  CheckReport report = begin("fencing tokens", "I10");
  const auto grants =
      by_key(operations, [](const Operation& o) { return happened(o, Op::Acquire); });
  for (const auto& [key, of_key] : grants) {
    report.judged += of_key.size();
    for (const Operation* grant : of_key) {
      if (grant->token == 0) {
        violate(report, "a grant without a token", {grant});
      }
    }
    // A grant that was told again is older than its answer.
    KeyOperations fresh;
    std::copy_if(of_key.begin(), of_key.end(), std::back_inserter(fresh), [](const auto* grant) {
      return !grant->already_held;
    });
    find_falling_tokens(fresh, [&](const Operation& first, const Operation& second) {
      violate(report, "a later grant got a lower token", {&first, &second});
    });
  }
  report.conclude();
  return report;
}

CheckReport check_mutual_exclusion(const std::vector<Operation>& operations) {
  CheckReport report = begin("mutual exclusion", "I11");
  const HoldEnds ends(operations);
  const auto locks = by_key(operations, [](const Operation& o) {
    return o.op == Op::Acquire || o.op == Op::Release || o.op == Op::Renew;
  });
  for (const auto& [key, of_key] : locks) {
    const std::vector<Hold> holds = holds_of(of_key, ends);
    report.judged += holds.size();
    judge_overlaps(holds, report);
  }
  const auto writes =
      by_key(operations, [](const Operation& o) { return happened(o, Op::Write) && o.token != 0; });
  for (const auto& [key, of_key] : writes) {
    report.judged += of_key.size();
    find_falling_tokens(of_key, [&](const Operation& first, const Operation& second) {
      violate(report, "a write under a stale token was accepted", {&first, &second});
    });
  }
  report.conclude();
  return report;
}

CheckReport check_exactly_once(const std::vector<Operation>& operations) {
  CheckReport report = begin("exactly once", "I18");
  const auto grants = by_key(
      operations, [](const Operation& o) { return happened(o, Op::Acquire) && !o.already_held; });
  for (const auto& [key, of_key] : grants) {
    judge_tokens_once(of_key, report);
  }
  judge_sequences(operations, report);
  report.conclude();
  return report;
}

}  // namespace gcoord::chaos
