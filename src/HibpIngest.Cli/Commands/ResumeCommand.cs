using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Cli.Commands;

internal sealed class ResumeCommand : HibpCommand
{
    private readonly Argument<long> _load = new("LOAD") { Description = "Number of the load, as hibp status shows it." };
    private readonly Option<bool> _restart = new("--restart")
    {
        Description = "Read the archive from its beginning as a new load, with today's settings and extractor."
    };
    private readonly Option<string?> _password = CommonOptions.Password();
    private readonly Option<bool> _passwordFromInput = CommonOptions.PasswordFromInput();

    public ResumeCommand()
        : base("resume", "Resume a failed load from its checkpoint, once the cause is fixed.")
    {
        Add(_load);
        Add(_restart);
        Add(_password);
        Add(_passwordFromInput);
        Examples =
        [
            ("hibp resume 7", "carry on with load 7"),
            ("hibp resume 7 --restart", "begin again as a new load, as after an upgrade of the program"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var password = await GetPasswordAsync(session, _password, _passwordFromInput, cancellationToken);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var failed = session.Parsed.GetRequiredValue(_load);
        var load = await services.GetRequiredService<LoadOperations>().ResumeAsync(
            failed, session.Parsed.GetValue(_restart), password, cancellationToken);
        var state = load.State.ToString().ToLowerInvariant();
        session.Screen.ShowResult(
            new ResumeDocument(load.Id, load.Breach, state), Documents.Default.ResumeDocument,
            load.Id == failed ? $"Load {load.Id} of {load.Breach} is resumed: {state}."
            : $"Load {failed} of {load.Breach} is restarted as load {load.Id}: {state}; hibp status {load.Breach} shows how it goes.");
        return 0;
    }
}
