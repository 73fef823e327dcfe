// Every interleaving of a few users of a ticket lock, step by step: an explicit-state search over
// the functions that devices run.
//
// A user is a script: a function that calls the lock's own functions with ModelOrder, whose every
// operation on a word is one step. Scripts are deterministic given what their steps returned, so a
// state is the memory and, for each script, the list of those answers; the next step of a script is
// found by running it from its start over that list. States are visited once. A script that polls
// in vain forgets the poll (model_again()), so waiting of any length is a cycle and the search is
// finite. A script comes in phases that know nothing of one another; at the end of a phase its
// answers are forgotten, which makes many states one.
//
// Memory is sequentially consistent here: orders are ThreadSanitizer's business
// (ticket_lock_test.cc).
#pragma once

#include "netcore/ticket/chain.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::netcore {

enum class ModelVerb : std::uint8_t { Load, Store, Turn, Add, Choose };

struct ModelStep {
  ModelVerb verb = ModelVerb::Load;
  std::uint64_t* word = nullptr;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

// Thrown out of a script: it has come to a step that has no answer yet, or forgets its last ones.
struct ModelPending {
  ModelStep step;
};

struct ModelAgain {
  std::size_t answers = 0;
};

// The answers that the running script is given.
struct ModelRun {
  const std::vector<std::uint64_t>* answers = nullptr;
  std::size_t given = 0;

  static ModelRun& current() {
    static ModelRun run;
    return run;
  }

  std::uint64_t step(const ModelStep& step) {
    if (given == answers->size()) {
      throw ModelPending{step};
    }
    return (*answers)[given++];
  }
};

inline std::uint64_t model_step(ModelVerb verb,
                                const std::uint64_t& word,
                                std::uint64_t from = 0,
                                std::uint64_t to = 0) {
  return ModelRun::current().step({verb, const_cast<std::uint64_t*>(&word), from, to});
}

struct ModelOrder {
  static std::uint64_t observe(std::uint64_t& word) { return model_step(ModelVerb::Load, word); }

  static std::uint64_t peek(const std::uint64_t& word) { return model_step(ModelVerb::Load, word); }

  static void raise(std::uint64_t& word, std::uint64_t value) {
    model_step(ModelVerb::Store, word, 0, value);
  }

  static std::uint64_t turn(std::uint64_t& word, std::uint64_t from, std::uint64_t to) {
    return model_step(ModelVerb::Turn, word, from, to);
  }

  static std::uint64_t draw(std::uint64_t& word) { return model_step(ModelVerb::Add, word, 0, 1); }
};

// One of `count` ways, all of which are gone.
inline std::uint64_t model_choice(std::uint64_t count) {
  return ModelRun::current().step({ModelVerb::Choose, nullptr, 0, count});
}

inline std::size_t model_mark() {
  return ModelRun::current().given;
}

// Forgets what happened since the mark.
[[noreturn]] inline void model_again(std::size_t mark) {
  throw ModelAgain{mark};
}

class TicketModel {
 public:
  using Phase = std::function<void(const TicketWords&)>;
  using Script = std::vector<Phase>;

  TicketModel(const TicketLayout& layout, std::vector<Script> scripts)
      : layout_(layout), memory_(ticket_region_bytes(layout)), scripts_(std::move(scripts)) {
    for (std::uint32_t index = 0; index < layout.places; ++index) {
      words().place(index) = first_ticket_word(index);
    }
  }

  TicketWords words() { return {memory_.data(), layout_}; }

  // Visits every state; `check` is called in each with the memory as it is there, `check_end` in
  // those where all scripts have ended. Expects that from every state an end can be reached.
  void explore(const std::function<void()>& check, const std::function<void()>& check_end) {
    answers_.assign(scripts_.size(), {});
    phases_.assign(scripts_.size(), 0);
    add(save(), kNone);
    for (std::size_t at = 0; at < states_.size() && !testing::Test::HasFailure(); ++at) {
      load(states_[at]);
      check();
      bool is_end = true;
      for (std::size_t who = 0; who < scripts_.size(); ++who) {
        load(states_[at]);
        is_end = !advance(at, who) && is_end;
      }
      if (is_end) {
        load(states_[at]);
        check_end();
        ends_.push_back(at);
      }
    }
    expect_ends_everywhere();
  }

  std::size_t state_count() const { return states_.size(); }

  std::size_t end_count() const { return ends_.size(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // The words that scripts change, then the phase and the answers of each script. A byte for each
  // number: a model's tickets are few.
  std::string save() {
    std::string state;
    append(state, words().next());
    for (std::uint32_t index = 0; index < layout_.places; ++index) {
      append(state, words().place(index));
    }
    for (std::size_t who = 0; who < scripts_.size(); ++who) {
      append(state, phases_[who]);
      append(state, answers_[who].size());
      for (const std::uint64_t answer : answers_[who]) {
        append(state, answer);
      }
    }
    return state;
  }

  void load(const std::string& state) {
    auto from = state.begin();
    words().next() = take(from);
    for (std::uint32_t index = 0; index < layout_.places; ++index) {
      words().place(index) = take(from);
    }
    for (std::size_t who = 0; who < scripts_.size(); ++who) {
      phases_[who] = take(from);
      answers_[who].resize(take(from));
      for (std::uint64_t& answer : answers_[who]) {
        answer = take(from);
      }
    }
  }

  // All that script `who` can do next, from the loaded state. False: it has ended.
  bool advance(std::size_t at, std::size_t who) {
    if (phases_[who] == scripts_[who].size()) {
      return false;
    }
    try {
      ModelRun::current() = {&answers_[who], 0};
      scripts_[who][phases_[who]](words());
      ++phases_[who];
      answers_[who].clear();
      add(save(), at);
    } catch (const ModelAgain& again) {
      answers_[who].resize(again.answers);
      add(save(), at);
    } catch (const ModelPending& pending) {
      const std::uint64_t ways = pending.step.verb == ModelVerb::Choose ? pending.step.to : 1;
      for (std::uint64_t way = 0; way < ways; ++way) {
        answers_[who].push_back(pending.step.verb == ModelVerb::Choose ? way : apply(pending.step));
        add(save(), at);
        answers_[who].pop_back();
      }
    }
    return true;
  }

  static std::uint64_t apply(const ModelStep& step) {
    const std::uint64_t found = *step.word;
    switch (step.verb) {
      case ModelVerb::Store:
        *step.word = step.to;
        break;
      case ModelVerb::Turn:
        *step.word = found == step.from ? step.to : found;
        break;
      case ModelVerb::Add:
        *step.word = found + step.to;
        break;
      default:
        break;
    }
    return found;
  }

  void add(std::string state, std::size_t from) {
    const auto [place, is_first] = numbers_.try_emplace(std::move(state), states_.size());
    if (is_first) {
      states_.push_back(place->first);
      before_.emplace_back();
    }
    if (from != kNone) {
      before_[place->second].push_back(from);
    }
  }

  void expect_ends_everywhere() const {
    std::vector<bool> reached(states_.size());
    std::vector<std::size_t> open = ends_;
    std::size_t count = 0;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (!reached[at]) {
        reached[at] = true;
        ++count;
        open.insert(open.end(), before_[at].begin(), before_[at].end());
      }
    }
    EXPECT_EQ(count, states_.size()) << "some states lead to no end: somebody is lost";
  }

  static void append(std::string& state, std::uint64_t number) {
    EXPECT_LT(number, 256u);
    state.push_back(static_cast<char>(number));
  }

  static std::uint64_t take(std::string::const_iterator& from) {
    return static_cast<unsigned char>(*from++);
  }

  TicketLayout layout_;
  std::vector<std::byte> memory_;
  std::vector<Script> scripts_;
  std::vector<std::uint64_t> phases_;                // Of the loaded state.
  std::vector<std::vector<std::uint64_t>> answers_;  // Likewise.
  std::vector<std::string> states_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::size_t> ends_;
};

}  // namespace gcoord::netcore
