using System.IO.Compression;
using HibpIngest.Cli.Samples;

namespace HibpIngest.Integration.Tests.Samples;

public sealed class SampleScriptTests
{
    [Fact]
    public async Task Independent_script_finds_the_same_accounts()
    {
        var zip = AddHostileEntries(Make());
        using var folder = new TemporaryFolder();
        var (output, error) = await ExternalProgram.RunScriptAsync(
            "tests/HibpIngest.Testing/EndToEnd/extract-accounts.mjs", folder.Write("sample.zip", zip));
        Assert.Equal("", error);
        Assert.Equal(Read(zip).Distinct().Order(StringComparer.Ordinal), output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    private static byte[] Make()
    {
        using var zip = new MemoryStream();
        SampleBreach.Write(zip, new SampleOptions { Accounts = 30_000, Seed = 11 }, None);
        return zip.ToArray();
    }

    private static byte[] AddHostileEntries(byte[] zip)
    {
        using var stream = new MemoryStream();
        stream.Write(zip);
        using (var archive = new ZipArchive(stream, ZipArchiveMode.Update, leaveOpen: true))
        {
            foreach (var (name, encoding) in new (string, Encoding)[] { ("u8", Encoding.UTF8), ("u16le", Encoding.Unicode),
                    ("u16be", Encoding.BigEndianUnicode) })
            {
                using var entry = archive.CreateEntry(name).Open();
                entry.Write(encoding.GetPreamble());
                foreach (var row in AccountCases.All())
                    entry.Write(encoding.GetBytes($"{name}.{row[0]}\r\n{row[0]}\r\n"));
            }
        }
        return stream.ToArray();
    }

    /// <summary>Returns all accounts of a zip as the scanner finds them.</summary>
    private static List<string> Read(byte[] zip)
    {
        using var archive = new ZipArchive(new MemoryStream(zip));
        var accounts = new List<string>();
        foreach (var entry in archive.Entries)
        {
            using var content = new MemoryStream();
            using (var inflated = entry.Open())
                inflated.CopyTo(content);
            accounts.AddRange(CollectingSink.Scan(content.ToArray()).Accounts);
        }
        return accounts;
    }
}
