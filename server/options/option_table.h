// The table of gcoordd's options: one row says everything about one option.
//
// A row has the name as a flag spells it; the environment variable and the TOML key follow from it.
// Whatever the source, a value arrives here as text and is judged by the row's setter alone.
// Constant after start; thread-safe.
#pragma once

#include "common/status.h"
#include "server/options/options.h"

#include <span>
#include <string>
#include <string_view>

namespace gcoord::server {

enum class OptionShape : std::uint8_t {
  Value,  // --name VALUE, once.
  List,   // --name VALUE, any number of times; an array in TOML.
  Flag,   // --name; true or false elsewhere.
};

struct OptionRow {
  std::string_view name;
  OptionShape shape;
  std::string_view placeholder;
  std::string_view help;  // One line; says the range and the default.
  // Judges and stores one value. The Status says only what is wrong with the value. Call
  // apply_option() in its place.
  Status (*apply)(const std::string& text, NodeOptions& options);
  // Its value is a password, a key or the like: pages and failures show none of it.
  bool secret = false;
};

// Judges and stores one value by its row. A failure has nothing of a value that is secret.
Status apply_option(const OptionRow& row, const std::string& text, NodeOptions& options);

std::span<const OptionRow> option_table();

// nullptr when there is no such option.
const OptionRow* find_option(std::string_view name);

// "listen-client" -> "GCOORD_LISTEN_CLIENT" and "listen_client".
std::string environment_name(std::string_view name);
std::string toml_name(std::string_view name);

}  // namespace gcoord::server
