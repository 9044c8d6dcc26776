namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests that a forgotten subscriber is stored nowhere and isn't imported again.</summary>
public sealed class SubscribersCommandTests : CommandTestBase
{
    private const string Forgotten = "gone4711@example.com";

    [Fact]
    public async Task Forgotten_subscriber_is_stored_nowhere_and_not_imported_again()
    {
        var subscribers = Folder.Write("subscribers.csv", $"email,domain\n{Forgotten},\n{Forgotten},example.org\nstays@example.com,\n");
        await OutputAsync("subscribers", "import", subscribers);
        var said = new StringBuilder();
        await using (var host = await StartAsync("ready", "run", "--verbose"))
        {
            var zip = Zip("Adobe.zip", $"{Forgotten}\nstays@example.com\nother@example.org\n");
            await OutputAsync("drop", zip, "--notify", "hold", "--wait");
            File.Delete(zip);
            Assert.True(Holds());

            // Without the key nothing is done.
            (await RunWithInputAsync(Forgotten, "subscribers", "forget", "-")).FailedWith("HIBP_SUPPRESSION_KEY is needed");
            Variables["HIBP_SUPPRESSION_KEY"] = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));
            var forgotten = await RunWithInputAsync($" {Forgotten.ToUpperInvariant()} \n\n", "subscribers", "forget", "-", "--json");
            var counts = forgotten.Succeeded().Json;
            Assert.Equal((2, 2), (counts.Number("subscriptions"), counts.Number("notifications")));
            said.Append(forgotten.Output).Append(forgotten.Error);

            File.Delete(subscribers);
            Assert.False(Holds());
            said.Append(await OutputAsync("notify", "Adobe"));
            said.Append(await OutputAsync("status", "Adobe"));
            said.Append(await OutputAsync("subscribers", "list"));
            var stopped = await host.TerminateAsync();
            said.Append(stopped.Output).Append(stopped.Error);
        }
        // A lost or changed key is detected before anything is done.
        var known = Variables["HIBP_SUPPRESSION_KEY"];
        Variables.Remove("HIBP_SUPPRESSION_KEY");
        (await RunAsync("run")).FailedWith("HIBP_SUPPRESSION_KEY is not set");
        Variables["HIBP_SUPPRESSION_KEY"] = Convert.ToBase64String(new byte[32]);
        (await RunAsync("run")).FailedWith("is not the key");
        Variables["HIBP_SUPPRESSION_KEY"] = known;
        // The next host sends the mails that this one didn't, except those to forgotten subscribers.
        await using (var host = await StartAsync("ready", "run"))
        {
            var mails = Path.Combine(Folder.Path, "mail");
            Assert.True(await Probe.AskUntilAsync(
                true, () => Task.FromResult(Directory.Exists(mails) && Directory.GetFiles(mails, "*.eml").Length > 0)));
            Assert.Contains("stays@example.com", await File.ReadAllTextAsync(Assert.Single(Directory.GetFiles(mails, "*.eml"))));
            var stopped = await host.TerminateAsync();
            said.Append(stopped.Output).Append(stopped.Error);
        }
        Assert.False(Holds());
        Assert.DoesNotContain("gone4711", said.ToString(), StringComparison.OrdinalIgnoreCase);

        subscribers = Folder.Write("again.csv", $"email,domain\n{Forgotten},\nstays@example.com,\nnew@example.com,\n");
        var import = await JsonAsync("subscribers", "import", subscribers);
        Assert.Equal((3, 1, 1), (import.Number("read"), import.Number("added"), import.Number("suppressed")));
        File.Delete(subscribers);
        Assert.False(Holds());

        // Subscribers may ask to be added again, with --again.
        (await RunWithInputAsync(Forgotten, "subscribers", "add", "-")).FailedWith("--again");
        (await RunWithInputAsync(Forgotten, "subscribers", "add", "-", "--again")).Succeeded();
        Assert.Equal(
            $"email,domain\n{Forgotten},\nnew@example.com,\nstays@example.com,\n",
            (await OutputAsync("subscribers", "export")).ReplaceLineEndings("\n"));
    }

    private async Task<string> OutputAsync(params string[] arguments) =>
        (await RunAsync(arguments)).Succeeded().Output;

    /// <summary>Returns whether the address occurs in any file of the folder: database, write-ahead log, mails.</summary>
    private bool Holds() => Directory.GetFiles(Folder.Path, "*", SearchOption.AllDirectories).Any(file =>
    {
        using var content = new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
        using var copy = new MemoryStream();
        content.CopyTo(copy);
        return copy.ToArray().AsSpan().IndexOf(Encoding.UTF8.GetBytes(Forgotten)) >= 0;
    });
}
