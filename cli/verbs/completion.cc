// gcoordctl completion bash | zsh | fish: a script that completes verbs, options and values.
#include "cli/verbs/completion.h"

#include "cli/completion/candidates.h"
#include "cli/completion/cluster_names.h"
#include "cli/completion/scripts.h"
#include "cli/contexts/contexts.h"
#include "cli/credentials/login_options.h"
#include "cli/terminal/chosen_values.h"
#include "cli/terminal/endpoints.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

// More than all of it takes (cli/completion/cluster_names.h), but for a look-up of a host's name,
// which nothing ends.
constexpr std::chrono::milliseconds kLongest{1500};

// The words before those of ledger verbs, whose own --key names a key of the ledger.
std::span<const std::string> before_ledger(std::span<const std::string> words) {
  const auto ledger = std::ranges::find(words, "ledger");
  return words.first(static_cast<std::size_t>(ledger - words.begin()));
}

ContextValues typed_of(std::span<const std::string> words) {
  ContextValues typed;
  for (const std::string& option : context_options()) {
    const auto among = option == "key" ? before_ledger(words) : words;
    if (std::string given = given_value(among, "--" + option); !given.empty()) {
      typed[option] = std::move(given);
    }
  }
  if (const std::string context = given_value(words, "--context"); !context.empty()) {
    typed["context"] = context;
  }
  for (const std::string flag : {"tls", "insecure-credentials"}) {
    if (std::ranges::find(words, "--" + flag) != words.end()) {
      typed[flag] = "true";
    }
  }
  return typed;
}

// Nobody is prompted for a password while a key is pressed: who would be is nobody.
client::Credentials credentials_at_once(const LoginOptions& login) {
  const bool prompts = !login.user.empty() && login.user.find(':') == std::string::npos &&
                       login.password_file.empty() && login.token_file.empty();
  const auto found =
      prompts ? Result<client::Credentials>{client::Credentials{}} : credentials_of(login);
  return found.ok() ? found.value() : client::Credentials{};
}

// How the finished line would speak with the cluster; without endpoints when it would be refused.
client::ClientOptions access_of(std::span<const std::string> words) {
  const auto chosen = choose_own_values(typed_of(words));
  if (!chosen.ok()) {
    return {};
  }
  Globals globals;
  globals.endpoints = kDefaultEndpoint;
  for (const auto& [option, value] : chosen.value().by_option) {
    globals.take(option, value.text);
  }
  const auto endpoints = parse_endpoints(globals.endpoints);
  return {.endpoints = endpoints.ok() ? endpoints.value() : std::vector<std::string>{},
          .tls = globals.tls_options(),
          .credentials = credentials_at_once(globals.login),
          .insecure_credentials = globals.insecure_credentials};
}

}  // namespace

int complete(const Command& program, std::span<const std::string> words) {
  const Candidates found = candidates_of(program, words);
  for (const std::string& word : found.words) {
    std::cout << word << "\n";
  }
  if (found.files) {
    std::cout << kFilesLine << "\n";
  }
  if (found.commands) {
    std::cout << kCommandsLine << "\n";
  }
  if (found.names_of != NamesOf::Nothing) {
    std::cout << std::flush;
    std::thread{[] {
      std::this_thread::sleep_for(kLongest);
      std::_Exit(0);
    }}.detach();
    for (const std::string& name :
         cluster_names({.what = found.names_of, .beginning = found.beginning}, access_of(words))) {
      std::cout << found.before << name << "\n";
    }
  }
  return 0;
}

void add_completion_command(Command& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  Command* verb = app.add_subcommand("completion", "print a completion script");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->one_of({"bash", "zsh", "fish"});
  verb->footer(
      "bash: source <(gcoordctl completion bash)\n"
      "zsh:  source <(gcoordctl completion zsh), after compinit\n"
      "fish: gcoordctl completion fish | source\n"
      "Names of locks, nodes, users, roles and limits are those of the cluster that the finished\n"
      "line would ask, with the credentials that it would show; users, roles and limits need the\n"
      "right auth.admin.");
  verb->callback([&context, shell] {
    context.choose([shell](Context&) {
      std::cout << completion_script(*shell);
      return 0;
    });
  });
}

}  // namespace gcoord::cli
