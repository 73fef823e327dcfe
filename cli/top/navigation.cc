#include "cli/top/navigation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::cli::top {

namespace {

using std::chrono::milliseconds;

constexpr std::array kIntervals = {milliseconds{100},
                                   milliseconds{200},
                                   milliseconds{500},
                                   milliseconds{1'000},
                                   milliseconds{2'000},
                                   milliseconds{5'000},
                                   milliseconds{10'000},
                                   milliseconds{30'000},
                                   milliseconds{60'000}};

// The first row of the other table than that of the row.
std::size_t other_table(const std::vector<Target>& targets, std::size_t row) {
  const bool name = targets[row].kind == Target::Kind::Name;
  const auto found = std::ranges::find_if(
      targets, [name](const Target& each) { return (each.kind == Target::Kind::Name) != name; });
  return found == targets.end() ? row : static_cast<std::size_t>(found - targets.begin());
}

// The rows of a page: which is selected, and how many fit on the screen.
struct PageRows {
  const std::vector<Target>& targets;
  std::size_t row = 0;
  std::size_t page_rows = 0;
};

std::size_t moved(Action action, const PageRows& rows) {
  const auto& [targets, row, page_rows] = rows;
  const std::size_t last = targets.size() - 1;
  switch (action) {
    case Action::Up:
      return row == 0 ? 0 : row - 1;
    case Action::Down:
      return std::min(row + 1, last);
    case Action::PageUp:
      return row - std::min(row, page_rows);
    case Action::PageDown:
      return std::min(row + page_rows, last);
    case Action::First:
      return 0;
    case Action::Last:
      return last;
    case Action::OtherTable:
      return other_table(targets, row);
    default:
      return row;
  }
}

}  // namespace

void Navigation::act(KeyPress key, const std::vector<Target>& targets, std::size_t page_rows) {
  if (help_ && key.action != Action::Quit && key.action != Action::Redraw) {
    help_ = false;  // Any key leaves it.
    return;
  }
  move(key, targets, page_rows);
  switch (key.action) {
    case Action::Open:
      return open();
    case Action::Back:
      return back();
    case Action::SortLeft:
    case Action::SortRight:
    case Action::SortBy:
    case Action::Reverse:
      return sort(key);
    case Action::Slower:
    case Action::Faster:
      return change_interval(key.action);
    case Action::Pause:
      paused_ = !paused_;
      return;
    case Action::Help:
      help_ = true;
      return;
    case Action::Quit:
      quit_ = true;
      return;
    default:
      return;
  }
}

std::optional<std::size_t> Navigation::selected_row(const std::vector<Target>& targets) const {
  if (targets.empty()) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(targets, here().selected);
  return found == targets.end() ? std::min(here().row, targets.size() - 1)
                                : static_cast<std::size_t>(found - targets.begin());
}

bool Navigation::sorts_names() const {
  return here().page != Page::Overview || here().selected.kind == Target::Kind::Name;
}

// Also where the key moves nothing: from then on the row that was shown as selected is.
void Navigation::move(KeyPress key, const std::vector<Target>& targets, std::size_t page_rows) {
  const auto row = selected_row(targets);
  if (row.has_value()) {
    visits_.back().row = moved(key.action, {targets, *row, page_rows});
    visits_.back().selected = targets[visits_.back().row];
  }
}

void Navigation::open() {
  const Target target = here().selected;
  if (target.kind == Target::Kind::Node) {
    visits_.push_back({.page = Page::Node, .node = target.node});
  } else if (target.kind == Target::Kind::Name) {
    visits_.push_back({.page = Page::Name, .name = target.name});
  }
}

void Navigation::back() {
  if (visits_.size() > 1) {
    visits_.pop_back();
  }
}

void Navigation::sort(KeyPress key) {
  const auto columns = sorts_names() ? name_columns() : node_columns();
  Sorting& sorting = sorts_names() ? names_ : nodes_;
  if (key.action == Action::Reverse) {
    sorting.reverse = !sorting.reverse;
    return;
  }
  const std::size_t step = key.action == Action::SortLeft ? columns.size() - 1 : 1;
  const std::size_t column = key.action == Action::SortBy
                                 ? column_of_key(columns, key.letter).value_or(sorting.column)
                                 : (sorting.column + step) % columns.size();
  if (column != sorting.column) {
    sorting = {.column = column, .reverse = false};
  }
}

void Navigation::change_interval(Action action) {
  if (action == Action::Slower) {
    const auto next = std::ranges::upper_bound(kIntervals, interval_);
    interval_ = next == kIntervals.end() ? interval_ : *next;
  } else {
    const auto at = std::ranges::lower_bound(kIntervals, interval_);
    interval_ = at == kIntervals.begin() ? interval_ : *std::prev(at);
  }
}

}  // namespace gcoord::cli::top
