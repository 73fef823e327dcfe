#include "cli/top/figures.h"
#include "cli/top/tables.h"
#include "cli/top/view.h"
#include "common/text/printable.h"

#include <algorithm>
#include <cstdio>

namespace gcoord::cli::top {

namespace {

constexpr std::size_t kRowsForOneTotal = 12;
constexpr std::size_t kRowsForAll = 16;  // Totals, and why a node is silent.

std::string interval_text(std::chrono::milliseconds interval) {
  char text[32];
  std::snprintf(text, sizeof text, "every %.1f s", static_cast<double>(interval.count()) / 1000);
  return text;
}

Line overview_title(const Model& model, const Navigation& navigation) {
  const bool all = model.answering() == model.nodes().size();
  return {"gcoordctl top  " + std::to_string(model.answering()) + " of " +
              std::to_string(model.nodes().size()) + " nodes answer  " +
              interval_text(navigation.interval()) + (navigation.paused() ? "  PAUSED" : ""),
          all ? Style::Title : Style::Alarm};
}

std::vector<Line> total_lines(const Model& model, const Frame& frame) {
  const Totals& totals = model.totals();
  const std::vector<NumberLine> all = {{"grants/s", Unit::PerSecond, totals.grants},
                                       {"expiries/s", Unit::PerSecond, totals.expiries},
                                       {"requests/s", Unit::PerSecond, totals.requests},
                                       {"entries/s", Unit::PerSecond, totals.entries}};
  const std::size_t count = frame.rows >= kRowsForAll        ? all.size()
                            : frame.rows >= kRowsForOneTotal ? 1
                                                             : 0;
  std::vector<Line> lines;
  for (std::size_t k = 0; k < count; ++k) {
    lines.push_back({number_line(all[k], frame.columns, frame.ascii)});
  }
  return lines;
}

// Why nodes do not answer, and why names are not told.
std::vector<BodyRow> complaints(const Model& model) {
  std::vector<BodyRow> rows;
  for (const NodeRow& each : model.nodes()) {
    if (!each.answers()) {
      const std::string who = "  node " + std::to_string(each.node) + ": ";
      rows.push_back({{who + shown(each.error), Style::Alarm}, std::nullopt});
    }
  }
  return rows;
}

}  // namespace

PageText overview_text(const Model& model, const Navigation& navigation, const Frame& frame) {
  PageText page;
  page.head.push_back(overview_title(model, navigation));
  std::ranges::move(total_lines(model, frame), std::back_inserter(page.head));
  if (frame.rows >= kRowsForAll) {
    page.head.push_back({});
  }
  page.body = node_table(model, navigation.nodes(), frame);
  if (frame.rows >= kRowsForAll) {
    std::ranges::move(complaints(model), std::back_inserter(page.body));
  }
  page.body.push_back({});
  std::ranges::move(
      name_table(sorted_names(names_of(model), navigation.names()), navigation.names(), frame),
      std::back_inserter(page.body));
  if (!model.names_error().empty()) {
    page.body.push_back(
        {{"  changes are not told: " + shown(model.names_error()), Style::Alarm}, std::nullopt});
  } else if (model.names().empty()) {
    page.body.push_back({{"  no name has changed", Style::Faint}, std::nullopt});
  }
  return page;
}

}  // namespace gcoord::cli::top
