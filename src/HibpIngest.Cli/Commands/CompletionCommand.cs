namespace HibpIngest.Cli.Commands;

/// <summary>Prints scripts for shell completion; they call this program, which knows its commands.</summary>
internal sealed class CompletionCommand : HibpCommand
{
    // The directive is System.CommandLine's. Its suggestions contain the typed text anywhere; a shell needs those that begin with it.
    private const string Bash = """
        # Completes hibp. For this shell: source <(hibp completion bash)
        _hibp() {
          local word="${COMP_WORDS[COMP_CWORD]}" suggested
          suggested=$("${COMP_WORDS[0]}" "[suggest:$COMP_POINT]" "$COMP_LINE" 2>/dev/null) || return
          COMPREPLY=($(compgen -W "$suggested" -- "$word"))
        }
        complete -o default -F _hibp hibp
        """;

    private const string PowerShell = """
        # Completes hibp. For this shell: hibp completion pwsh | Out-String | Invoke-Expression
        Register-ArgumentCompleter -Native -CommandName hibp -ScriptBlock {
          param($word, $line, $position)
          hibp "[suggest:$position]" "$line" 2>$null | Where-Object { $_.StartsWith($word) } | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
          }
        }
        """;

    private readonly Argument<Shell> _shell = new("SHELL") { Description = "bash or pwsh.", HelpName = "bash|pwsh" };

    public CompletionCommand()
        : base("completion", "Write the script by which a shell completes commands, options and their values.")
    {
        _shell.CompletionSources.Clear();
        _shell.CompletionSources.Add("bash", "pwsh");
        Add(_shell);
        Examples =
        [
            ("hibp completion bash > ~/.local/share/bash-completion/completions/hibp", "for every bash from now on"),
            ("hibp completion pwsh >> $PROFILE", "for every PowerShell from now on"),
        ];
    }

    protected override Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        session.Screen.Show(session.Parsed.GetValue(_shell) == Shell.Bash ? Bash : PowerShell);
        return Task.FromResult(0);
    }

    private enum Shell
    {
        Bash,
        Pwsh,
    }
}
