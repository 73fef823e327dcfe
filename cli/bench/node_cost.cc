#include "cli/bench/node_cost.h"

#include "cli/terminal/output.h"
#include "common/json/text.h"

#include <charconv>
#include <initializer_list>
#include <string_view>

namespace gcoord::cli {

namespace {

// Numbers as text, as reports have what may be beyond 53 bits.
void read_numbers(const Json& json, const std::string& prefix, NodeCounts& counts) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_object()) {
      read_numbers(value, prefix + name + ".", counts);
    } else if (value.is_string()) {
      const std::string& text = value.text();
      std::uint64_t number = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      if (parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size()) {
        counts[prefix + name] = number;
      }
    }
  }
}

double sum_of(const NodeCounts& counts,
              std::string_view prefix,
              std::initializer_list<const char*> names) {
  double sum = 0;
  for (const char* name : names) {
    const auto found = counts.find(std::string{prefix} + name);
    sum += found == counts.end() ? 0.0 : static_cast<double>(found->second);
  }
  return sum;
}

// Null of nothing.
Json share(double part, double whole) {
  return whole > 0 ? Json(rounded(part / whole)) : Json(nullptr);
}

}  // namespace

NodeCounts counts_of(const std::string& report) {
  NodeCounts counts;
  const Json json = parse_json(report);
  if (json.is_object() && json.contains("client_io")) {
    read_numbers(json["client_io"], "", counts);
  }
  return counts;
}

Json cost_json(const NodeCounts& counts, std::uint64_t pairs) {
  const double requests = sum_of(counts, "", {"requests"});
  const double replies = sum_of(counts, "", {"replies"});
  const double in = sum_of(counts, "copied_bytes.", {"receive", "decrypt", "frame", "slot"});
  const double out =
      sum_of(counts, "copied_bytes.", {"reply", "assemble", "join", "encrypt", "send"});
  return {{"requests", std::to_string(static_cast<std::uint64_t>(requests))},
          {"requests_per_frame", share(requests, sum_of(counts, "", {"frames_in"}))},
          {"replies_per_frame", share(replies, sum_of(counts, "", {"frames_out"}))},
          {"socket_calls_per_request",
           share(sum_of(counts, "calls.", {"wait", "receive", "send", "wake"}), requests)},
          {"loop_waits_per_request", share(sum_of(counts, "calls.", {"loop"}), requests)},
          {"bytes_copied_per_request", share(in, requests)},
          {"bytes_copied_per_reply", share(out, replies)},
          {"copies_in", share(in, sum_of(counts, "copied_bytes.", {"receive"}))},
          {"copies_out", share(out, sum_of(counts, "copied_bytes.", {"send"}))},
          {"processor_us_per_pair",
           share(sum_of(counts, "", {"processor_us"}), static_cast<double>(pairs))}};
}

std::string cost_sentence(const Json& cost) {
  const auto figure = [&cost](const char* name) { return cost[std::string_view{name}].dump(); };
  return "At the nodes: " + figure("requests_per_frame") + " requests in a frame; for each " +
         "request " + figure("socket_calls_per_request") + " system calls of sockets and " +
         figure("bytes_copied_per_request") + " bytes copied; " + figure("processor_us_per_pair") +
         " us of processor time for each operation.";
}

std::map<std::uint32_t, NodeCounts> NodeCostMeter::read() {
  std::map<std::uint32_t, NodeCounts> nodes;
  for (const client::NodeView& node : client_.cluster().nodes) {
    const auto report = node.connected ? client_.node_status(node.node_id)
                                       : client::Result<std::string>{std::string{}};
    NodeCounts counts = report.ok() ? counts_of(report.value()) : NodeCounts{};
    if (!counts.empty()) {
      nodes.emplace(node.node_id, std::move(counts));
    }
  }
  return nodes;
}

Json NodeCostMeter::cost(std::uint64_t pairs) {
  NodeCounts sums;
  for (const auto& [node, counts] : read()) {
    const auto begin = begin_.find(node);
    if (begin == begin_.end()) {
      continue;
    }
    for (const auto& [name, count] : counts) {
      const auto before = begin->second.find(name);
      const std::uint64_t base = before == begin->second.end() ? 0 : before->second;
      sums[name] += count >= base ? count - base : 0;  // It began anew meanwhile.
    }
  }
  return sums.empty() ? Json(nullptr) : cost_json(sums, pairs);
}

}  // namespace gcoord::cli
