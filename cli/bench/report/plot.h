// Plots of lines as SVG, without scripts: one drawing with axes, grid and names of the lines.
//
// Colours are classes that the page defines for light and dark. Pure.
#pragma once

#include <string>
#include <vector>

namespace gcoord::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotLine {
  std::string name;
  std::string style;  // A class of the page.
  std::vector<PlotPoint> points;
};

enum class PlotScale { Linear, Logarithmic };

struct Plot {
  std::string title;
  std::string x_name;
  std::string y_name;
  PlotScale x_scale = PlotScale::Linear;
  PlotScale y_scale = PlotScale::Linear;
  std::vector<PlotLine> lines;
};

// An <svg> element. Points that are not positive are left out on a logarithmic scale.
std::string plot_svg(const Plot& plot);

// Text as XML has it; control characters become U+FFFD.
std::string xml_text(const std::string& text);

}  // namespace gcoord::cli
