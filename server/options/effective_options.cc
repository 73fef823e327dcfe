#include "server/options/effective_options.h"

#include "common/assert.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace gcoord::server {

namespace {

std::string text_of(std::uint32_t number) {
  return std::to_string(number);
}

std::string text_of(const std::string& text) {
  return text;
}

std::string text_of(bool flag) {
  return flag ? "true" : "false";
}

std::string text_of(const Endpoint& endpoint) {
  return endpoint.empty() ? "off" : to_string(endpoint);
}

std::string text_of(LogFormat format) {
  return format == LogFormat::Json ? "json" : "text";
}

std::string text_of(const LogLevels& levels) {
  return log_levels_text(levels);
}

std::string text_of(Durability durability) {
  return std::string(durability_name(durability));
}

template <auto member>
std::string show(const NodeOptions& options) {
  return text_of(options.*member);
}

template <std::uint32_t NodeOptions::*member>
std::string show_ms(const NodeOptions& options) {
  return std::to_string(options.*member) + "ms";
}

// As chmod takes it.
template <std::uint32_t NodeOptions::*member>
std::string show_mode(const NodeOptions& options) {
  const std::uint32_t mode = options.*member;
  std::string text = "0";
  for (const unsigned shift : {6u, 3u, 0u}) {
    text += static_cast<char>('0' + (mode >> shift & 7u));
  }
  return text;
}

struct ShownOption {
  std::string_view name;
  std::string (*show)(const NodeOptions& options);
};

// Options that are not here have a fixed default (kDefaults), and else the text that was given.
constexpr std::array kShown = {
    ShownOption{"listen-client", &show<&NodeOptions::listen_client>},
    ShownOption{"listen-unix", &show<&NodeOptions::listen_unix>},
    ShownOption{"unix-mode", &show_mode<&NodeOptions::unix_mode>},
    ShownOption{"listen-peer", &show<&NodeOptions::listen_peer>},
    ShownOption{"listen-metrics", &show<&NodeOptions::listen_metrics>},
    ShownOption{"listen-ledger", &show<&NodeOptions::listen_ledger>},
    ShownOption{"data-dir", &show<&NodeOptions::data_dir>},
    ShownOption{"shards", &show<&NodeOptions::shards>},
    ShownOption{"durability", &show<&NodeOptions::durability>},
    ShownOption{"rejoin", &show<&NodeOptions::rejoin>},
    ShownOption{"ledger-prune-delay", &show_ms<&NodeOptions::ledger_prune_delay_ms>},
    ShownOption{"checkpoint-interval", &show_ms<&NodeOptions::checkpoint_interval_ms>},
    ShownOption{"cluster-name", &show<&NodeOptions::cluster_name>},
    ShownOption{"cluster-id",
                [](const NodeOptions& options) { return std::to_string(options.cluster.value); }},
    ShownOption{"view-after", &show_ms<&NodeOptions::view_after_ms>},
    ShownOption{"tick-ms", &show<&NodeOptions::tick_ms>},
    ShownOption{"election-ms", &show<&NodeOptions::election_ms>},
    ShownOption{"heartbeat-ms", &show<&NodeOptions::heartbeat_ms>},
    ShownOption{"suspicion", &show<&NodeOptions::suspicion>},
    ShownOption{"silence-ms", &show<&NodeOptions::silence_ms>},
    ShownOption{"probe-interval-ms", &show<&NodeOptions::probe_interval_ms>},
    ShownOption{"replace-after", &show_ms<&NodeOptions::replace_after_ms>},
    ShownOption{"converge-after", &show_ms<&NodeOptions::converge_after_ms>},
    ShownOption{"session-ttl-max", &show_ms<&NodeOptions::ttl_ms_max>},
    ShownOption{"deadlock-interval", &show_ms<&NodeOptions::deadlock_interval_ms>},
    ShownOption{"connections-max", &show<&NodeOptions::connections_max>},
    ShownOption{"source-connections-max", &show<&NodeOptions::source_connections_max>},
    ShownOption{"identity-connections-max", &show<&NodeOptions::identity_connections_max>},
    ShownOption{"identity-sessions-max", &show<&NodeOptions::identity_sessions_max>},
    ShownOption{"idle-timeout", &show_ms<&NodeOptions::idle_ms>},
    ShownOption{"handshake-timeout", &show_ms<&NodeOptions::handshake_ms>},
    ShownOption{"token-life", &show_ms<&NodeOptions::token_life_ms>},
    ShownOption{"locks-max", &show<&NodeOptions::locks_max>},
    ShownOption{"waiters-max", &show<&NodeOptions::waiters_max>},
    ShownOption{"sessions-max", &show<&NodeOptions::sessions_max>},
    ShownOption{"session-locks-max", &show<&NodeOptions::session_locks_max>},
    ShownOption{"device-check", &show<&NodeOptions::device_check_one_in>},
    ShownOption{"gpu-policy",
                [](const NodeOptions& options) { return gpu_policy_text(gpu_policy_of(options)); }},
    ShownOption{"gpu-quiet", &show_ms<&NodeOptions::gpu_quiet_ms>},
    ShownOption{"turn-threads", &show<&NodeOptions::turn_threads>},
    ShownOption{"turn-stripes", &show<&NodeOptions::turn_stripes>},
    ShownOption{"insecure", &show<&NodeOptions::insecure>},
    ShownOption{"tls-cert",
                [](const NodeOptions& options) { return options.tls.files.certificate; }},
    ShownOption{"tls-key", [](const NodeOptions& options) { return options.tls.files.key; }},
    ShownOption{"tls-ca", [](const NodeOptions& options) { return options.tls.files.authority; }},
    ShownOption{"tls-crl", [](const NodeOptions& options) { return options.tls.files.revoked; }},
    ShownOption{"client-tls",
                [](const NodeOptions& options) {
                  return std::string(tls_mode_name(tls_mode(options.tls, options.tls.client)));
                }},
    ShownOption{"peer-tls",
                [](const NodeOptions& options) {
                  return std::string(tls_mode_name(options.tls.peer.value_or(TlsMode::Off)));
                }},
    ShownOption{"http-tls",
                [](const NodeOptions& options) {
                  return std::string(tls_mode_name(tls_mode(options.tls, options.tls.http)));
                }},
    ShownOption{"client-certificates",
                [](const NodeOptions& options) {
                  return std::string(client_certificates_name(client_certificates(options.tls)));
                }},
    ShownOption{"first-admin", &show<&NodeOptions::first_admin>},
    ShownOption{"trace", &show<&NodeOptions::trace_file>},
    ShownOption{"cpu-profiles", &show<&NodeOptions::cpu_profiles>},
    ShownOption{"slow-request-ms", &show<&NodeOptions::slow_request_ms>},
    ShownOption{"log-level", &show<&NodeOptions::log_levels>},
    ShownOption{"log-format", &show<&NodeOptions::log_format>},
    ShownOption{"log-file", &show<&NodeOptions::log_file>},
};

struct DefaultText {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kDefaults = {
    DefaultText{"node-id", "1"},
    DefaultText{"join", ""},
    DefaultText{"join-token", ""},
    DefaultText{"listen-shm", ""},        // By the data directory.
    DefaultText{"advertise-client", ""},  // By other options.
    DefaultText{"advertise-peer", ""},
    DefaultText{"member-name", ""},  // By the node's id.
    DefaultText{"ledger-keep-heads", "all"},
    DefaultText{"ledger-keep", "all"},
    DefaultText{"ledger-bytes-max", ""},   // By the file system, when the node starts.
    DefaultText{"client-memory-max", ""},  // By the number of connections.
    DefaultText{"coordinator", "raft"},
    DefaultText{"session-keys", "auto"},
    DefaultText{"session-notes", "identified"},
    DefaultText{"peer-transport", "tcp"},
    DefaultText{"cluster-secret", ""},  // By what is in the data directory.
    DefaultText{"peer-proof", ""},      // By whether there is a secret.
    DefaultText{"device", "cpu"},
    DefaultText{"turn", "host"},
    DefaultText{"resident-peers", "auto"},
    DefaultText{"io-threads", "auto"},
    DefaultText{"io-backend", "auto"},
};

template <typename Rows>
auto find_row(const Rows& rows, std::string_view name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

EffectiveOption effective_option(const OptionRow& row, const Invocation& invocation) {
  EffectiveOption option{.name = std::string(row.name),
                         .texts = {},
                         .list = row.shape == OptionShape::List,
                         .secret = row.secret,
                         .source = "default"};
  for (const GivenOption& given : invocation.given) {
    if (given.name == row.name) {
      option.texts.push_back(given.text);
      option.source = given.source;
    }
  }
  if (const ShownOption* shown = find_row(kShown, row.name); shown != nullptr) {
    option.texts = {shown->show(invocation.options)};
  } else if (option.texts.empty() && !option.list) {
    const DefaultText* fixed = find_row(kDefaults, row.name);
    GCOORD_ASSERT(fixed != nullptr);
    option.texts.emplace_back(fixed->text);
  }
  return option;
}

bool is_plain(std::string_view text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  const bool number = digits && text.size() <= 18 && (text.size() == 1 || text[0] != '0');
  return number || text == "true" || text == "false";
}

// A TOML basic string: what it cannot hold is escaped.
std::string toml_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string toml_value(const EffectiveOption& option) {
  if (!option.list) {
    const std::string& text = option.texts.front();
    return is_plain(text) ? text : toml_string(text);
  }
  std::string out = "[";
  for (const std::string& text : option.texts) {
    out += (out.size() > 1 ? ", " : "") + toml_string(text);
  }
  return out + "]";
}

// A comment ends with its line: no byte of a source may end it before.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string toml_line(const EffectiveOption& option) {
  const bool unset = !option.list && option.texts.front().empty();
  return (unset ? "# " : "") + toml_name(option.name) + " = " + toml_value(option) + "  # " +
         one_line(option.source) + "\n";
}

}  // namespace

std::vector<EffectiveOption> effective_options(const Invocation& invocation,
                                               std::span<const OptionRow> table) {
  std::vector<EffectiveOption> options;
  for (const OptionRow& row : table) {
    options.push_back(effective_option(row, invocation));
  }
  return options;
}

std::string effective_toml(const Invocation& invocation) {
  std::string out;
  for (const EffectiveOption& option : effective_options(invocation)) {
    out += toml_line(option);
  }
  return out;
}

std::string published_toml(const Invocation& invocation, std::span<const OptionRow> table) {
  std::string out;
  for (EffectiveOption& option : effective_options(invocation, table)) {
    for (std::string& text : option.texts) {
      text = option.secret && !text.empty() ? "(secret)" : text;
    }
    out += toml_line(option);
  }
  return out;
}

std::vector<std::string> changed_options(const Invocation& before, const Invocation& after) {
  const auto earlier = effective_options(before);
  const auto later = effective_options(after);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (earlier[i].texts != later[i].texts) {
      names.push_back(earlier[i].name);
    }
  }
  return names;
}

}  // namespace gcoord::server
