using System.IO.Compression;
using CompressionMethod = ICSharpCode.SharpZipLib.Zip.CompressionMethod;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Tests what an operator sees of an unusable archive, with the real command: one line that names the fault, exit
/// code 1, the same reason in the status, and nothing published. Files refused before the upload, a bad line in a
/// subscriber file and a full disk are covered by the command line's tests; unusable stores by <see
/// cref="BadStoreTests"/>.
/// </summary>
public sealed class BadInputTests(BadInputHost host) : IClassFixture<BadInputHost>
{
    private static readonly byte[] Text = Encoding.ASCII.GetBytes(PipelineRig.Accounts(0, 100));

    /// <param name="Words">Text that its error must contain.</param>
    public sealed record Archive(Func<byte[]> Make, params string[] Words)
    {
        /// <summary>The value of <c>--password</c>; null: the option is not given.</summary>
        public string? Password { get; init; }

        /// <summary>Accounts that were copied before the damage was found, and stay counted.</summary>
        public int Accounts { get; init; }
    }

    public static Dictionary<string, Archive> Archives { get; } = new()
    {
        ["NotAZip"] = new(
            () => [.. "PK\x07\x08"u8, .. new byte[2000]], "not a zip: found a file of 2,004 bytes without a zip's end record"),
        ["NoEntries"] = new(() => ArchiveTesting.Zip(true), "no account in it (0 candidates broke a rule)"),
        ["NoAccount"] = new(
            () => PipelineRig.Zip(("a.csv", "nothing\nfoo@localhost\n.x@example.com\n")), "no account in it (2 candidates broke a rule)"),
        ["Truncated"] = new(() => Whole()[..^100], "truncated", "drop an intact copy"),
        ["BadCrc"] = new(BadCrc, "entry 2 of 2 '", "its CRC-32 should be", "drop an intact copy") { Accounts = 100 },
        ["Bomb"] = new(Bomb, "entry 1 of 1 'bomb.txt'", "more than 200 times its size", "MaxInflationRatio"),
        ["WrongPassword"] = new(() => Encrypted("secret"), "entry 1 of 1 'a.csv'", "the password does not open it") { Password = "not it" },
        ["NoPassword"] = new(
            () => Encrypted("secret"), "entry 1 of 1 'a.csv'", "encrypted and no password was given", "hibp load resume ", " "
                + "--password-stdin"),
    };

    /// <summary>Files uploaded by other tools than <c>hibp drop</c>, in this order.</summary>
    public static (string Blob, byte[] Content)[] Uploads { get; } =
    [
        ("Described.json", "{ \"Title\": \"somebody@example.com\","u8.ToArray()),
        ("Described.zip", Whole()),
        ("Nothing.zip", []),
        ("Plain.zip", Text),
    ];

    public static TheoryData<string> Names => [.. Archives.Keys];

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_bad_archive_fails_its_load_with_one_line(string name)
    {
        var (archive, dropped) = (Archives[name], host.Drops[name]);
        Assert.Equal(1, dropped.ExitCode);
        Assert.DoesNotContain("@", dropped.Error, StringComparison.Ordinal);
        // Other lines show the progress of upload and load, and that a busy host has not started the load yet.
        var line = Assert.Single(
            dropped.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries),
            line => !line.StartsWith("load ", StringComparison.Ordinal) && !line.StartsWith("uploading ", StringComparison.Ordinal)
                && !line.StartsWith("no host has picked up the file for ", StringComparison.Ordinal));
        Assert.StartsWith("error: ", line, StringComparison.Ordinal);
        Assert.All(archive.Words, word => Assert.Contains(word, line, StringComparison.Ordinal));
        if (archive.Password is { } password)
            Assert.DoesNotContain(password, dropped.Error, StringComparison.Ordinal);

        var status = (await host.HibpAsync("status", name, "--json")).Succeeded().Json;
        var load = Assert.Single(status.List("loads"));
        Assert.Equal(("failed", archive.Accounts), (load.Text("state"), load.Number("accounts")));
        Assert.EndsWith(load.Text("error")!, line, StringComparison.Ordinal);
        Assert.Equal(load.Text("error"), dropped.Json.Text("error"));
        // Permanent errors were not retried.
        Assert.All(status.List("queues"), queue => Assert.Equal(0, queue.Number("poison")));
    }

    [Theory]
    [InlineData("Described", "the breach's metadata is not JSON (line 1, byte ")]
    [InlineData("Nothing", "not a zip: the file is empty")]
    [InlineData("Plain", "not a zip: found a file of ")]
    public async Task Bad_file_uploaded_by_another_tool_fails_its_load_with_the_reason(string name, string reason)
    {
        var loads = (await host.HibpAsync("status", "--json")).Succeeded().Json.List("loads");
        var load = Assert.Single(loads, load => load.Text("blob") == name + ".zip");
        Assert.StartsWith(reason, load.Text("error"), StringComparison.Ordinal);
        Assert.DoesNotContain('@', load.Text("error")!);
        Assert.Equal((name, 0, "failed"), (load.Text("breach"), load.Number("accounts"), load.Text("state")));
    }

    [Fact]
    public async Task Failed_loads_publish_nothing_and_send_no_mail()
    {
        var breaches = (await host.HibpAsync("breaches", "--json")).Succeeded().Json.List("breaches");
        Assert.All(
            breaches, breach => Assert.Equal(
                (false, JsonValueKind.Null), (breach.Flag("public"), breach.GetProperty("publishedAt").ValueKind)));
        // The first account of every intact entry; one of them was copied from the archive with a bad CRC.
        Assert.Empty((await host.HibpAsync("lookup", "user0@example.com", "--json")).Succeeded().Json.List("breaches"));
        Assert.True(!Directory.Exists(host.MailFolder) || Directory.GetFiles(host.MailFolder).Length == 0);
    }

    [Fact]
    public async Task Host_logs_each_reason_once_without_addresses_and_keeps_running()
    {
        // A failure is logged after it is committed.
        await Functions.Eventually.IsSoAsync(() => Task.FromResult(
            Archives.Keys.All(name => host.Said.Contains($"of {name}: ", StringComparison.Ordinal))));
        var output = host.Said;
        foreach (var (name, archive) in Archives)
            Assert.Single(
                output.Split('\n'), line => line.Contains($"of {name}: ", StringComparison.Ordinal) && line.Contains(
                    archive.Words[0], StringComparison.Ordinal));
        // The host's output goes into log files.
        Assert.DoesNotContain("@", output, StringComparison.Ordinal);
        Assert.DoesNotContain("unexpected", output, StringComparison.Ordinal);
        Assert.DoesNotContain("stopped", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Drop_refuses_an_empty_file_before_the_upload()
    {
        var line = (await host.HibpAsync("drop", host.Write("Empty.zip", []), "--wait")).FailedWithOneLine();
        Assert.Contains("'Empty.zip': the file is empty (0 bytes)", line, StringComparison.Ordinal);
        Assert.Contains("no breach 'Empty'", (await host.HibpAsync("status", "Empty")).FailedWithOneLine(), StringComparison.Ordinal);
    }

    private static byte[] Whole() => PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 100)));

    /// <summary>Makes a zip whose second entry, named with an address, differs in one bit from its checksum.</summary>
    private static byte[] BadCrc()
    {
        var zip = RawZip.Of(
            new RawZip.Entry("a.csv", Text), new RawZip.Entry("b@example.com.csv", "nothing; damaged\n"u8.ToArray()) { Method = 0 });
        zip[zip.AsSpan().IndexOf("damaged"u8)] ^= 1;
        return zip;
    }

    /// <summary>Makes 200 MB in one line, which deflate reduces to about a thousandth.</summary>
    private static byte[] Bomb()
    {
        const int Length = 200_000_000;
        var line = new byte[1_000_000];
        line.AsSpan().Fill((byte)'x');
        line[^1] = (byte)'\n';
        var bytes = new MemoryStream();
        using (var zip = new ZipArchive(bytes, ZipArchiveMode.Create, leaveOpen: true))
        using (var entry = zip.CreateEntry("bomb.txt", CompressionLevel.SmallestSize).Open())
        {
            for (var written = 0; written < Length; written += line.Length)
                entry.Write(line);
        }
        Assert.InRange(bytes.Length, 1, Length / 500);
        return bytes.ToArray();
    }

    private static byte[] Encrypted(string password) =>
        ArchiveTesting.Encrypted(password, 256, CompressionMethod.Deflated, ("a.csv", Text));
}
