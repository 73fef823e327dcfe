#include "chaos/check/key_calls.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>

namespace gcoord::chaos {

namespace {

using Operations = std::span<const Operation* const>;

// Collects the calls of one key.
template <typename Action>
class Calls {
 public:
  explicit Calls(Operations operations) : operations_(operations) {}

  // Known to have happened if the outcome is Ok; otherwise it may yet happen.
  void effect(std::size_t index, const Action& action) {
    const Operation& operation = *operations_[index];
    const bool known = operation.outcome == Outcome::Ok;
    add(index, action, known ? operation.return_ns : kOpenReturn);
  }

  // Something that was seen, which an unknown outcome is not.
  void told(std::size_t index, const Action& action) {
    add(index, action, operations_[index]->return_ns);
  }

  std::vector<TimedCall<Action>> take() { return std::move(calls_); }

 private:
  void add(std::size_t index, const Action& action, std::uint64_t return_ns) {
    calls_.push_back(
        {action, operations_[index]->call_ns, return_ns, static_cast<std::uint32_t>(index)});
  }

  Operations operations_;
  std::vector<TimedCall<Action>> calls_;
};

using LockCalls = Calls<LockModel::Action>;

std::vector<std::uint64_t> granted_tokens(Operations operations) {
  std::vector<std::uint64_t> tokens;
  for (const Operation* operation : operations) {
    if (operation->op == Op::Acquire && operation->outcome == Outcome::Ok) {
      tokens.push_back(operation->token);
    }
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

// Sessions that were told again what they held: only for them does it matter who a ghost is.
std::set<std::uint64_t> sessions_told_again(Operations operations) {
  std::set<std::uint64_t> sessions;
  for (const Operation* operation : operations) {
    if (operation->op == Op::Acquire && operation->already_held) {
      sessions.insert(session_of(*operation));
    }
  }
  return sessions;
}

LockModel::Action action_of(const Operation& operation, LockModel::Kind kind) {
  return {.kind = kind,
          .session = session_of(operation),
          .token = operation.token,
          .rank = 0,
          .lapse_ns = 0};
}

void add_acquire(LockCalls& calls,
                 std::size_t index,
                 const Operation& operation,
                 LockModel::Action grant,
                 const std::set<std::uint64_t>& told_again) {
  grant.session = session_of(operation);
  if (operation.outcome == Outcome::Ok) {
    grant.kind = operation.already_held ? LockModel::GrantAgain : LockModel::Grant;
    calls.told(index, grant);
  } else if (operation.outcome == Outcome::Unknown) {
    // Nameless ghosts are equal, which spares the search the question which of them it was.
    const std::uint64_t session = told_again.contains(grant.session) ? grant.session : 0;
    calls.effect(index, {.kind = LockModel::Ghost, .session = session, .lapse_ns = 0});
  } else if (operation.reason == Reason::Busy) {
    calls.told(index, {.kind = LockModel::Busy, .lapse_ns = 0});
  }
}

void add_end_or_check(LockCalls& calls, std::size_t index, const Operation& operation) {
  const bool ok = operation.outcome == Outcome::Ok;
  if (operation.outcome == Outcome::Fail) {
    if (operation.reason == Reason::NotHeld) {
      calls.told(index, action_of(operation, LockModel::NotHeld));
    }
  } else if (operation.op == Op::Release) {
    calls.effect(index, action_of(operation, LockModel::Release));
  } else if (operation.op == Op::Renew && ok) {
    // One of unknown outcome could only let the lease live longer, which it need not.
    LockModel::Action renewal = action_of(operation, LockModel::Renew);
    renewal.lapse_ns = lease_end_ns(operation);
    calls.told(index, renewal);
  } else if (operation.op == Op::Check && ok && operation.verdict != TokenState::None) {
    const bool valid = operation.verdict == TokenState::Valid;
    LockModel::Action look = action_of(operation, valid ? LockModel::IsValid : LockModel::IsPast);
    look.session = 0;  // Anybody may check a token, and equal checks are one class to the search.
    calls.told(index, look);
  }
}

// Numbers for texts.
class Values {
 public:
  explicit Values(ValueNames& names) : names_(names) { names_.assign(1, "(nothing)"); }

  std::uint64_t number_of(const std::string& text) {
    if (text.empty()) {
      return 0;
    }
    const auto [known, added] = numbers_.emplace(text, names_.size());
    if (added) {
      names_.push_back(text);
    }
    return known->second;
  }

 private:
  ValueNames& names_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

// Empty text is 0: nothing was added yet.
std::optional<std::uint64_t> counter_value(const std::string& text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return text.empty() || whole ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

}  // namespace

ModelKind model_of(Operations operations) {
  const auto has = [&](auto&& wanted) {
    return std::any_of(
        operations.begin(), operations.end(), [&](const Operation* o) { return wanted(*o); });
  };
  if (has([](const Operation& o) {
        return o.op == Op::Renew || (o.op == Op::Acquire && o.ttl_ms != 0);
      })) {
    return ModelKind::Lease;
  }
  if (has([](const Operation& o) { return o.op == Op::Add; })) {
    return ModelKind::Counter;
  }
  if (has([](const Operation& o) { return o.op == Op::Write && o.token != 0; })) {
    return ModelKind::Guarded;
  }
  const auto of_value = [](const Operation& o) {
    return o.op == Op::Read || o.op == Op::Write || o.op == Op::Cas;
  };
  return has(of_value) ? ModelKind::Register : ModelKind::Lock;
}

std::vector<TimedCall<LockModel::Action>> lock_calls(Operations operations,
                                                     const HoldEnds& ends,
                                                     ModelKind kind) {
  const std::vector<std::uint64_t> tokens = granted_tokens(operations);
  const std::set<std::uint64_t> told_again = sessions_told_again(operations);
  LockCalls calls(operations);
  for (std::size_t index = 0; index < operations.size(); ++index) {
    const Operation& operation = *operations[index];
    if (operation.op != Op::Acquire) {
      add_end_or_check(calls, index, operation);
      continue;
    }
    const auto rank = std::lower_bound(tokens.begin(), tokens.end(), operation.token);
    const std::uint64_t lease_end = kind == ModelKind::Lease ? lease_end_ns(operation) : kNever;
    add_acquire(calls,
                index,
                operation,
                {.token = operation.token,
                 .rank = static_cast<std::uint64_t>(rank - tokens.begin()),
                 .lapse_ns = std::min(lease_end, ends.of_grant(operation))},
                told_again);
  }
  return calls.take();
}

std::vector<TimedCall<RegisterModel::Action>> register_calls(Operations operations,
                                                             ValueNames& names) {
  Values values(names);
  Calls<RegisterModel::Action> calls(operations);
  for (std::size_t index = 0; index < operations.size(); ++index) {
    const Operation& operation = *operations[index];
    const std::uint64_t value = values.number_of(operation.value);
    const std::uint64_t from = values.number_of(operation.from);
    const bool failed = operation.outcome == Outcome::Fail;
    if (operation.op == Op::Read && operation.outcome == Outcome::Ok) {
      calls.told(index, {.kind = RegisterModel::Read, .value = value});
    } else if (operation.op == Op::Write && !failed) {
      calls.effect(index, {.kind = RegisterModel::Write, .value = value});
    } else if (operation.op == Op::Cas && !failed) {
      calls.effect(index, {.kind = RegisterModel::Cas, .value = value, .from = from});
    } else if (operation.op == Op::Cas && operation.reason == Reason::Mismatch) {
      calls.told(index, {.kind = RegisterModel::Mismatch, .from = from});
    }
  }
  return calls.take();
}

std::vector<TimedCall<GuardedModel::Action>> guarded_calls(Operations operations,
                                                           ValueNames& names) {
  Values values(names);
  Calls<GuardedModel::Action> calls(operations);
  for (std::size_t index = 0; index < operations.size(); ++index) {
    const Operation& operation = *operations[index];
    const std::uint64_t value = values.number_of(operation.value);
    const bool failed = operation.outcome == Outcome::Fail;
    if (operation.op == Op::Read && operation.outcome == Outcome::Ok) {
      calls.told(index, {.kind = GuardedModel::Read, .value = value});
    } else if (operation.op == Op::Write && !failed) {
      calls.effect(index, {.kind = GuardedModel::Write, .value = value, .token = operation.token});
    } else if (operation.op == Op::Write && operation.reason == Reason::Stale) {
      calls.told(index, {.kind = GuardedModel::Stale, .token = operation.token});
    }
  }
  return calls.take();
}

std::vector<TimedCall<CounterModel::Action>> counter_calls(Operations operations,
                                                           std::uint64_t& not_numbers) {
  Calls<CounterModel::Action> calls(operations);
  for (std::size_t index = 0; index < operations.size(); ++index) {
    const Operation& operation = *operations[index];
    const auto value = counter_value(operation.value);
    if (!value.has_value()) {
      ++not_numbers;
      continue;
    }
    const auto delta = static_cast<std::uint64_t>(operation.delta);
    const bool ok = operation.outcome == Outcome::Ok;
    if (operation.op == Op::Read && ok) {
      calls.told(index, {.kind = CounterModel::Read, .value = *value});
    } else if (operation.op == Op::Add && ok && !operation.value.empty()) {
      calls.told(index, {.kind = CounterModel::AddTold, .delta = delta, .value = *value});
    } else if (operation.op == Op::Add && operation.outcome != Outcome::Fail) {
      calls.effect(index, {.kind = CounterModel::Add, .delta = delta});
    }
  }
  return calls.take();
}

}  // namespace gcoord::chaos
