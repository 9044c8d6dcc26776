using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Cli.Commands;

internal sealed class CatalogueCommands()
    : CommandGroup("catalogue", "Look after what readers have the breaches from.", new CataloguePublishCommand());

internal sealed class CataloguePublishCommand : HibpCommand
{
    public CataloguePublishCommand()
        : base("publish", "Write the catalogue as the database has it. Every change does so by itself, and a host's sweep what was missed: "
            + "by hand it is for a catalogue that was damaged, for new logos, or for another HIBP_WEB_URL.")
    {
        Examples =
        [
            ("hibp catalogue publish", "readers see every published breach as it is now; blobs that are as they should be stay"),
            ("hibp catalogue publish --json", "the same for a program: {\"version\", \"breaches\", \"written\", \"deleted\"}"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var published = await services.GetRequiredService<PublishCatalogue>().RunAsync(cancellationToken);
        session.Screen.ShowResult(
            new CatalogueDocument(published.Version, published.Breaches, published.Written, published.Deleted),
            Documents.Default.CatalogueDocument,
            $"The catalogue is at version {published.Version}, with {Count(published.Breaches, "breach", "breaches")}: "
            + $"{Count(published.Written, "blob", "blobs")} written, {TableFormat.Number(published.Deleted)} deleted, "
            + "the others were as they should be.");
        return 0;
    }

    private static string Count(int number, string one, string many) => $"{TableFormat.Number(number)} {(number == 1 ? one : many)}";
}
