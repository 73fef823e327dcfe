#include "cli/top/keys.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace gcoord::cli::top {

namespace {

constexpr char kEscape = '\x1b';

struct NamedKey {
  std::string_view bytes;
  Action action{};
};

constexpr std::array kPlainKeys = {
    NamedKey{"k", Action::Up},        NamedKey{"j", Action::Down},
    NamedKey{"g", Action::First},     NamedKey{"\t", Action::OtherTable},
    NamedKey{"\r", Action::Open},     NamedKey{"\n", Action::Open},
    NamedKey{"\x7f", Action::Back},   NamedKey{"\b", Action::Back},
    NamedKey{"<", Action::SortLeft},  NamedKey{",", Action::SortLeft},
    NamedKey{">", Action::SortRight}, NamedKey{".", Action::SortRight},
    NamedKey{"r", Action::Reverse},   NamedKey{"+", Action::Slower},
    NamedKey{"=", Action::Slower},    NamedKey{"-", Action::Faster},
    NamedKey{" ", Action::Pause},     NamedKey{"?", Action::Help},
    NamedKey{"h", Action::Help},      NamedKey{"\f", Action::Redraw},
    NamedKey{"q", Action::Quit},
};

// Behind ESC [ or ESC O, as xterm, the Linux console and rxvt send them.
constexpr std::array kSequences = {
    NamedKey{"A", Action::Up},
    NamedKey{"B", Action::Down},
    NamedKey{"H", Action::First},
    NamedKey{"F", Action::Last},
    NamedKey{"1~", Action::First},
    NamedKey{"7~", Action::First},
    NamedKey{"4~", Action::Last},
    NamedKey{"8~", Action::Last},
    NamedKey{"5~", Action::PageUp},
    NamedKey{"6~", Action::PageDown},
};

template <typename Keys>
std::optional<Action> action_of(const Keys& keys, std::string_view bytes) {
  const auto found = std::ranges::find(keys, bytes, &NamedKey::bytes);
  return found == keys.end() ? std::nullopt : std::optional{found->action};
}

// No key of a terminal is longer.
constexpr std::size_t kSequenceBytesMax = 32;

// How many bytes the sequence that begins with ESC has; 0 while it is not whole. ECMA-48: a control
// sequence ends with a byte of 0x40 to 0x7e.
std::size_t sequence_size(std::string_view typed) {
  if (typed.size() < 2) {
    return 0;
  }
  if (typed[1] != '[' && typed[1] != 'O') {
    return 1;
  }
  const auto end = std::find_if(
      typed.begin() + 2, typed.end(), [](char each) { return each >= '@' && each <= '~'; });
  if (end == typed.end() && typed.size() < kSequenceBytesMax) {
    return 0;
  }
  const auto last = static_cast<std::size_t>(end - typed.begin());
  return std::min(last + 1, kSequenceBytesMax);
}

KeyPress plain_key(char key) {
  if (key >= 'A' && key <= 'Z') {
    return {Action::SortBy, key};
  }
  return {action_of(kPlainKeys, {&key, 1}).value_or(Action::Other)};
}

}  // namespace

std::vector<KeyPress> take_keys(std::string& typed, bool settled) {
  std::vector<KeyPress> keys;
  while (!typed.empty()) {
    if (typed.front() != kEscape) {
      keys.push_back(plain_key(typed.front()));
      typed.erase(0, 1);
      continue;
    }
    const std::size_t size = sequence_size(typed);
    if (size == 0 && !settled) {
      break;
    }
    const std::size_t taken = size == 0 ? typed.size() : size;
    const std::string_view rest = std::string_view{typed}.substr(1, taken - 1);
    keys.push_back({rest.empty() ? Action::Back
                                 : action_of(kSequences, rest.substr(1)).value_or(Action::Other)});
    typed.erase(0, taken);
  }
  return keys;
}

}  // namespace gcoord::cli::top
