#include "cli/top/samples/model.h"

#include "cli/top/samples/series.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gcoord::cli::top {

namespace {

double heat_of(const NameRow& row) {
  double sum = 0;
  for (const History* each : {&row.grants, &row.waits}) {
    for (std::size_t k = 0; k < each->size(); ++k) {
      sum += each->at(k).value_or(0);
    }
  }
  return sum;
}

// The sum over the nodes that know it; nothing when none does.
std::optional<double> sum_of(const std::vector<NodeRow>& nodes, std::size_t series) {
  std::optional<double> sum;
  for (const NodeRow& each : nodes) {
    if (const auto value = each.latest(series); value.has_value()) {
      sum = sum.value_or(0) + *value;
    }
  }
  return sum;
}

}  // namespace

void Model::add(Sample sample) {
  seconds_ = samples_ == 0 ? 0 : static_cast<double>(sample.at_ms - at_ms_) / 1000;
  at_ms_ = sample.at_ms;
  ++samples_;
  names_error_ = std::move(sample.names_error);
  std::erase_if(nodes_, [&](const NodeRow& row) {
    return std::ranges::find(sample.nodes, row.node, &NodeReading::node) == sample.nodes.end();
  });
  for (NodeReading& each : sample.nodes) {
    add_node(std::move(each));
  }
  std::ranges::sort(nodes_, {}, &NodeRow::node);
  add_names(sample.names);
  add_totals(sample.names);
}

void Model::add_node(NodeReading reading) {
  auto row = std::ranges::find(nodes_, reading.node, &NodeRow::node);
  if (row == nodes_.end()) {
    nodes_.push_back({.node = reading.node, .history = std::vector<History>(all_series().size())});
    row = nodes_.end() - 1;
  }
  row->endpoint = reading.endpoint;
  row->error = reading.error;
  if (!reading.answered()) {
    for (History& each : row->history) {
      each.add(std::nullopt);
    }
    return;
  }
  row->metrics_error = reading.metrics_error;
  row->answered_ms = reading.at_ms;
  auto before = std::ranges::find(readings_, reading.node, &NodeReading::node);
  const bool goes_on = before != readings_.end() && same_life(*before, reading);
  for (std::size_t k = 0; k < all_series().size(); ++k) {
    row->history[k].add(value_of(all_series()[k], reading, goes_on ? &*before : nullptr));
  }
  if (before == readings_.end()) {
    readings_.push_back(std::move(reading));
  } else {
    *before = std::move(reading);
  }
}

void Model::add_names(const HotNames::Sample& heat) {
  if (samples_ < 2 || seconds_ <= 0) {
    return;  // Counted since an unknown moment.
  }
  for (const HotNames::Name& each : heat.hottest) {
    if (std::ranges::find(names_, each.name, &NameRow::name) == names_.end()) {
      names_.push_back({.name = each.name, .shard = each.shard});
    }
  }
  for (NameRow& row : names_) {
    const auto counted = std::ranges::find(heat.hottest, row.name, &HotNames::Name::name);
    const bool changed = counted != heat.hottest.end();
    row.shard = changed ? counted->shard : row.shard;
    row.grants.add(changed ? static_cast<double>(counted->grants) / seconds_ : 0);
    row.waits.add(changed ? static_cast<double>(counted->waits) / seconds_ : 0);
  }
  std::erase_if(names_, [](const NameRow& row) { return heat_of(row) <= 0; });
  std::ranges::sort(names_, [](const NameRow& a, const NameRow& b) {
    return std::tuple(-a.changes(), -heat_of(a), std::string_view{a.name}) <
           std::tuple(-b.changes(), -heat_of(b), std::string_view{b.name});
  });
  if (names_.size() > kNamesFollowedMax) {
    names_.resize(kNamesFollowedMax);
  }
}

void Model::add_totals(const HotNames::Sample& heat) {
  const bool counted = samples_ >= 2 && seconds_ > 0 && names_error_.empty();
  const auto rate = [&](std::uint64_t count) {
    return counted ? std::optional{static_cast<double>(count) / seconds_} : std::nullopt;
  };
  totals_.grants.add(rate(heat.grants));
  totals_.expiries.add(rate(heat.expiries));
  totals_.requests.add(sum_of(nodes_, series_index("requests")));
  totals_.entries.add(sum_of(nodes_, series_index("entries")));
}

const NodeRow* Model::node(std::uint32_t id) const {
  const auto found = std::ranges::find(nodes_, id, &NodeRow::node);
  return found == nodes_.end() ? nullptr : &*found;
}

const NameRow* Model::name(std::string_view text) const {
  const auto found = std::ranges::find(names_, text, &NameRow::name);
  return found == names_.end() ? nullptr : &*found;
}

std::uint32_t Model::leader_of(std::uint32_t shard) const {
  return shard < leaders_.size() ? leaders_[shard] : 0;
}

std::size_t Model::answering() const {
  return static_cast<std::size_t>(std::ranges::count_if(nodes_, &NodeRow::answers));
}

}  // namespace gcoord::cli::top
