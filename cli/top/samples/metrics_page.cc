#include "cli/top/samples/metrics_page.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace gcoord::cli::top {

namespace {

constexpr std::string_view kBoundLabel = "le=\"";

// Where the labels that begin at `open` end; npos when they do not. A value in quotes may hold
// braces and escaped quotes.
std::size_t end_of_labels(std::string_view line, std::size_t open) {
  bool quoted = false;
  for (std::size_t at = open + 1; at < line.size(); ++at) {
    if (quoted && line[at] == '\\') {
      ++at;
    } else if (line[at] == '"') {
      quoted = !quoted;
    } else if (!quoted && line[at] == '}') {
      return at;
    }
  }
  return std::string_view::npos;
}

std::optional<double> sample_value(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));  // A time may follow.
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional{value} : std::nullopt;
}

// The bound of a bucket; infinity without one that can be read.
double bound_of(std::string_view labels) {
  const std::size_t begin = labels.find(kBoundLabel);
  if (begin == std::string_view::npos) {
    return std::numeric_limits<double>::infinity();
  }
  const std::string_view text = labels.substr(begin + kBoundLabel.size());
  return sample_value(text.substr(0, text.find('"')))
      .value_or(std::numeric_limits<double>::infinity());
}

}  // namespace

MetricsPage MetricsPage::parse(std::string_view text) {
  MetricsPage page;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!line.empty() && line.front() != '#' && !page.add(line)) {
      ++page.dropped_;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return page;
}

bool MetricsPage::add(std::string_view line) {
  const std::size_t name_end = line.find_first_of("{ ");
  if (name_end == std::string_view::npos || name_end == 0 || count_ == kMetricSamplesMax) {
    return false;
  }
  std::string_view labels;
  std::size_t value_begin = name_end;
  if (line[name_end] == '{') {
    const std::size_t close = end_of_labels(line, name_end);
    if (close == std::string_view::npos) {
      return false;
    }
    labels = line.substr(name_end + 1, close - name_end - 1);
    value_begin = close + 1;
  }
  const auto value = sample_value(line.substr(value_begin));
  if (!value.has_value()) {
    return false;
  }
  by_name_[std::string{line.substr(0, name_end)}].push_back({*value, bound_of(labels)});
  ++count_;
  return true;
}

const std::vector<MetricsPage::MetricSample>* MetricsPage::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

std::optional<double> MetricsPage::sum(std::string_view name) const {
  const auto* samples = find(name);
  if (samples == nullptr) {
    return std::nullopt;
  }
  double total = 0;
  for (const MetricSample& each : *samples) {
    total += each.value;
  }
  return total;
}

std::optional<double> MetricsPage::mean(std::string_view name) const {
  const auto total = sum(name);
  return total.has_value() ? std::optional{*total / static_cast<double>(find(name)->size())}
                           : std::nullopt;
}

std::optional<double> MetricsPage::highest(std::string_view name) const {
  const auto* samples = find(name);
  if (samples == nullptr) {
    return std::nullopt;
  }
  return std::ranges::max_element(*samples, {}, &MetricSample::value)->value;
}

std::vector<MetricsPage::Bucket> MetricsPage::buckets(std::string_view histogram) const {
  std::vector<Bucket> found;
  if (const auto* samples = find(std::string{histogram} + "_bucket")) {
    for (const MetricSample& each : *samples) {
      found.push_back({each.bound, each.value});
    }
  }
  std::ranges::sort(found, {}, &Bucket::bound);
  return found;
}

}  // namespace gcoord::cli::top
