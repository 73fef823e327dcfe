// gcoordctl context: the clusters that a user has given names.
#include "cli/contexts/file.h"
#include "cli/credentials/user_text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/endpoints.h"
#include "protocol/error_codes.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

// What gcoordctl reaches for where nobody says anything.
const std::string kDefaultEndpoints = "127.0.0.1:7400";

struct ContextText {
  std::string name;
};

Status refuse(const std::string& why) {
  return protocol::make_error(protocol::ErrorCode::OptionInvalid, why);
}

Json json_of(const std::string& name, const ContextValues& values) {
  Json json{{"name", name}};
  for (const auto& [option, value] : values) {
    json[option] = value;
  }
  return json;
}

int list(Context& context, const ContextText&) {
  const auto read = read_contexts(own_contexts_path());
  if (!read.ok()) {
    return context.fail(read.status());
  }
  Json all = Json::array();
  Table table{.columns = {"IN USE", "NAME", "ENDPOINTS", "TIMEOUT", "OUTPUT"}};
  for (const auto& [name, values] : read.value().by_name) {
    const auto cell = [&values = values](const char* option) {
      const auto found = values.find(option);
      return found == values.end() ? "-" : found->second;
    };
    all.push_back(json_of(name, values));
    table.rows.push_back({name == read.value().current ? "*" : "",
                          name,
                          cell("endpoints"),
                          cell("timeout"),
                          cell("output")});
  }
  context.output().print(Json{{"current", read.value().current}, {"contexts", std::move(all)}},
                         table);
  return 0;
}

// Of one context its values, without a name those in effect and where each comes from.
int show(Context& context, const ContextText& text) {
  if (!text.name.empty()) {
    const auto read = read_contexts(own_contexts_path());
    const auto found =
        read.ok() ? read.value().find(text.name) : Result<ContextValues>{read.status()};
    if (!found.ok()) {
      return context.fail(found.status());
    }
    context.output().print_facts(json_of(text.name, found.value()));
    return 0;
  }
  if (!context.chosen().ok()) {
    return context.fail(context.chosen().status());
  }
  const ChosenValues& chosen = context.chosen().value();
  const ContextValues values = context.globals().values();
  Json json{{"context", chosen.context}};
  for (const std::string& option : context_options()) {
    const auto found = chosen.by_option.find(option);
    const auto source =
        found == chosen.by_option.end() ? ValueSource::Default : found->second.source;
    const std::string& value = values.at(option);
    json[option] = value.empty() && option == "endpoints" ? kDefaultEndpoints : value;
    json[option + "_from"] = value_source_name(source);
  }
  context.output().print_facts(json);
  return 0;
}

int use(Context& context, const ContextText& text) {
  const Status changed =
      change_contexts(own_contexts_path(), [&text](Contexts& contexts) -> Status {
        GCOORD_TRY_STATUS(contexts.find(text.name).status());
        contexts.current = text.name;
        return {};
      });
  if (!changed.ok()) {
    return context.fail(changed);
  }
  context.output().print_facts(Json{{"current", text.name}});
  return 0;
}

// Remembers the options that stand on this command line, beside those of before.
int set(Context& context, const ContextText& text) {
  const Globals& globals = context.globals();
  ContextValues typed = typed_values(*globals.program, globals.values());
  typed.erase("context");
  if (const auto user = typed.find("user"); user != typed.end()) {
    user->second = written_name(globals.login.user);
  }
  if (!is_context_name(text.name)) {
    return context.fail(
        refuse("'" + text.name + "' is no name of 1 to 64 letters, digits, '-', '_' or '.'"));
  }
  if (typed.empty()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionMissing,
                             "--endpoints, --timeout, --output, --tls, --cacert, --cert, --key, "
                             "--user, --password-file, --token-file or --insecure-credentials "
                             "to remember"));
  }
  if (const auto given = typed.find("endpoints"); given != typed.end()) {
    if (const auto parsed = parse_endpoints(given->second); !parsed.ok()) {
      return context.fail(parsed.status());
    }
  }
  // Files stay what they are, wherever a later command is typed; "-" is standard input.
  for (const char* file : {"cacert", "cert", "key", "password-file", "token-file"}) {
    if (const auto given = typed.find(file); given != typed.end() && given->second != "-") {
      given->second = std::filesystem::absolute(given->second).lexically_normal().string();
    }
  }
  ContextValues result;
  const Status changed = change_contexts(own_contexts_path(), [&](Contexts& contexts) -> Status {
    ContextValues& values = contexts.by_name[text.name];
    for (const auto& [option, value] : typed) {
      values[option] = value;
    }
    contexts.current = contexts.current.empty() ? text.name : contexts.current;
    result = values;
    return {};
  });
  if (!changed.ok()) {
    return context.fail(changed);
  }
  context.output().print_facts(json_of(text.name, result));
  return 0;
}

int forget(Context& context, const ContextText& text) {
  const Status changed =
      change_contexts(own_contexts_path(), [&text](Contexts& contexts) -> Status {
        GCOORD_TRY_STATUS(contexts.find(text.name).status());
        contexts.by_name.erase(text.name);
        contexts.current = contexts.current == text.name ? "" : contexts.current;
        return {};
      });
  if (!changed.ok()) {
    return context.fail(changed);
  }
  context.output().print_facts(Json{{"removed", text.name}});
  return 0;
}

constexpr const char* kFooter =
    "A value comes from the command line, else from the context that --context names, else from\n"
    "GCOORD_ENDPOINTS, GCOORD_TIMEOUT, GCOORD_OUTPUT, GCOORD_TLS, GCOORD_CACERT, GCOORD_CERT,\n"
    "GCOORD_KEY, GCOORD_USER, GCOORD_PASSWORD_FILE, GCOORD_TOKEN_FILE or\n"
    "GCOORD_INSECURE_CREDENTIALS, else from the context that GCOORD_CONTEXT names, else from the "
    "one in use, else\n"
    "from a default. Contexts are in gcoord/contexts.json in $XDG_CONFIG_HOME or ~/.config.";

}  // namespace

void add_context_commands(Command& app, Context& context) {
  auto text = std::make_shared<ContextText>();
  Command* group = app.add_subcommand("context", "clusters that you have given names")
                       ->require_subcommand(1)
                       ->footer(kFooter);
  const auto add =
      [&](const char* name, const char* help, int (*body)(Context&, const ContextText&)) {
        Command* verb = group->add_subcommand(name, help);
        verb->callback([&context, text, body] {
          context.globals().keeps_contexts = true;
          context.choose([text, body](Context& chosen) { return body(chosen, *text); });
        });
        return verb;
      };
  const auto add_name = [&](Command* verb) {
    return verb->add_option("NAME", text->name, "name of the context");
  };
  add("list", "list the contexts", &list)->alias("ls");
  add_name(add("use", "use this context where none is named", &use))->required();
  add_name(add("set",
               "remember --endpoints, --timeout, --output and the files of TLS of this command "
               "line under "
               "a name; the first context is used from then on",
               &set))
      ->required();
  add_name(
      add("show", "show a context; without NAME the values in effect, and their sources", &show));
  add_name(add("rm", "forget a context", &forget))->required();
}

}  // namespace gcoord::cli
