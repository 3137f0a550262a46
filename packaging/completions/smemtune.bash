# Completion for bash. Commands and options are those that --help lists.

# Prints what `smemtune [COMMAND] --help` lists: its commands, or the long options.
_smemtune_listed() {  # _smemtune_listed commands | options [COMMAND]
  local what=$1
  shift
  if [ "$what" = commands ]; then
    smemtune "$@" --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p'
  else
    smemtune "$@" --help 2>/dev/null | sed -n 's/^  \(-[a-zA-Z],\)\{0,1\}\(--[a-z-]*\).*/\2/p'
  fi
}

_smemtune() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=""
  local word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      -*) break ;;
      *) command=$word; break ;;
    esac
  done
  COMPREPLY=()
  case $current in
    -*)
      mapfile -t COMPREPLY < <(compgen -W "$(_smemtune_listed options $command)" -- "$current")
      return
      ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ] || { [ -n "$command" ] && [ "$COMP_CWORD" -eq 2 ]; }; then
    mapfile -t COMPREPLY < <(compgen -W "$(_smemtune_listed commands $command)" -- "$current")
  fi
  case $previous in
    --device) mapfile -t COMPREPLY < <(compgen -W cpu -- "$current") ;;
    *) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}

complete -o filenames -F _smemtune smemtune
