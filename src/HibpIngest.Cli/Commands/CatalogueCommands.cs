using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Cli.Commands;

internal sealed class CataloguePublishCommand : HibpCommand
{
    public CataloguePublishCommand()
        : base("publish", "Write the catalogue from the database. Hosts and commands do so after every change: run it to repair damaged "
            + "blobs, and after a change of logos or HIBP_WEB_URL.")
    {
        AddExamples(
            ("hibp catalogue publish", "rewrites the blobs that differ"),
            ("hibp catalogue publish --json", "as JSON: {\"version\", \"breaches\", \"written\", \"deleted\"}"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var published = await services.GetRequiredService<PublishCatalogue>().RunAsync(cancellationToken);
        session.Screen.ShowResult(new CatalogueDocument(published.Version, published.Breaches, published.Written, published.Deleted),
            $"The catalogue is at version {published.Version}, with {Count(published.Breaches, "breach", "breaches")}: "
            + $"{Count(published.Written, "blob", "blobs")} written, {TableFormat.Number(published.Deleted)} deleted, the others were "
            + "up to date.");
    }

    private static string Count(int number, string one, string many) => $"{TableFormat.Number(number)} {(number == 1 ? one : many)}";
}
