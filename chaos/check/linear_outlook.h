// Look-ahead pruning for the linearizability search: it finds configurations in which a remaining
// operation can no longer succeed.
//
// A register that leaves a value which is still to be read, and which nobody will write again, is
// lost; so is a counter that has grown beyond what is still to be read. The search would find that
// out too, after trying everything in between. Looking ahead uses what happens later, so it must
// not decide which prefix of a history is illegal (linear_prefix.h).
// Pure; one thread. `taken(index)` says whether an operation is in order already.
#pragma once

#include "chaos/check/linear_calls.h"
#include "chaos/check/value_models.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace gcoord::chaos {

// Most models need none: what they forbid shows at once.
template <typename Model>
struct Outlook {
  static constexpr bool kLooks = false;

  explicit Outlook(const CallTable<typename Model::Action>&) {}
};

template <>
struct Outlook<RegisterModel> {
  static constexpr bool kLooks = true;
  using Table = CallTable<RegisterModel::Action>;

  explicit Outlook(const Table& table) {
    for (std::uint32_t index = 0; index < table.size(); ++index) {
      const RegisterModel::Action& action = table.call(index).action;
      if (action.kind == RegisterModel::Write || action.kind == RegisterModel::Cas) {
        values_[action.value].producers.push_back(index);
      }
      if (index < table.known_count() && action.kind == RegisterModel::Read) {
        values_[action.value].consumers.push_back(index);
      } else if (index < table.known_count() && action.kind == RegisterModel::Cas) {
        values_[action.from].consumers.push_back(index);
      }
    }
  }

  template <typename Taken>
  bool doomed(const RegisterModel::State& before,
              const RegisterModel::State& after,
              std::uint32_t event,
              Taken&& taken) const {
    if (before.value == after.value) {
      return false;
    }
    const auto found = values_.find(before.value);
    return found != values_.end() && any_left(found->second.consumers, event, taken) &&
           !any_left(found->second.producers, event, taken);
  }

 private:
  struct Value {
    std::vector<std::uint32_t> consumers;  // Known operations that need it to be there.
    std::vector<std::uint32_t> producers;
  };

  // Operations below `event` have returned; the others follow one another by their returns.
  template <typename Taken>
  static bool any_left(const std::vector<std::uint32_t>& indices,
                       std::uint32_t event,
                       Taken&& taken) {
    const auto first = std::lower_bound(indices.begin(), indices.end(), event);
    return std::any_of(first, indices.end(), [&](std::uint32_t index) { return !taken(index); });
  }

  std::unordered_map<std::uint64_t, Value> values_;
};

template <>
struct Outlook<CounterModel> {
  static constexpr bool kLooks = true;
  using Table = CallTable<CounterModel::Action>;

  explicit Outlook(const Table& table) : table_(table) {
    for (std::uint32_t index = 0; index < table.size(); ++index) {
      const CounterModel::Action& action = table.call(index).action;
      only_grows_ &= action.kind == CounterModel::Read || as_signed(action.delta) >= 0;
    }
    find_least_after();
  }

  // Whether the counter is above what something must still find in it.
  template <typename Taken>
  bool doomed(const CounterModel::State&,
              const CounterModel::State& after,
              std::uint32_t event,
              Taken&& taken) const {
    if (!only_grows_ || event == table_.known_count()) {
      return false;
    }
    const std::int64_t value = as_signed(after.value);
    const auto pending = table_.pending(event);
    return value > least_after_[event] ||
           std::any_of(pending.begin(), pending.end(), [&](std::uint32_t index) {
             return !taken(index) && value > most_before(table_.call(index).action);
           });
  }

 private:
  static constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

  static std::int64_t as_signed(std::uint64_t word) { return static_cast<std::int64_t>(word); }

  // The highest value at which the action is legal.
  static std::int64_t most_before(const CounterModel::Action& action) {
    switch (action.kind) {
      case CounterModel::Read:
        return as_signed(action.value);
      case CounterModel::AddTold:
        return as_signed(action.value - action.delta);
      default:
        return kNoBound;
    }
  }

  // least_after_[e]: over the operations that are called after return e.
  void find_least_after() {
    std::vector<std::uint32_t> by_call(table_.known_count());
    for (std::uint32_t index = 0; index < by_call.size(); ++index) {
      by_call[index] = index;
    }
    std::sort(by_call.begin(), by_call.end(), [&](std::uint32_t a, std::uint32_t b) {
      return table_.call(a).call_ns > table_.call(b).call_ns;
    });
    least_after_.assign(table_.known_count(), kNoBound);
    std::int64_t least = kNoBound;
    auto next = by_call.begin();
    for (std::uint32_t event = table_.known_count(); event-- > 0;) {
      for (; next != by_call.end() && table_.call(*next).call_ns > table_.return_ns(event);
           ++next) {
        least = std::min(least, most_before(table_.call(*next).action));
      }
      least_after_[event] = least;
    }
  }

  const Table& table_;
  bool only_grows_ = true;
  std::vector<std::int64_t> least_after_;
};

}  // namespace gcoord::chaos
