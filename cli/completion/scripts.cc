#include "cli/completion/scripts.h"

namespace gcoord::cli {

namespace {

// bash ends words at "=" and ":" too, and puts each reply in the place of the last such part alone:
// so the parts are put together again, and what is before the last of them is cut off.
//
// A reply is put into the user's line, where the shell reads it: names of locks and of files are
// other people's words. So each is quoted, and none is offered where quoting would not hold: inside
// a quote that the user has opened, and where the quoted form opens one of its own ($'...').
constexpr std::string_view kBash = R"script(_gcoordctl_offer() {
  local quoted
  printf -v quoted '%q' "$1"
  [[ $quoted == \$* ]] || COMPREPLY+=("$quoted")
}
_gcoordctl() {
  local line=$COMP_LINE part reply head
  local -a words=() replies=()
  local i
  COMPREPLY=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    part=${COMP_WORDS[i]}
    if ((i > 0)) && [[ -n $line && $line != [[:blank:]]* ]]; then
      words[-1]+=$part
    else
      words+=("$part")
    fi
    line=${line#"${line%%[![:blank:]]*}"}
    line=${line#"$part"}
  done
  part=${words[-1]}
  [[ $part == *[\'\"\`\$]* ]] && return
  mapfile -t replies < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  head=${part%"${part##*[:=]}"}
  for reply in "${replies[@]}"; do
    case $reply in
      :files)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${part#"$head"}")
        ;;
      :commands)
        while IFS= read -r reply; do
          _gcoordctl_offer "$reply"
        done < <(compgen -c -f -- "$part")
        ;;
      *) _gcoordctl_offer "${reply#"$head"}" ;;
    esac
  done
}
complete -F _gcoordctl gcoordctl
)script";

constexpr std::string_view kZsh = R"script(#compdef gcoordctl
_gcoordctl() {
  local reply
  local -a replies
  replies=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for reply in "${replies[@]}"; do
    case $reply in
      '') ;;
      :files) _files ;;
      :commands) _command_names -e || _files ;;
      *) compadd -- "$reply" ;;
    esac
  done
}
if [ "${funcstack[1]}" = "_gcoordctl" ]; then
  _gcoordctl "$@"
else
  compdef _gcoordctl gcoordctl
fi
)script";

constexpr std::string_view kFish = R"script(function __gcoordctl_complete
  set -l words (commandline -opc)
  set -l last (commandline -ct)
  for reply in ($words[1] __complete $words[2..-1] "$last" 2>/dev/null)
    switch $reply
      case ':files'
        __fish_complete_path "$last"
      case ':commands'
        __fish_complete_command
      case '*'
        echo $reply
    end
  end
end
complete -c gcoordctl -f -a '(__gcoordctl_complete)'
)script";

}  // namespace

std::string completion_script(std::string_view shell) {
  return std::string{shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish};
}

}  // namespace gcoord::cli
