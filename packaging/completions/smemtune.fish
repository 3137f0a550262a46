# Completion for fish. Commands and options are those that --help lists, with its words.

function __smemtune_command
    set -l words (commandline -opc)
    if set -q words[2]; and not string match -q -- '-*' $words[2]
        echo $words[2]
    end
end

function __smemtune_commands
    smemtune (__smemtune_command) --help 2>/dev/null |
        sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
end

function __smemtune_options
    smemtune (__smemtune_command) --help 2>/dev/null |
        sed -n 's/^  \(-[a-zA-Z],\)\{0,1\}\(--[a-z-]*\)\( [A-Z|]*\)\{0,1\}  *\(.*\)/\2\t\4/p'
end

complete -c smemtune -n 'string match -q -- "-*" (commandline -ct)' -a '(__smemtune_options)'
complete -c smemtune -n 'test (count (commandline -opc)) -le 2' -a '(__smemtune_commands)'
