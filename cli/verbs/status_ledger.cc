#include "cli/verbs/status_ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gcoord::cli {
namespace {

std::string text_of(const Json& object, const char* field) {
  const Json* found = object.find(field);
  if (found == nullptr || found->is_null()) {
    return "-";
  }
  return found->is_string() ? found->text() : found->dump();
}

// "0.4 s"; "-" before there is a checkpoint.
std::string age_text(const Json& publication) {
  const std::string age_ms = text_of(publication, "age_ms");
  if (age_ms == "-") {
    return age_ms;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::strtod(age_ms.c_str(), nullptr) / 1000);
  return text;
}

std::string signers_text(const Json& publication) {
  std::string text;
  for (const Json& signer : publication.value("signers", Json::array())) {
    text += (text.empty() ? "" : ",") + signer.dump();
  }
  return text.empty() ? "-" : text;
}

// Columns of equal width, the first line their names.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const bool last = column + 1 == row.size();
      line += row[column] + std::string(last ? 0 : widths[column] - row[column].size() + 2, ' ');
    }
    lines.push_back(line);
  }
  return lines;
}

std::string place_text(const Json& place) {
  const std::string index = text_of(place, "index");
  return "shard " + text_of(place, "shard") + (index == "-" ? "" : " from entry " + index + " on");
}

// What somebody has to look at, a line each.
void add_faults(std::vector<std::string>& lines, const std::string& node, const Json& publication) {
  const std::string refusal = publication.value("refusal", std::string{});
  if (!refusal.empty()) {
    lines.push_back("ledger of node " + node + ": does not sign: " + refusal);
  }
  for (const Json& alarm : publication.value("alarms", Json::array())) {
    const std::string whose = text_of(alarm, "node");
    const std::string what = alarm.value("unconfirmed", false)
                                 ? "is damaged here, or differs and no other node shows where"
                             : whose == "0" ? "has no majority of equal copies"
                                            : "of node " + whose + " is not the majority's";
    lines.push_back("ledger of node " + node + ": alarm: the history of " + place_text(alarm) +
                    " " + what);
  }
  for (const Json& repaired : publication.value("repair", Json::array())) {
    lines.push_back("ledger of node " + node +
                    ": quarantined, under repair: " + place_text(repaired));
  }
}

// Nodes that voted twice, as this one has evidence of.
void add_evidence(std::vector<std::string>& lines, const Json& node) {
  for (const Json& each : node.value("evidence", Json::array())) {
    const Json candidates = each.value("candidates", Json::array());
    std::string names;
    for (const Json& candidate : candidates) {
      names += (names.empty() ? "" : " and ") + candidate.dump();
    }
    lines.push_back("evidence at node " + text_of(node, "node") + ": node " +
                    text_of(each, "voter") + " has voted for nodes " + names + " in term " +
                    text_of(each, "term") + " of shard " + text_of(each, "shard") + ": " +
                    text_of(each, "file"));
  }
}

}  // namespace

std::vector<std::string> ledger_notes(const Json& nodes) {
  std::vector<std::vector<std::string>> rows{
      {"LEDGER", "SIZE", "SIGNED", "PUBLISHED", "AGE", "SIGNERS", "FIRST", "ROOT"}};
  std::vector<std::string> faults;
  for (const Json& node : nodes) {
    add_evidence(faults, node);
    const Json* found = node.find("publication");
    if (found == nullptr || !found->is_object()) {
      continue;
    }
    const std::string name = text_of(node, "node");
    if (!found->value("publishes", true)) {
      faults.push_back("ledger of node " + name +
                       ": publishes nothing: " + text_of(*found, "reason"));
      continue;
    }
    rows.push_back({"node " + name + (found->value("publisher", false) ? " (publisher)" : ""),
                    text_of(*found, "size"),
                    text_of(*found, "signed"),
                    text_of(*found, "published"),
                    age_text(*found),
                    signers_text(*found),
                    text_of(*found, "first"),
                    text_of(*found, "root")});
    add_faults(faults, name, *found);
  }
  std::vector<std::string> lines;
  if (rows.size() > 1) {
    lines = aligned(rows);
  }
  lines.insert(lines.end(), faults.begin(), faults.end());
  return lines;
}

}  // namespace gcoord::cli
