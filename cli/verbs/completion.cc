// gcoordctl completion bash | zsh | fish: a script that completes verbs, options and values.
#include "cli/verbs/completion.h"

#include "cli/completion/candidates.h"
#include "cli/completion/lock_names.h"
#include "cli/completion/node_names.h"
#include "cli/completion/scripts.h"
#include "cli/terminal/chosen_values.h"
#include "cli/terminal/endpoints.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

namespace gcoord::cli {

namespace {

// More than all of it takes (cli/completion/lock_names.h), but for a look-up of a host's name,
// which nothing ends.
constexpr std::chrono::milliseconds kLongest{1500};

// The addresses that the finished line would ask; none when it would be refused.
std::vector<std::string> endpoints_of(std::span<const std::string> words) {
  ContextValues typed;
  for (const char* option : {"endpoints", "context"}) {
    if (const std::string given = given_value(words, std::string{"--"} + option); !given.empty()) {
      typed[option] = given;
    }
  }
  const auto chosen = choose_own_values(std::move(typed));
  if (!chosen.ok()) {
    return {};
  }
  const auto found = chosen.value().by_option.find("endpoints");
  const bool named = found != chosen.value().by_option.end();
  const auto endpoints = parse_endpoints(named ? found->second.text : kDefaultEndpoint);
  return endpoints.ok() ? endpoints.value() : std::vector<std::string>{};
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
  if (found.lock_names || found.node_names) {
    std::cout << std::flush;
    std::thread{[] {
      std::this_thread::sleep_for(kLongest);
      std::_Exit(0);
    }}.detach();
    const auto names = found.lock_names ? lock_names(endpoints_of(words), found.beginning)
                                        : node_names(endpoints_of(words), found.beginning);
    for (const std::string& name : names) {
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
      "Names of locks and of nodes are those of the cluster that the finished line would ask.");
  verb->callback([&context, shell] {
    context.choose([shell](Context&) {
      std::cout << completion_script(*shell);
      return 0;
    });
  });
}

}  // namespace gcoord::cli
