#include "server/options/option_sources.h"

#include "protocol/error_codes.h"
#include "server/options/option_groups.h"
#include "server/platform/version.h"

#include <CLI/CLI.hpp>
#include <toml++/toml.h>

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

constexpr std::string_view kFooter =
    "Every option can also be set in the environment (GCOORD_TICK_MS=10) or in the file of "
    "--config\n"
    "(tick_ms = 10; peer is an array of strings). A flag overrides the environment, and the "
    "environment\n"
    "overrides the file.\n"
    "Exit codes: 0 stopped on SIGTERM or SIGINT, 1 a failed check or a lost disk, 2 wrong usage, 5 "
    "cannot serve, 7 removed from its cluster.\n"
    "Example: gcoordd --node-id 1 --data-dir /var/lib/gcoord --peer 1=10.0.0.1:7500 --peer "
    "2=10.0.0.2:7500 --peer 3=10.0.0.3:7500 --listen-client 10.0.0.1:7400 --listen-peer "
    "10.0.0.1:7500 --insecure";

// What is done with the options, by flags that no file and no environment can set.
struct PurposeFlags {
  bool version = false;
  bool check = false;
  bool print = false;
  bool force = false;
  bool recover = false;
  ForceFlags force_flags;
  std::string confirm;

  Purpose purpose() const {
    return check     ? Purpose::CheckConfig
           : print   ? Purpose::PrintConfig
           : force   ? Purpose::ForceNewCluster
           : recover ? Purpose::AuthRecover
                     : Purpose::Serve;
  }
};

void add_purposes(CLI::App& app, PurposeFlags& out) {
  app.add_flag("--version", out.version, "print the version and exit");
  app.add_flag("--check-config", out.check, "name all that is wrong with the options, and exit");
  app.add_flag(
         "--print-config", out.print, "print every option's value and its source as TOML, and exit")
      ->excludes("--check-config");
  app.add_flag(
         "--force-new-cluster",
         out.force,
         "when a majority of the nodes is lost for good and all nodes are stopped: make a new "
         "cluster of this node's data directory alone, and exit; what only the other nodes had "
         "is lost")
      ->excludes("--check-config")
      ->excludes("--print-config");
  app.add_flag(
         "--auth-recover",
         out.recover,
         "when nobody can administer users and roles any more and this node is stopped: let it "
         "take part in switching rights off, and exit; a majority of the nodes has to")
      ->excludes("--check-config")
      ->excludes("--print-config")
      ->excludes("--force-new-cluster");
  app.add_option("--confirm",
                 out.confirm,
                 "with --force-new-cluster or --auth-recover: the cluster's id, instead of typing "
                 "it")
      ->type_name("CLUSTERID");
  app.add_flag("--dry-run",
               out.force_flags.dry_run,
               "with --force-new-cluster: only print what the data directory holds, to compare it "
               "with those of other survivors")
      ->needs("--force-new-cluster");
}

// What CLI11 fills; one list per row of the table.
struct FlagValues {
  std::vector<std::vector<std::string>> values;
  std::vector<bool> flags;
};

void add_options(CLI::App& app, FlagValues& out, bool* flags) {
  const auto table = option_table();
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string flag = "--" + std::string(table[row].name);
    const std::string help{table[row].help};
    if (table[row].shape == OptionShape::Flag) {
      app.add_flag(flag, flags[row], help)->group(option_group(table[row].name));
      continue;
    }
    auto* option = app.add_option(flag, out.values[row], help);
    option->type_name(std::string(table[row].placeholder))->type_size(1)->allow_extra_args(false);
    option->group(option_group(table[row].name));
    if (table[row].shape == OptionShape::Value) {
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    } else {
      option->expected(1, 1 << 16);
      option->allow_extra_args(false);
    }
  }
}

Status refuse_toml(const std::string& file,
                   const toml::source_region& where,
                   std::string_view why) {
  return protocol::make_error(
      protocol::ErrorCode::ConfigInvalid,
      file + ", line " + std::to_string(where.begin.line) + ": " + std::string(why));
}

// The text of a TOML value that an option takes; empty optional for other types.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* truth = node.as_boolean()) {
    return truth->get() ? "true" : "false";
  }
  return std::nullopt;
}

Status add_toml_value(const OptionRow& row,
                      const toml::node& node,
                      const std::string& file,
                      std::vector<GivenOption>& given) {
  const auto text = scalar_text(node);
  if (!text.has_value()) {
    return refuse_toml(
        file,
        node.source(),
        "the value of " + toml_name(row.name) + " must be a string, a whole number, true or false");
  }
  given.push_back({std::string(row.name),
                   *text,
                   file + ": " + toml_name(row.name) + " (line " +
                       std::to_string(node.source().begin.line) + ")"});
  return Status{};
}

const OptionRow* find_toml_option(std::string_view key) {
  for (const OptionRow& row : option_table()) {
    if (toml_name(row.name) == key) {
      return &row;
    }
  }
  return nullptr;
}

Status add_toml_key(std::string_view key,
                    const toml::node& node,
                    const std::string& file,
                    std::vector<GivenOption>& given) {
  const OptionRow* row = find_toml_option(key);
  if (row == nullptr) {
    return refuse_toml(file, node.source(), "there is no option '" + std::string(key) + "'");
  }
  const toml::array* list = node.as_array();
  if (row->shape != OptionShape::List || list == nullptr) {
    return add_toml_value(*row, node, file, given);
  }
  for (const toml::node& element : *list) {
    GCOORD_TRY_STATUS(add_toml_value(*row, element, file, given));
  }
  return Status{};
}

}  // namespace

Result<ParsedArguments> parse_arguments(std::span<const std::string> arguments) {
  CLI::App app{"gcoordd: one node of a gcoord cluster", "gcoordd"};
  app.footer(std::string(kFooter));
  const auto table = option_table();
  FlagValues values;
  values.values.resize(table.size());
  std::array<bool, 128> flags{};
  GCOORD_ASSERT(table.size() <= flags.size());
  ParsedArguments parsed;
  PurposeFlags purposes;
  add_purposes(app, purposes);
  app.add_option("--config", parsed.config_file, "read options from a TOML file")
      ->type_name("FILE");
  add_options(app, values, flags.data());
  app.fallthrough();
  CLI::App* dev =
      app.add_subcommand("dev", "run one node for application developers, without set-up");
  dev->fallthrough();
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return ParsedArguments{.verb = Verb::Help, .text = app.help()};
  } catch (const CLI::ParseError& error) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid, error.what());
  }
  if (purposes.version) {
    return ParsedArguments{.verb = Verb::Version,
                           .text = "gcoordd " + std::string(kVersion) + "\n"};
  }
  parsed.verb = dev->parsed() ? Verb::Dev : Verb::Run;
  parsed.purpose = purposes.purpose();
  parsed.force = purposes.force_flags;
  if (app.count("--confirm") != 0) {
    if (!purposes.force && !purposes.recover) {
      return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                  "--confirm requires --force-new-cluster or --auth-recover");
    }
    parsed.force.confirm = purposes.confirm;
  }
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string flag = "--" + std::string(table[row].name);
    for (const std::string& text : values.values[row]) {
      parsed.given.push_back({std::string(table[row].name), text, flag});
    }
    if (flags[row]) {
      parsed.given.push_back({std::string(table[row].name), "true", flag});
    }
  }
  return parsed;
}

std::vector<GivenOption> parse_environment(const Environment& environment) {
  std::vector<GivenOption> given;
  for (const OptionRow& row : option_table()) {
    const std::string variable = environment_name(row.name);
    const auto text = environment(variable);
    if (!text.has_value()) {
      continue;
    }
    if (row.shape != OptionShape::List) {
      given.push_back({std::string(row.name), *text, variable});
      continue;
    }
    std::istringstream words(*text);
    for (std::string word; words >> word;) {
      given.push_back({std::string(row.name), word, variable});
    }
  }
  return given;
}

std::vector<GivenOption> examine_toml(std::string_view text,
                                      const std::string& file,
                                      std::vector<Status>& problems) {
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    problems.push_back(refuse_toml(file, error.source(), error.description()));
  }
  std::vector<GivenOption> given;
  for (const auto& [key, node] : table) {
    if (Status status = add_toml_key(key.str(), node, file, given); !status.ok()) {
      problems.push_back(std::move(status));
    }
  }
  return given;
}

Result<std::vector<GivenOption>> parse_toml(std::string_view text, const std::string& file) {
  std::vector<Status> problems;
  std::vector<GivenOption> given = examine_toml(text, file, problems);
  if (!problems.empty()) {
    return problems.front();
  }
  return given;
}

Result<std::string> read_config_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kConfigBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  const auto bytes = static_cast<std::size_t>(in.gcount());
  if (!in.eof() && !in.good()) {
    return protocol::make_error(protocol::ErrorCode::ConfigUnreadable, file);
  }
  if (bytes > kConfigBytesMax) {
    return protocol::make_error(protocol::ErrorCode::ConfigUnreadable,
                                file + " is larger than 1 MiB");
  }
  text.resize(bytes);
  return text;
}

}  // namespace gcoord::server
