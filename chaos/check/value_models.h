// Sequential models of a register, a counter and a guarded store. Pure values; every value of a
// history is a number here, 0 stands for "never written".
#pragma once

#include <cstdint>
#include <string>

namespace gcoord::chaos {

// Compare-and-set register.
struct RegisterModel {
  enum Kind : std::uint64_t { Read, Write, Cas, Mismatch };

  struct Action {
    std::uint64_t kind = Read;
    std::uint64_t value = 0;
    std::uint64_t from = 0;  // Cas and mismatch.
  };

  struct State {
    std::uint64_t value = 0;
  };

  static bool apply(State& state, const Action& action) {
    switch (action.kind) {
      case Read:
        return state.value == action.value;
      case Mismatch:
        return state.value != action.from;
      case Cas:
        if (state.value != action.from) {
          return false;
        }
        [[fallthrough]];
      case Write:
        state.value = action.value;
        return true;
      default:
        return false;
    }
  }

  static bool observes(const Action& action) {
    return action.kind == Read || action.kind == Mismatch;
  }
};

// A counter; wraps around as the machine's integers do.
struct CounterModel {
  enum Kind : std::uint64_t { Read, Add, AddTold };

  struct Action {
    std::uint64_t kind = Read;
    std::uint64_t delta = 0;
    std::uint64_t value = 0;  // Read, or told after the addition.
  };

  struct State {
    std::uint64_t value = 0;
  };

  static bool apply(State& state, const Action& action) {
    if (action.kind == Read) {
      return state.value == action.value;
    }
    const std::uint64_t sum = state.value + action.delta;
    if (action.kind == AddTold && sum != action.value) {
      return false;
    }
    state.value = sum;
    return true;
  }

  static bool observes(const Action& action) { return action.kind == Read; }
};

// A store that locks guard: it refuses a write whose token is below the highest it has seen.
struct GuardedModel {
  enum Kind : std::uint64_t { Read, Write, Stale };

  struct Action {
    std::uint64_t kind = Read;
    std::uint64_t value = 0;
    std::uint64_t token = 0;
  };

  struct State {
    std::uint64_t value = 0;
    std::uint64_t token = 0;  // The highest seen.
  };

  static bool apply(State& state, const Action& action) {
    switch (action.kind) {
      case Read:
        return state.value == action.value;
      case Stale:
        return action.token < state.token;
      case Write:
        if (action.token < state.token) {
          return false;
        }
        state = {action.value, action.token};
        return true;
      default:
        return false;
    }
  }

  static bool observes(const Action& action) { return action.kind == Read || action.kind == Stale; }
};

}  // namespace gcoord::chaos
