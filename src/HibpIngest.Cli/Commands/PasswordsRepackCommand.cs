using HibpIngest.Passwords;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;

namespace HibpIngest.Cli.Commands;

internal sealed class PasswordsRepackCommand : HibpCommand
{
    private readonly Option<string?> _release =
        new("--release") { Description = "Name of the new release. Default: the date.", HelpName = "NAME" };
    private readonly Option<DirectoryInfo?> _folder = new("--folder")
    {
        Description = "Folder for packs in progress: some hundreds of megabytes for each core. Default: passwords-repack in HIBP_HOME.",
        HelpName = "DIR",
    };

    public PasswordsRepackCommand()
        : base("repack", "Create a release of packs from the served release and its appended hashes, and serve it. Appends wait meanwhile. "
            + "Ctrl+C leaves nothing behind. If the process was killed, run the same command again: it resumes.")
    {
        Add(_release, _folder);
        AddExamples(("hibp passwords repack", "when 'hibp passwords status' shows many appended ranges"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await PasswordsCommands.OpenAsync(session, cancellationToken);
        var everywhere = services.GetRequiredService<ReplicatedReleases>();
        var repack = services.GetRequiredService<RepackPasswords>();
        var began = session.Time.GetTimestamp();
        IReadOnlyList<ReplicaOutcome> replicas = [];
        var repacked = await StatusText.ShowAsync(session.Screen, session.Time, "waiting for appends", show =>
        {
            var view = new PasswordsView(show, session.Time);
            return repack.RunAsync(
                session.Parsed.GetValue(_release),
                session.Parsed.GetValue(_folder)?.FullName ?? session.Settings.FolderInHome("passwords-repack"),
                async (release, token) => (_, replicas) = await everywhere.SwitchAsync(PasswordBackend.Pack, release, token),
                view, view, cancellationToken);
        });
        if (!session.Screen.TryShowJson(() => new PasswordsRepackedDocument(
            repacked.From, repacked.Release, [.. repacked.Parts.Select(PasswordsCommands.Document)],
            session.Time.GetElapsedTime(began).TotalSeconds)))
        {
            foreach (var part in repacked.Parts)
            {
                session.Screen.Show($"Release {repacked.Release} has {TableFormat.Number(part.Rows)} {part.Mode.Name()} hashes in "
                    + $"{part.Backend.Name()}: those of {repacked.From}, with what was appended.");
            }
            session.Screen.Show($"It is served; that took {TableFormat.Duration(session.Time.GetElapsedTime(began))}.");
        }
        PasswordsCommands.SaySwitched(session, new ServedRelease(PasswordBackend.Pack, repacked.Release), replicas);
        PasswordsCommands.RequireReplicas(
            replicas, "what was repacked is served, but not by", $"hibp passwords switch pack --release {repacked.Release}");
    }
}
