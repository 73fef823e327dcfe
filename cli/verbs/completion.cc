// gcoordctl completion bash | zsh | fish: a script that completes verbs, options and values.
#include "cli/verbs/completion.h"

#include "cli/completion/candidates.h"
#include "cli/completion/scripts.h"
#include "cli/terminal/chosen_values.h"
#include "cli/terminal/endpoints.h"
#include "common/text/printable.h"

#include <chrono>
#include <iostream>
#include <memory>

namespace gcoord::cli {

namespace {

// More than a person looks through.
constexpr std::uint32_t kNamesMax = 200;

// Nobody waits longer for a key.
constexpr std::chrono::seconds kPatience{1};

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

// Names that a shell would print as they are. None, and not a word, when no node answers.
std::vector<std::string> lock_names(std::span<const std::string> words,
                                    const std::string& beginning) {
  client::ClientOptions options;
  options.endpoints = endpoints_of(words);
  options.connect_timeout = kPatience;
  options.request_timeout = kPatience;
  auto client = client::Client::connect(std::move(options));
  std::vector<std::string> names;
  client::ListOptions query{.prefix = beginning, .limit = kNamesMax};
  while (client.ok() && names.size() < kNamesMax) {
    const auto page = client.value().list(query);
    if (!page.ok()) {
      break;
    }
    for (const client::LockDescription& lock : page.value().locks) {
      // One that begins as an option would be read as one.
      if (is_printable(lock.name) && !lock.name.starts_with('-')) {
        names.push_back(lock.name);
      }
    }
    query.cursor = page.value().next_cursor;
    if (query.cursor.empty()) {
      break;
    }
  }
  return names;
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
  if (found.lock_names) {
    for (const std::string& name : lock_names(words, found.beginning)) {
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
      "Names of locks are those of the cluster that the finished line would ask.");
  verb->callback([&context, shell] {
    context.choose([shell](Context&) {
      std::cout << completion_script(*shell);
      return 0;
    });
  });
}

}  // namespace gcoord::cli
