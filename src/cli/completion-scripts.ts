/** `perdure completion`: scripts that make a shell call `perdure __complete`. */
import { didYouMean, usageError } from './cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from './command.ts';
import { shells } from './completion.ts';

export async function runCompletion({ args, io }: Invocation): Promise<ExitCode> {
  const [given = ''] = args;
  const shell = shells.find((name) => name === given);
  if (shell === undefined) {
    throw usageError(`expected ${shells.join(', ')}, got "${given}"`, { why: didYouMean(given, shells) });
  }
  io.out(scripts[shell]);
  return exitCodes.done;
}

const scripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `# perdure completion bash > /etc/bash_completion.d/perdure
_perdure() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}") reply line
  COMPREPLY=()
  reply=$("\${COMP_WORDS[0]}" __completeNoDesc "\${words[@]}" 2>/dev/null) || return
  while IFS= read -r line; do
    case $line in
      :0) compopt -o default 2>/dev/null ;;
      :*) ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done <<<"$reply"
}
complete -F _perdure perdure
`,
  zsh: `#compdef perdure
# perdure completion zsh > "\${fpath[1]}/_perdure"
_perdure() {
  local -a candidates
  local line directive=:0
  while IFS= read -r line; do
    case $line in
      :*) directive=$line ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#candidates} )); then _describe 'perdure' candidates; elif [[ $directive == :0 ]]; then _files; fi
}
if [[ $funcstack[1] == _perdure ]]; then _perdure "$@"; else compdef _perdure perdure; fi
`,
  fish: `# perdure completion fish > ~/.config/fish/completions/perdure.fish
function __perdure_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null | string match -rv '^:[0-9]+$'
end
complete -c perdure -f -a '(__perdure_complete)'
`,
  powershell: `# perdure completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName perdure -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  & perdure __complete @words "$wordToComplete" 2>$null | Where-Object { $_ -notmatch '^:\\d+$' } | ForEach-Object {
    $name, $help = $_ -split "\`t", 2
    [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $(if ($help) { $help } else { $name }))
  }
}
`,
};
