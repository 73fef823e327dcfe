// Screens of top: lines of text made of the model, the user's position and the size of the screen.
//
// No line is wider than the screen and there are no more than fit, whatever the model holds; cells
// count, not bytes. Colors are put on afterwards (paint.h), so that a screen can be compared as
// text. Pure; any thread.
#pragma once

#include "cli/top/navigation.h"
#include "cli/top/samples/model.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli::top {

struct Frame {
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool ascii = false;  // The terminal has no more than that; other characters are question marks.
};

enum class Style : std::uint8_t { Plain, Title, Heading, Selected, Alarm, Faint };

struct Line {
  std::string text;
  Style style = Style::Plain;
};

// A line of a page's body, which scrolls; with a target it can be selected.
struct BodyRow {
  Line line;
  std::optional<Target> target;
};

// All that stands above the body, and the body, whole.
struct PageText {
  std::vector<Line> head;
  std::vector<BodyRow> body;
};

PageText page_text(const Model& model, const Navigation& navigation, const Frame& frame);

// The rows that can be selected, from top to bottom.
std::vector<Target> targets_of(const PageText& page);

// How many lines of the body fit.
std::size_t body_rows(const PageText& page, const Frame& frame);

// The screen: the head, the part of the body with the selected row, and the line of keys; or help.
std::vector<Line> screen_of(const Model& model, const Navigation& navigation, const Frame& frame);

// One per page.
PageText overview_text(const Model& model, const Navigation& navigation, const Frame& frame);
PageText node_text(const Model& model, const Navigation& navigation, const Frame& frame);
PageText name_text(const Model& model, const Navigation& navigation, const Frame& frame);
std::vector<Line> help_text();

}  // namespace gcoord::cli::top
