// Sequential model of a lock or lease: one holder at a time, rising tokens.
//
// A hold ends by its release, or by itself once its lease may have lapsed: `lapse_ns` is a moment
// that the history names (an abandonment, a lost session, a lease's TTL after its last renewal),
// never a guess. An acquire of unknown outcome may have been granted under a token that nobody saw:
// a ghost. Its client takes back what it may have got, so a ghost may end at any moment.
// Pure values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace gcoord::chaos {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct LockModel {
  enum Kind : std::uint64_t {
    Grant,
    GrantAgain,  // The session held it already.
    Ghost,       // Granted, and never told.
    Release,
    NotHeld,  // A release or a renewal was refused: this session does not hold it under this token.
    Busy,     // Refused: somebody holds it.
    IsValid,  // The token is the holder's.
    IsPast,
    Renew,
  };

  // All words, so that equal actions have equal bytes.
  struct Action {
    std::uint64_t kind = Grant;
    std::uint64_t session = 0;
    std::uint64_t token = 0;
    std::uint64_t rank = 0;           // Of the token among all that the history saw granted.
    std::uint64_t lapse_ns = kNever;  // Grant, renew: from here on the hold may end by itself.
  };

  struct State {
    std::uint64_t held = 0;
    std::uint64_t ghost = 0;
    std::uint64_t token = 0;  // The highest that was granted; the holder's unless a ghost holds.
    std::uint64_t session = 0;
    std::uint64_t granted = 0;  // Known tokens that were granted: rank of the next.
    std::uint64_t lapse_ns = 0;
  };

  // Whether the action could be answered like that, and what it leaves.
  static bool apply(State& state, const Action& action) {
    const bool by_token = state.held != 0 && state.ghost == 0 && state.token == action.token;
    const bool by_holder = by_token && state.session == action.session;
    switch (action.kind) {
      case Grant:
        return state.held == 0 && grant(state, action);
      case GrantAgain:
        return by_holder ||
               (state.ghost != 0 && state.session == action.session && promote(state, action));
      case Ghost:
        if (state.held == 0) {
          state = {1, 1, state.token + 1, action.session, state.granted, 0};
          return true;
        }
        return false;
      case Release:
        if (by_holder) {
          free(state);
        }
        return by_holder;
      case Renew:
        if (by_holder && action.lapse_ns > state.lapse_ns) {
          state.lapse_ns = action.lapse_ns;
        }
        return by_holder;
      case IsValid:
        return by_token;
      case NotHeld:
        return !by_holder;
      case IsPast:
        return !by_token;
      case Busy:
        return state.held != 0;
      default:
        return false;
    }
  }

  static bool observes(const Action& action) {
    return action.kind == NotHeld || action.kind == Busy || action.kind == IsValid ||
           action.kind == IsPast;
  }

  // From when on the hold may end by itself; kNever while it may not.
  static std::uint64_t lapse_ns(const State& state) {
    return state.held != 0 ? state.lapse_ns : kNever;
  }

  static void lapse(State& state) { free(state); }

  static std::string describe(const State& state) {
    if (state.held == 0) {
      return "free, token " + std::to_string(state.token) + " was the last";
    }
    if (state.ghost != 0) {
      return "held by session " + std::to_string(state.session) +
             " through an acquire of unknown outcome";
    }
    return "held under token " + std::to_string(state.token) + " by session " +
           std::to_string(state.session);
  }

  static std::string allowed(const State& state) {
    if (state.held == 0) {
      return "a grant of a token above " + std::to_string(state.token) +
             ", a check of any token that says past";
    }
    const std::string end = state.lapse_ns == kNever ? " (its lease cannot have lapsed)" : "";
    return state.ghost != 0 ? "busy, the end of that hold"
                            : "busy, its release by session " + std::to_string(state.session) +
                                  ", a check of token " + std::to_string(state.token) + end;
  }

 private:
  // Tokens rise, so known ones are granted in the order of their rank.
  static bool grant(State& state, const Action& action) {
    if (action.rank != state.granted || action.token <= state.token) {
      return false;
    }
    state = {1, 0, action.token, action.session, state.granted + 1, action.lapse_ns};
    return true;
  }

  // A grant that was not told when it was made is told now: the ghost had this token.
  static bool promote(State& state, const Action& action) {
    State before = state;
    before.token -= 1;
    if (!grant(before, action)) {
      return false;
    }
    state = before;
    return true;
  }

  static void free(State& state) { state = {0, 0, state.token, 0, state.granted, 0}; }
};

}  // namespace gcoord::chaos
