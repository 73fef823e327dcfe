#include "server/options/option_table.h"

#include "server/options/option_rows.h"
#include "server/options/setters.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace gcoord::server {

namespace {

std::vector<OptionRow> all_rows() {
  std::vector<OptionRow> all;
  for (const auto rows : {cluster_rows(), client_rows(), trust_rows(), engine_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

std::string translate(std::string_view name, bool upper) {
  std::string out;
  for (const char c : name) {
    const char translated = c == '-' ? '_' : c;
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(translated)))
                 : translated;
  }
  return out;
}

}  // namespace

std::span<const OptionRow> option_table() {
  static const std::vector<OptionRow> table = all_rows();
  return table;
}

const OptionRow* find_option(std::string_view name) {
  const auto table = option_table();
  const auto row = std::find_if(
      table.begin(), table.end(), [&](const OptionRow& each) { return each.name == name; });
  return row == table.end() ? nullptr : &*row;
}

Status apply_option(const OptionRow& row, const std::string& text, NodeOptions& options) {
  Status status = row.apply(text, options);
  return status.ok() || !row.secret ? status
                                    : setters::wrong("the value, which is secret, is not valid");
}

std::string environment_name(std::string_view name) {
  return "GCOORD_" + translate(name, true);
}

std::string toml_name(std::string_view name) {
  return translate(name, false);
}

}  // namespace gcoord::server
