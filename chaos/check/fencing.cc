#include "chaos/demo/history_checker.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace gcoord::chaos {

namespace {

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

struct Hold {
  const Operation* grant = nullptr;
  std::uint64_t from_ns = 0;
  std::uint64_t until_ns = kForEver;
};

// Everything about one name.
struct NameHistory {
  std::vector<const Operation*> grants;
  std::vector<const Operation*> ends;  // Releases and abandonments.
  std::vector<const Operation*> checks;
};

using SessionEnds = std::unordered_map<std::uint64_t, std::uint64_t>;

class Judge {
 public:
  Verdicts run(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      sort_in(operation);
    }
    for (const auto& [key, name] : names_) {
      judge_name(name);
    }
    return verdicts_;
  }

 private:
  void sort_in(const Operation& operation) {
    NameHistory& name = names_[operation.key];
    switch (operation.op) {
      case Op::Acquire:
        if (operation.outcome == Outcome::Ok) {
          name.grants.push_back(&operation);
        }
        break;
      case Op::Release:
      case Op::Abandon:
        name.ends.push_back(&operation);
        break;
      case Op::Check:
        if (operation.outcome == Outcome::Ok) {
          name.checks.push_back(&operation);
        }
        break;
      case Op::SessionLost:
        session_ends_[operation.session] = operation.return_ns;
        break;
    }
  }

  void judge_name(const NameHistory& name) {
    verdicts_.grants += name.grants.size();
    judge_tokens(name.grants);
    judge_overlaps(holds_of(name));
    for (const Operation* check : name.checks) {
      judge_check(*check);
    }
  }

  // Tokens are granted once and rise in real time.
  void judge_tokens(const std::vector<const Operation*>& grants) {
    auto by_token = grants;
    std::sort(by_token.begin(), by_token.end(), [](const auto* a, const auto* b) {
      return a->token < b->token;
    });
    for (std::size_t k = 1; k < by_token.size(); ++k) {
      const bool again = by_token[k]->token == by_token[k - 1]->token;
      if (again && !by_token[k]->already_held && !by_token[k - 1]->already_held) {
        double_grant("one token was granted twice", *by_token[k - 1], *by_token[k]);
      }
    }
    // A grant is below another only if it was asked for before that one was told. Going down in
    // tokens, the earliest `return` of all higher ones must not be before the `call`.
    const Operation* earliest = nullptr;
    for (auto next = by_token.rbegin(); next != by_token.rend(); ++next) {
      const Operation* grant = *next;
      const bool higher = earliest != nullptr && earliest->token > grant->token;
      if (higher && earliest->return_ns < grant->call_ns) {
        lost("a later grant got a lower token", *earliest, *grant);
      }
      if (earliest == nullptr || grant->return_ns < earliest->return_ns) {
        earliest = grant;
      }
    }
  }

  std::vector<Hold> holds_of(const NameHistory& name) const {
    std::vector<Hold> holds;
    std::unordered_map<std::uint64_t, std::size_t> by_token;
    for (const Operation* grant : name.grants) {
      const auto [found, fresh] = by_token.emplace(grant->token, holds.size());
      if (!fresh) {
        continue;  // Judged with the tokens.
      }
      Hold hold{grant, grant->return_ns, kForEver};
      if (const auto lost = session_ends_.find(grant->session); lost != session_ends_.end()) {
        hold.until_ns = lost->second;
      }
      holds.push_back(hold);
    }
    for (const Operation* end : name.ends) {
      if (const auto found = by_token.find(end->token); found != by_token.end()) {
        const bool abandoned = end->op == Op::Abandon;
        Hold& hold = holds[found->second];
        hold.until_ns = std::min(hold.until_ns, abandoned ? end->return_ns : end->call_ns);
      }
    }
    return holds;
  }

  void judge_overlaps(std::vector<Hold> holds) {
    std::sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) {
      return a.from_ns < b.from_ns;
    });
    const Hold* longest = nullptr;
    for (const Hold& hold : holds) {
      if (hold.until_ns <= hold.from_ns) {
        continue;  // It was over when its holder learned of it.
      }
      if (longest != nullptr && hold.from_ns < longest->until_ns) {
        double_grant("two held it at once", *longest->grant, *hold.grant);
      }
      if (longest == nullptr || hold.until_ns > longest->until_ns) {
        longest = &hold;
      }
    }
  }

  void judge_check(const Operation& check) {
    const auto lost_at = session_ends_.find(check.session);
    const bool excused = check.expected == TokenState::Valid && lost_at != session_ends_.end() &&
                         lost_at->second <= check.return_ns;
    if (check.expected != TokenState::None && check.verdict != check.expected && !excused) {
      lost(check.expected == TokenState::Valid ? "an acknowledged grant is not valid"
                                               : "an acknowledged release left the token valid",
           check,
           check);
    }
  }

  void double_grant(const char* what, const Operation& first, const Operation& second) {
    ++verdicts_.double_grants;
    note(what, first, second);
  }

  void lost(const char* what, const Operation& first, const Operation& second) {
    ++verdicts_.lost_acks;
    note(what, first, second);
  }

  void note(const char* what, const Operation& first, const Operation& second) {
    if (verdicts_.first_fault.empty()) {
      verdicts_.first_fault = std::string{what} + ": " + to_json_line(first);
      if (&first != &second) {
        verdicts_.first_fault += " and " + to_json_line(second);
      }
    }
  }

  Verdicts verdicts_;
  std::unordered_map<std::string, NameHistory> names_;
  SessionEnds session_ends_;
};

}  // namespace

Verdicts check_history(const std::vector<Operation>& operations) {
  return Judge{}.run(operations);
}

}  // namespace gcoord::chaos
