#include "chaos/check/linearizability.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;
using KeyOperations = std::vector<const Operation*>;

std::string milliseconds(std::uint64_t moment_ns, std::uint64_t origin_ns) {
  return moment_ns < origin_ns
             ? "?"
             : fmt::format("{:.6f} ms", static_cast<double>(moment_ns - origin_ns) / 1e6);
}

// Judges one key after another into one report.
class KeyJudge {
 public:
  KeyJudge(const std::vector<Operation>& operations, const LinearOptions& options)
      : options_(options), ends_(operations), deadline_(Clock::now() + options.bounds.time_max) {
    report_.checker = "linearizability";
    report_.invariants = "I9";
    for (const Operation& operation : operations) {
      origin_ns_ = std::min(origin_ns_, operation.call_ns);
    }
  }

  void judge(const std::string& key, const KeyOperations& operations) {
    key_ = &key;
    operations_ = &operations;
    const ModelKind kind =
        options_.model == ModelKind::ByOperations ? model_of(operations) : options_.model;
    ValueNames names;
    switch (kind) {
      case ModelKind::ByOperations:
      case ModelKind::Lock:
      case ModelKind::Lease:
        invariant_ = kind == ModelKind::Lease ? "I9 I12" : "I9";
        return judge_lock(kind);
      case ModelKind::Register:
        invariant_ = "I9";
        return search<RegisterModel>(register_calls(operations, names), [&](const auto& state) {
          const std::string& now = names[state.value];
          return Known{"the value is " + now, "a read of " + now + ", a cas from it, any write"};
        });
      case ModelKind::Counter:
        invariant_ = "I9";
        return judge_counter();
      case ModelKind::Guarded:
        invariant_ = "I9 I11";
        return search<GuardedModel>(guarded_calls(operations, names), [&](const auto& state) {
          const std::string token = std::to_string(state.token);
          return Known{
              "the value is " + names[state.value] + ", the highest token is " + token,
              "a read of it, a write under token " + token + " or above, a refusal of one below"};
        });
    }
  }

  CheckReport take() {
    report_.conclude();
    return std::move(report_);
  }

 private:
  // A state in words, and what the model allows there.
  struct Known {
    std::string state;
    std::string allowed;
  };

  void judge_lock(ModelKind kind) {
    search<LockModel>(lock_calls(*operations_, ends_, kind), [](const LockModel::State& state) {
      return Known{LockModel::describe(state), LockModel::allowed(state)};
    });
  }

  void judge_counter() {
    std::uint64_t not_numbers = 0;
    const auto calls = counter_calls(*operations_, not_numbers);
    if (not_numbers != 0) {
      report_.undecide(fmt::format("{} values of {} are not numbers", not_numbers, *key_));
    }
    search<CounterModel>(calls, [](const auto& state) {
      const auto value = std::to_string(static_cast<std::int64_t>(state.value));
      return Known{"the value is " + value, "a read of " + value + ", any addition to it"};
    });
  }

  template <typename Model, typename Describe>
  void search(const std::vector<TimedCall<typename Model::Action>>& calls, Describe&& known_of) {
    report_.judged += calls.size();
    SearchBounds bounds = options_.bounds;
    bounds.time_max =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    const auto result = find_order<Model>(calls, bounds);
    if (result.verdict == Verdict::Undecided) {
      report_.undecide(fmt::format("{}: {}", *key_, result.reason));
    } else if (result.verdict == Verdict::Violation) {
      report_.violate(explain(result, known_of));
    }
  }

  template <typename Result, typename Describe>
  Finding explain(const Result& result, Describe&& known_of) const {
    const Operation& failed = *(*operations_)[result.failed];
    Finding finding{
        .invariant = invariant_,
        .key = *key_,
        .what = fmt::format("no order of the {} operations called until {} is legal; until the "
                            "return before that one there is one",
                            result.prefix_calls,
                            milliseconds(failed.return_ns, origin_ns_))};
    finding.evidence.push_back("cannot be:  " + describe(failed, origin_ns_));
    for (const std::uint32_t source : result.pending) {
      finding.evidence.push_back("under way:  " + describe(*(*operations_)[source], origin_ns_));
    }
    for (const auto& end : result.dead_ends) {
      for (const std::uint32_t source : end.before) {
        finding.evidence.push_back(
            source == kLapsed ? "before:     the hold ended by itself"
                              : "before:     " + describe(*(*operations_)[source], origin_ns_));
      }
      const Known known = known_of(end.state);
      finding.evidence.push_back("then:       " + known.state);
      finding.evidence.push_back("legal then: " + known.allowed);
    }
    return finding;
  }

  const LinearOptions& options_;
  HoldEnds ends_;
  Clock::time_point deadline_;
  std::uint64_t origin_ns_ = kNever;
  CheckReport report_;
  const std::string* key_ = nullptr;
  const KeyOperations* operations_ = nullptr;
  std::string invariant_;
};

// Finds answers that were told before, word for word: one operation, seen twice. Whether that is
// right is for I18.
class Retold {
 public:
  bool seen(const Operation& operation) {
    return operation.sequence != 0 && operation.outcome == Outcome::Ok &&
           !seen_
                .emplace(operation.session,
                         operation.shard,
                         operation.sequence,
                         operation.op,
                         operation.token,
                         operation.key + "\n" + operation.value)
                .second;
  }

 private:
  std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, Op, std::uint64_t, std::string>>
      seen_;
};

bool ends_session(Op op) {
  return op == Op::Abandon || op == Op::SessionLost || op == Op::Close;
}

std::string outcome_text(const Operation& operation) {
  switch (operation.outcome) {
    case Outcome::Ok:
      return "ok";
    case Outcome::Fail:
      return "refused";
    case Outcome::Unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace

CheckReport check_linearizability(const std::vector<Operation>& operations,
                                  const LinearOptions& options) {
  std::map<std::string, KeyOperations> keys;
  Retold retold;
  for (const Operation& operation : operations) {
    if (!ends_session(operation.op) && !retold.seen(operation)) {
      keys[operation.key].push_back(&operation);
    }
  }
  KeyJudge judge(operations, options);
  for (const auto& [key, of_key] : keys) {
    judge.judge(key, of_key);
  }
  return judge.take();
}

std::string describe(const Operation& operation, std::uint64_t origin_ns) {
  std::string text = fmt::format("process {} {}", operation.process, op_name(operation.op));
  if (operation.op == Op::Cas) {
    text += fmt::format(" {} to {}", operation.from, operation.value);
  } else if (operation.op == Op::Add) {
    text += fmt::format(" {}", operation.delta);
  } else if (operation.op == Op::Write) {
    text += " " + operation.value;
  }
  text += " -> " + outcome_text(operation);
  for (const std::string_view word :
       {reason_name(operation.reason), verdict_name(operation.verdict)}) {
    text.append(word.empty() ? "" : " ").append(word);
  }
  if (operation.op == Op::Read || (operation.op == Op::Add && !operation.value.empty())) {
    text += " " + (operation.value.empty() ? "(nothing)" : operation.value);
  }
  text += operation.token != 0 ? fmt::format(", token {}", operation.token) : "";
  text += operation.session != 0 ? fmt::format(", session {}", operation.session) : "";
  text += operation.already_held ? ", held already" : "";
  return text + fmt::format(" [{} to {}]",
                            milliseconds(operation.call_ns, origin_ns),
                            milliseconds(operation.return_ns, origin_ns));
}

}  // namespace gcoord::chaos
