#include "chaos/live/live_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace gcoord::chaos {

namespace {

// Pixels.
constexpr double kWidth = 1180;
constexpr double kLeft = 148;
constexpr double kRight = 14;
constexpr double kRateHeight = 150;
constexpr double kLatencyHeight = 120;
constexpr double kNodeHeight = 20;
constexpr double kFaultHeight = 15;
constexpr double kGap = 40;
constexpr double kTop = 24;

// Milliseconds at the bottom and top of the latency's logarithmic scale.
constexpr double kLatencyLeast = 0.3;
constexpr double kLatencyMost = 3000;

class Chart {
 public:
  Chart(const LiveResult& result, const LiveOptions& options) : result_(result), options_(options) {
    std::set<std::string> struck;
    for (const StrikeRecord& strike : result.strikes) {
      struck.insert(strike.fault);
    }
    for (const FaultTally& tally : result.tallies) {
      if (struck.contains(tally.name)) {
        faults_.push_back(tally.name);
      }
    }
    latency_top_ = kTop + kRateHeight + kGap;
    nodes_top_ = latency_top_ + kLatencyHeight + kGap;
    faults_top_ = nodes_top_ + options.nodes * kNodeHeight + kGap;
    bottom_ = faults_top_ + static_cast<double>(faults_.size()) * kFaultHeight;
  }

  std::string draw(const std::string& style) {
    const double height = bottom_ + 34;
    out_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" class="chart">)",
        kWidth,
        height);
    out_ +=
        "<title>Rate, latency, leaders and faults over time</title><style>" + style + "</style>";
    out_ += fmt::format(R"(<rect class="paper" width="{}" height="{}"/>)", kWidth, height);
    shade();
    draw_time_axis();
    draw_rate();
    draw_latency();
    draw_leaders();
    draw_faults();
    return out_ + "</svg>";
  }

 private:
  double x_of(double seconds) const {
    return kLeft + seconds / std::max(result_.seconds, 1.0) * (kWidth - kLeft - kRight);
  }

  double x_of_ns(std::uint64_t ns) const {
    const double seconds =
        ns <= result_.began_ns ? 0 : static_cast<double>(ns - result_.began_ns) / 1e9;
    return x_of(std::min(seconds, result_.seconds));
  }

  void heading(double top, const std::string& text) {
    out_ += fmt::format(R"(<text class="heading" x="{}" y="{}">{}</text>)", kLeft, top - 8, text);
  }

  void label(double y, const std::string& text) {
    out_ += fmt::format(R"(<text class="label" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                        kLeft - 8,
                        y + 4,
                        text);
  }

  void line(double y) {
    out_ += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)",
                        kLeft,
                        kWidth - kRight,
                        y,
                        y);
  }

  void shade() {
    for (const StrikeRecord& strike : result_.strikes) {
      const double from = x_of_ns(strike.from_ns);
      out_ += fmt::format(
          R"(<rect class="window" x="{:.1f}" y="{}" width="{:.1f}" height="{:.1f}"><title>{}: {}</title></rect>)",
          from,
          kTop,
          std::max(x_of_ns(strike.over_ns) - from, 1.0),
          bottom_ - kTop,
          escape_xml(strike.fault),
          escape_xml(strike.what));
    }
  }

  void draw_time_axis() {
    double step = 5;
    for (const double candidate : {10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0}) {
      step = result_.seconds / step > 14 ? candidate : step;
    }
    for (double second = 0; second <= result_.seconds; second += step) {
      const double x = x_of(second);
      out_ += fmt::format(R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{:.1f}"/>)",
                          x,
                          x,
                          kTop,
                          bottom_);
      const auto whole = static_cast<int>(second);
      out_ += fmt::format(
          R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}:{:02}</text>)",
          x,
          bottom_ + 18,
          whole / 60,
          whole % 60);
    }
  }

  void draw_rate() {
    std::uint32_t most = 1;
    for (const LiveSecond& second : result_.timeline) {
      most = std::max(most, second.answered);
    }
    const double unit = std::pow(10.0, std::floor(std::log10(most)));
    const double top = std::ceil(most / unit) * unit;
    const auto y_of = [&](double value) { return kTop + kRateHeight * (1 - value / top); };
    heading(kTop, "operations answered in each second");
    for (const double share : {0.0, 0.5, 1.0}) {
      line(y_of(top * share));
      label(y_of(top * share), fmt::format("{:.0f}", top * share));
    }
    std::string path;
    for (std::size_t i = 0; i + 1 < result_.timeline.size(); ++i) {
      path += fmt::format("{}{:.1f},{:.1f}",
                          i == 0 ? "M" : "L",
                          x_of(static_cast<double>(i) + 0.5),
                          y_of(result_.timeline[i].answered));
    }
    if (path.empty()) {
      return;
    }
    const double last = x_of(static_cast<double>(result_.timeline.size()) - 1.5);
    out_ += fmt::format(
        R"(<path class="area" d="{}L{:.1f},{}L{:.1f},{}Z"/><path class="rate" d="{}"/>)",
        path,
        last,
        y_of(0),
        x_of(0.5),
        y_of(0),
        path);
  }

  void draw_latency() {
    const double decades = std::log10(kLatencyMost / kLatencyLeast);
    const auto y_of = [&](double ms) {
      const double bounded = std::clamp(ms, kLatencyLeast, kLatencyMost);
      return latency_top_ + kLatencyHeight * (1 - std::log10(bounded / kLatencyLeast) / decades);
    };
    heading(
        latency_top_,
        R"(latency without waits in line, ms: <tspan class="p50-name">median</tspan> and <tspan class="p99-name">99th percentile</tspan>)");
    for (const double ms : {1.0, 10.0, 100.0, 1000.0}) {
      line(y_of(ms));
      label(y_of(ms), fmt::format("{:.0f} ms", ms));
    }
    for (const bool tail : {true, false}) {
      std::string path;
      bool pen_down = false;
      for (std::size_t i = 0; i + 1 < result_.timeline.size(); ++i) {
        const LiveSecond& second = result_.timeline[i];
        if (second.answered > 0) {
          path += fmt::format("{}{:.1f},{:.1f}",
                              pen_down ? "L" : "M",
                              x_of(static_cast<double>(i) + 0.5),
                              y_of(tail ? second.p99_ms : second.p50_ms));
        }
        pen_down = second.answered > 0;
      }
      out_ += fmt::format(R"(<path class="{}" d="{}"/>)", tail ? "p99" : "p50", path);
    }
  }

  // A strip for each node: the darker, the more shards it led; striped where it did not answer.
  void draw_leaders() {
    heading(nodes_top_, "shards led by each node (pale: none; red: it did not answer)");
    const double end = static_cast<double>(result_.seconds);
    for (std::uint32_t node = 1; node <= options_.nodes; ++node) {
      const double y = nodes_top_ + (node - 1) * kNodeHeight;
      label(y + kNodeHeight / 2, fmt::format("node {}", node));
      std::vector<LeaderSample> own;
      std::copy_if(
          result_.leaders.begin(),
          result_.leaders.end(),
          std::back_inserter(own),
          [&](const LeaderSample& s) { return s.node == node && s.at_ns >= result_.began_ns; });
      for (std::size_t first = 0; first < own.size();) {
        std::size_t last = first;
        while (last + 1 < own.size() && own[last + 1].leaders == own[first].leaders) {
          ++last;
        }
        const double from = x_of_ns(own[first].at_ns);
        const double to = last + 1 < own.size() ? x_of_ns(own[last + 1].at_ns) : x_of(end);
        draw_strip(own[first].leaders, {from, to}, y);
        first = last + 1;
      }
    }
  }

  void draw_strip(std::int32_t leaders, std::pair<double, double> span, double y) {
    const double share = std::min(1.0, 2.0 * std::max(leaders, 0) / options_.shards);
    out_ += fmt::format(
        R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" fill-opacity="{:.2f}"><title>{}</title></rect>)",
        leaders < 0 ? "silent" : "leads",
        span.first,
        y + 2,
        std::max(span.second - span.first, 0.3),
        kNodeHeight - 4,
        leaders < 0 ? 0.75 : 0.08 + 0.92 * share,
        leaders < 0 ? "no answer" : fmt::format("{} shards", leaders));
  }

  void draw_faults() {
    heading(faults_top_, "faults, from injection to healing");
    for (std::size_t row = 0; row < faults_.size(); ++row) {
      const double y = faults_top_ + static_cast<double>(row) * kFaultHeight;
      label(y + kFaultHeight / 2, faults_[row]);
      for (const StrikeRecord& strike : result_.strikes) {
        if (strike.fault != faults_[row]) {
          continue;
        }
        const double from = x_of_ns(strike.from_ns);
        out_ += fmt::format(
            R"(<rect class="strike" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2"><title>{}{}</title></rect>)",
            from,
            y + 2.5,
            std::max(x_of_ns(strike.healed_ns) - from, 2.5),
            kFaultHeight - 5,
            escape_xml(strike.what),
            escape_xml(strike.outcome.empty() ? "" : ": " + strike.outcome));
      }
    }
  }

  const LiveResult& result_;
  const LiveOptions& options_;
  std::vector<std::string> faults_;
  double latency_top_ = 0;
  double nodes_top_ = 0;
  double faults_top_ = 0;
  double bottom_ = 0;
  std::string out_;
};

}  // namespace

std::string escape_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string live_chart(const LiveResult& result,
                       const LiveOptions& options,
                       const std::string& style) {
  return Chart{result, options}.draw(style);
}

}  // namespace gcoord::chaos
