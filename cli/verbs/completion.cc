// gcoordctl completion bash | zsh | fish: a script that completes verbs and flags.
//
// The words come from the parser itself, so they are never out of date. All three shells are given
// the same thing: for each chain of verbs, what may follow.
#include "cli/terminal/command.h"

#include <iostream>
#include <map>
#include <memory>

namespace gcoord::cli {

namespace {

using Words = std::map<std::string, std::vector<std::string>>;  // "lock acquire" -> words.

void collect(const Command& app, const std::string& path, Words& words) {
  std::vector<std::string>& here = words[path];
  for (const Command* verb : app.subcommands()) {
    here.push_back(verb->name());
    collect(*verb, path.empty() ? verb->name() : path + " " + verb->name(), words);
  }
  for (const std::string& flag : app.long_names()) {
    here.push_back("--" + flag);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string bash_script(const Words& words) {
  std::string cases;
  for (const auto& [path, follow] : words) {
    cases += "    '" + path + "') words='" + joined(follow) + "' ;;\n";
  }
  return "_gcoordctl() {\n"
         "  local path='' words='' word\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    [[ $word == -* ]] || path=\"${path:+$path }$word\"\n"
         "  done\n"
         "  case $path in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -F _gcoordctl gcoordctl\n";
}

std::string zsh_script(const Words& words) {
  return "#compdef gcoordctl\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(words);
}

std::string fish_script(const Words& words) {
  std::string script;
  for (const auto& [path, follow] : words) {
    std::string condition = "__fish_use_subcommand";
    if (!path.empty()) {
      condition = "string match -q -- '" + path +
                  "' (commandline -opc | string match -v -- '-*' "
                  "| string join ' ' | string replace 'gcoordctl ' '')";
    }
    script += "complete -c gcoordctl -f -n \"" + condition + "\" -a '" + joined(follow) + "'\n";
  }
  return script;
}

}  // namespace

void add_completion_command(Command& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  Command* verb = app.add_subcommand("completion", "print a completion script");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->one_of({"bash", "zsh", "fish"});
  verb->callback([&app, &context, shell] {
    context.choose([&app, shell](Context&) {
      Words words;
      collect(app, "", words);
      std::cout << (*shell == "bash"  ? bash_script(words)
                    : *shell == "zsh" ? zsh_script(words)
                                      : fish_script(words));
      return 0;
    });
  });
}

}  // namespace gcoord::cli
