// gcoordctl completion bash | zsh | fish: a script that completes verbs, options and values.
#include "cli/verbs/completion.h"

#include "cli/completion/candidates.h"
#include "cli/completion/scripts.h"
#include "common/text/printable.h"

#include <iostream>
#include <memory>

namespace gcoord::cli {

namespace {

// More than a person looks through.
constexpr std::uint32_t kNamesMax = 200;

// Nobody waits longer for a key.
constexpr const char* kPatience = "1s";

// Names that a shell would print as they are. None when no node answers.
std::vector<std::string> lock_names(Context& context,
                                    std::span<const std::string> words,
                                    const std::string& beginning) {
  context.globals().endpoints = given_value(words, "--endpoints");
  context.globals().timeout = kPatience;
  std::vector<std::string> names;
  context.choose([&names, &beginning](Context& chosen) {
    auto client = chosen.connect();
    if (!client.has_value()) {
      return 0;
    }
    client::ListOptions query{.prefix = beginning, .limit = kNamesMax};
    do {
      const auto page = client->list(query);
      if (!page.ok()) {
        return 0;
      }
      for (const client::LockDescription& lock : page.value().locks) {
        if (is_printable(lock.name)) {
          names.push_back(lock.name);
        }
      }
      query.cursor = page.value().next_cursor;
    } while (!query.cursor.empty() && names.size() < kNamesMax);
    return 0;
  });
  context.run();
  return names;
}

}  // namespace

int complete(const Command& program, Context& context, std::span<const std::string> words) {
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
    for (const std::string& name : lock_names(context, words, found.beginning)) {
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
      "Names of locks are those of the cluster that GCOORD_ENDPOINTS or --endpoints names.");
  verb->callback([&context, shell] {
    context.choose([shell](Context&) {
      std::cout << completion_script(*shell);
      return 0;
    });
  });
}

}  // namespace gcoord::cli
