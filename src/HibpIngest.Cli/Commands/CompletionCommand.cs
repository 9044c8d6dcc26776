namespace HibpIngest.Cli.Commands;

internal sealed class CompletionCommand : HibpCommand
{
    // [suggest:N] is System.CommandLine's. It suggests what contains the typed text anywhere; a shell needs what begins with it.
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
        : base("completion", "Print a shell script that completes commands, options and values.")
    {
        _shell.CompletionSources.Clear();
        _shell.CompletionSources.Add("bash", "pwsh");
        Add(_shell);
        AddExamples(
            ("hibp completion bash > ~/.local/share/bash-completion/completions/hibp", "installs it for bash"),
            ("hibp completion pwsh >> $PROFILE", "installs it for PowerShell"));
    }

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        session.Screen.Show(session.Parsed.GetValue(_shell) == Shell.Bash ? Bash : PowerShell);
        return Task.CompletedTask;
    }

    private enum Shell
    {
        Bash,
        Pwsh,
    }
}
