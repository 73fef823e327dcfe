// The numbers that are followed for every node: where each comes from, and how it is counted.
//
// A level is as it was told. A rate is the growth of a counter between two readings of one life of
// the node, for each second between them; it is unknown where the node started in between, or a
// counter fell. Base units throughout: seconds, bytes, 1 for all of a whole. Pure; any thread.
#pragma once

#include "cli/top/samples/reading.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gcoord::cli::top {

enum class Source : std::uint8_t {
  StatusLevel,    // `group` and `name` of the report.
  StatusRate,     // The same, of a counter.
  MetricLevel,    // `name` is a metric: the sum over its labels.
  MetricMean,     // The mean over its labels.
  MetricHighest,  // The highest of its labels.
  MetricRate,     // The sum, of a counter.
  ObservedRate,   // Observations of a histogram.
  ObservedMean,   // The mean of the observations since the reading before.
  ObservedP99,    // Their 99th percentile: the bound of the bucket that it lies in.
};

enum class Unit : std::uint8_t {
  Count,
  PerSecond,
  Seconds,
  Bytes,
  BytesPerSecond,
  Ratio,
  Watts,
  Celsius
};

struct Series {
  std::string_view id;       // In JSON and for --sort.
  std::string_view section;  // Of a node's page.
  std::string_view label;
  Unit unit = Unit::Count;
  Source source = Source::StatusLevel;
  std::string_view group;
  std::string_view name;
};

// All of them; those of one section stand together.
std::span<const Series> all_series();

// Where it stands in all_series(), which has it.
std::size_t series_index(std::string_view id);

// No number is higher; it fits into 64 bits. A sum over all nodes of such numbers is finite.
inline constexpr double kNumberMax = 1e19;

// `before` is null when there is no earlier reading of this life. From 0 to kNumberMax; only a
// temperature may be lower. A node that tells anything else, which may be hostile, tells nothing.
std::optional<double> value_of(const Series& series,
                               const NodeReading& now,
                               const NodeReading* before);

}  // namespace gcoord::cli::top
