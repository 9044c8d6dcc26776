using HibpIngest.Passwords.Replicas;

namespace HibpIngest.Cli.Commands;

internal sealed class PasswordsReplicateCommand : HibpCommand
{
    private readonly Option<string?> _release =
        new("--release") { Description = "Name of the release. Default: the newest.", HelpName = "NAME" };

    public PasswordsReplicateCommand()
        : base("replicate", "Copy a release to the storage accounts of HIBP_PASSWORDS_REPLICAS, and verify the copies. Nothing is "
            + "switched. If interrupted, run the same command again: it resumes.")
    {
        Add(_release);
        AddExamples(
            ("hibp passwords replicate", "the newest release; then: hibp passwords switch pack --release NAME"),
            ("hibp passwords replicate --release 20261122", "a given release"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        // Calls are retried as in an import.
        await using var services = await session.OpenPasswordsAsync(cancellationToken);
        var accounts = services.GetRequiredService<ReplicaAccounts>();
        if (accounts.Replicas.Count == 0)
            throw new BadInputException("there is no replica: name storage accounts in HIBP_PASSWORDS_REPLICAS");
        var replicate = services.GetRequiredService<ReplicatePasswords>();
        var release = await replicate.ChooseAsync(session.Parsed.GetValue(_release), cancellationToken);
        var outcomes = new List<ReplicaOutcome>();
        foreach (var replica in accounts.Replicas)
        {
            try
            {
                var rows = await StatusText.ShowAsync(session.Screen, session.Time, $"copying to {replica.Name}", show =>
                    replicate.RunAsync(replica, release, new PasswordsView(show, session.Time), cancellationToken));
                outcomes.Add(new ReplicaOutcome(replica.Name, ReplicaResult.Done));
                if (!session.Screen.Json)
                    session.Screen.Show($"Replica {replica.Name} has all of release {release}"
                        + (rows == 0 ? " already; none were copied." : $": {TableFormat.Number(rows)} hashes were copied and read back."));
            }
            catch (HibpException e)
            {
                // The other replicas are still copied.
                outcomes.Add(new ReplicaOutcome(replica.Name, ReplicaResult.Failed, e.Message));
                session.Screen.Say($"Replica {replica.Name} is incomplete: {e.Message}");
            }
        }
        if (session.Screen.Json)
            session.Screen.ShowJson(
                new PasswordsReplicatedDocument(release, PasswordsCommands.Documents(outcomes)));
        PasswordsCommands.RequireReplicas(
            outcomes, $"release {release} was not copied to", $"hibp passwords replicate --release {release}");
    }
}
