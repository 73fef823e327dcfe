// The position of the user of top: the page, the selected row, the order of rows; keys change it.
//
// Pages form a stack: Open goes to the selected node or name, Back returns to the row one came
// from. A row is selected by what it shows, so that the selection stays with it when rows change
// places. Pure; one thread.
#pragma once

#include "cli/top/columns.h"
#include "cli/top/keys.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli::top {

enum class Page : std::uint8_t { Overview, Node, Name };

// What a row shows.
struct Target {
  enum class Kind : std::uint8_t { None, Node, Name, Line };

  Kind kind = Kind::None;
  std::uint32_t node = 0;  // Of a Node.
  std::string name;        // Of a Name.
  std::size_t line = 0;    // Of a Line, which has nothing to open.

  friend bool operator==(const Target&, const Target&) = default;
};

// A page that one is on, or came from.
struct Visit {
  Page page = Page::Overview;
  std::uint32_t node = 0;  // Of a node's page.
  std::string name;        // Of a name's page.
  Target selected;
  std::size_t row = 0;  // Of the selected target when it was seen last.
};

class Navigation {
 public:
  explicit Navigation(std::chrono::milliseconds interval, Sorting nodes = {})
      : interval_(interval), nodes_(nodes) {}

  // `targets` are the rows of the page as it is shown, from top to bottom; `page_rows` is how many
  // of them fit on the screen.
  void act(KeyPress key, const std::vector<Target>& targets, std::size_t page_rows);

  const Visit& here() const { return visits_.back(); }

  // Which of the rows is selected: where the selected one went, or the one in its row. Nothing
  // when there are none.
  std::optional<std::size_t> selected_row(const std::vector<Target>& targets) const;

  std::chrono::milliseconds interval() const { return interval_; }

  Sorting nodes() const { return nodes_; }

  Sorting names() const { return names_; }

  // Keys that sort are about names here, and not about nodes.
  bool sorts_names() const;

  bool paused() const { return paused_; }

  bool help() const { return help_; }

  bool quit() const { return quit_; }

 private:
  void move(KeyPress key, const std::vector<Target>& targets, std::size_t page_rows);
  void open();
  void back();
  void sort(KeyPress key);
  void change_interval(Action action);

  std::vector<Visit> visits_{Visit{}};
  std::chrono::milliseconds interval_;
  Sorting nodes_;
  Sorting names_;
  bool paused_ = false;
  bool help_ = false;
  bool quit_ = false;
};

}  // namespace gcoord::cli::top
